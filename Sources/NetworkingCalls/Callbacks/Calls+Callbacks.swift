public import NetworkingCore

// The two everyday calls in one line. `callback` makes any other call, and completes it on any queue.

extension NetworkingComponent {
    /// Sends a request and passes its response to a closure on the main actor, whatever the status code.
    ///
    /// ```swift
    /// network.data(request, on: .main) { result in
    ///     label.text = (try? result.get().text) ?? "No connection"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `data` throws.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:completion:)`.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        callback({ try await $0.data(request, progress: $1) }, progress: progress, completion: completion)
    }

    /// Sends a request and passes its decoded response to a closure on the main actor.
    ///
    /// ```swift
    /// network.request(.user(id: 42), on: .main) { result in
    ///     label.text = (try? result.get().name) ?? "No connection"
    /// }
    /// ```
    ///
    /// For an endpoint, write `network.request(Request(endpoint), on: .main)`.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `callback(queue:_:completion:)`.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: Request<Response>,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<Response, any Error>) -> Void
    ) -> CallHandle {
        callback(
            { try await $0.request(request.reporting(to: $1)) },
            progress: progress,
            completion: completion
        )
    }
}
