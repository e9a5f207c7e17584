extension NetworkingComponent {
    /// Sends a request and returns its response, whatever the status code.
    ///
    /// ```swift
    /// let response = try await network.data(HTTPRequestData(path: "hello")) { progress in
    ///     print(progress.fraction)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - tracker: Adds up the progress of several requests; `nil` if that is not needed. A request that fails is
    ///     removed from it.
    ///   - progress: Receives the progress of the transfer, on a thread of the transport, in addition to the request's
    ///     own progress handlers.
    /// - Returns: The response. Its body is in ``HTTPResponseData/data``, or went to the request's sink.
    /// - Throws: `CancellationError` if the caller was cancelled, or a ``NetworkingError``.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        trackedBy tracker: ProgressTracker? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> HTTPResponseData {
        var request = request
        if let progress {
            request.addProgressHandler(progress)
        }
        guard let tracker else { return try await begin(request) }
        return try await tracker.track(request) { try await begin($0) }
    }
}
