extension NetworkingComponent {
    /// Sends a request with a time limit, in a task if this component does not end at it.
    package func sendWithinLimit(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        guard request.exchangeLimit == nil || _endsAtLimit else {
            return try await request.enforcingLimit { try await send($0) }
        }
        return try await send(request)
    }
}

extension HTTPRequestData {
    /// Runs work that ignores the time limit of the request, and cancels it at the limit.
    ///
    /// - Parameter work: The work. It receives the request without the limit.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or `CancellationError` if the limit has passed before the start.
    package func enforcingLimit<Success: Sendable>(
        _ work: sending @escaping @isolated(any) (HTTPRequestData) async throws -> Success
    ) async throws -> Success {
        guard let limit = exchangeLimit else { return try await work(self) }
        var request = self
        request.exchangeLimit = nil
        return try await limit.run { [request] in try await work(request) }
    }
}
