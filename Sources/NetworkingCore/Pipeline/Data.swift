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
    ///   - progress: Receives the progress of the transfer, on a thread of the transport, in addition to the request's
    ///     own progress handlers.
    /// - Returns: The response. Its body is in ``HTTPResponseData/data``, or went to the request's sink.
    /// - Throws: `CancellationError` if the caller was cancelled, or a ``NetworkingError``.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> HTTPResponseData {
        var request = request
        if let progress {
            request.addProgressHandler(progress)
        }
        return try await begin(request)
    }

    /// Sends a request and adds its progress to a tracker's combined progress.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - tracker: The tracker, which adds up the progress. A request that fails is removed from it.
    /// - Returns: The response.
    /// - Throws: The errors of ``data(_:progress:)``.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        trackedBy tracker: ProgressTracker
    ) async throws -> HTTPResponseData {
        try await tracker.track(request) { try await data($0) }
    }
}
