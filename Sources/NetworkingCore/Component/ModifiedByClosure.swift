extension NetworkingComponent {
    /// Wraps this component in a modifier that a closure implements.
    ///
    /// ```swift
    /// let network = URLSession.shared.modified("Branded") { request, upstream in
    ///     var request = request
    ///     request.headerFields[.userAgent] = "Shop/2"
    ///     return try await upstream.send(request)
    /// }
    /// ```
    ///
    /// A modifier with state, options or tests of its own is a type that conforms to ``NetworkingModifier``.
    ///
    /// - Parameters:
    ///   - name: The modifier's line in the ``outline``.
    ///   - send: Sends a request, changed as needed, through the rest of the stack, any number of times or never. It
    ///     runs on the actor of the caller. It throws the errors of the call.
    /// - Returns: A component that sends through the closure.
    public func modified(
        _ name: String = "modified",
        _ send:
            nonisolated(nonsending) @escaping @Sendable (
                _ request: HTTPRequestData,
                _ upstream: any NetworkingComponent
            ) async throws -> HTTPResponseData
    ) -> some NetworkingComponent {
        modified(ModifiedByClosure(description: name, handler: send))
    }
}

private struct ModifiedByClosure: NetworkingModifier, CustomStringConvertible {
    let description: String
    let handler:
        nonisolated(nonsending) @Sendable (HTTPRequestData, any NetworkingComponent) async throws -> HTTPResponseData

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await handler(request, upstream)
    }
}
