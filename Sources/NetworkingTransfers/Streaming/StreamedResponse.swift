package import NetworkingCore

extension NetworkingComponent {
    /// Sends a request and returns its response, whatever its status is: with a stream if the status is one of a set,
    /// and otherwise complete, with up to 1 MiB of the body.
    ///
    /// An adapter for a client that decodes errors itself calls it with the successful statuses. A `retry` of the stack
    /// then still repeats a failed attempt, because the reader has not received its head.
    ///
    /// - Parameters:
    ///   - request: The request. Its own sink, if any, is not used.
    ///   - statuses: The statuses with a streamed body.
    /// - Returns: The response, and its body if that is streamed.
    /// - Throws: The errors of ``data(_:trackedBy:progress:)``, for no status.
    package func response(
        of request: HTTPRequestData,
        streaming statuses: StatusSet
    ) async throws -> (response: HTTPResponseData, stream: ResponseStream?) {
        var request = request
        request.acceptedStatuses = .all
        let transfer = StreamTransfer(of: request, over: self, streaming: statuses)
        let (response, isComplete) = try await transfer.beginning()
        return (response, isComplete ? nil : ResponseStream(response: response, transfer: transfer))
    }
}
