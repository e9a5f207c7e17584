public import Dispatch
public import NetworkingCore

extension NetworkingComponent {
    /// Sends a request and passes its response to a closure on a queue, whatever the status code.
    ///
    /// ```swift
    /// network.data(request, queue: images) { result in
    ///     print(result.map(\.data.count))
    /// }
    /// ```
    ///
    /// The completion is called exactly once. If ``CallHandle/cancel()`` is called before the completion runs, it
    /// receives `CancellationError`, even if the response has arrived. The closures run in order and one at a time, and
    /// are released after the completion.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - queue: The queue for the closures. It may be concurrent.
    ///   - progress: Receives the progress, in addition to the request's own handlers. A busy queue gets only the
    ///     newest state.
    ///   - completion: Receives the response, or the error that `data` throws.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start { try await data(request, progress: callback.progressHandler) }
    }

    /// Sends a request and passes its response to a closure on a queue, if the request accepts the status.
    ///
    /// ```swift
    /// network.perform(.delete("users/42"), queue: .main) { result in
    ///     if case .failure(let error) = result { print(error.localizedDescription) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `perform` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func perform(
        _ request: HTTPRequestData,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let checked = Request<HTTPResponseData>(request) { $0 }
        return self.request(checked, queue: queue, progress: progress, completion: completion)
    }

    /// Sends a request and passes its decoded response to a closure on a queue, together with the response itself.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value and the response, or the error that `value` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func value<Response: Sendable>(
        _ request: Request<Response>,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<(body: Response, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start { try await value(request.reporting(to: callback.progressHandler)) }
    }

    /// Sends a request and passes its decoded body to a closure on a queue, together with the response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value and the response, or the error that `value` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func value<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<(body: Body, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        value(Request<Body>(request, decoder: decoder), queue: queue, progress: progress, completion: completion)
    }

    /// Sends a request and passes its decoded response to a closure on a queue.
    ///
    /// ```swift
    /// network.request(.user(id: 42), queue: model) { result in
    ///     print(result.map(\.name))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: Request<Response>,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<Response, any Error>) -> Void
    ) -> CallHandle {
        let callback = Callback(on: queue, progress: progress, completion: completion)
        return callback.start { try await value(request.reporting(to: callback.progressHandler)).body }
    }

    /// Sends a request and passes its decoded body to a closure on a queue.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func request<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<Body, any Error>) -> Void
    ) -> CallHandle {
        self.request(Request<Body>(request, decoder: decoder), queue: queue, progress: progress, completion: completion)
    }
}

// The same calls for the main actor. The isolation of a closure is part of its type, so these are other methods.
extension NetworkingComponent {
    /// Sends a request and passes its response to a closure on the main actor, whatever the status code.
    ///
    /// ```swift
    /// network.data(request, on: .main) { result in
    ///     label.text = (try? result.get().text) ?? "No connection"
    /// }
    /// ```
    ///
    /// The completion is called exactly once. If ``CallHandle/cancel()`` is called before the completion runs, it
    /// receives `CancellationError`, even if the response has arrived.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers. A busy queue gets only the
    ///     newest state.
    ///   - completion: Receives the response, or the error that `data` throws.
    /// - Returns: A handle that can cancel the call. Releasing it does not cancel the call.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        data(
            request,
            queue: .main,
            progress: progress.map { MainQueue.closure($0) },
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request and passes its response to a closure on the main actor, if the request accepts the status.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `perform` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func perform(
        _ request: HTTPRequestData,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        let checked = Request<HTTPResponseData>(request) { $0 }
        return self.request(checked, on: main, progress: progress, completion: completion)
    }

    /// Sends a request and passes its decoded response to a closure on the main actor, together with the response
    /// itself.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value and the response, or the error that `value` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func value<Response: Sendable>(
        _ request: Request<Response>,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<(body: Response, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        value(
            request,
            queue: .main,
            progress: progress.map { MainQueue.closure($0) },
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request and passes its decoded body to a closure on the main actor, together with the response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value and the response, or the error that `value` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func value<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<(body: Body, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        value(Request<Body>(request, decoder: decoder), on: main, progress: progress, completion: completion)
    }

    /// Sends a request and passes its decoded response to a closure on the main actor.
    ///
    /// ```swift
    /// network.request(.user(id: 42), on: .main) { result in
    ///     label.text = (try? result.get().name) ?? "No connection"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func request<Response: Sendable>(
        _ request: Request<Response>,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<Response, any Error>) -> Void
    ) -> CallHandle {
        self.request(
            request,
            queue: .main,
            progress: progress.map { MainQueue.closure($0) },
            completion: MainQueue.closure(completion)
        )
    }

    /// Sends a request and passes its decoded body to a closure on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the request or the stack, and then a plain `JSONDecoder`.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func request<Body: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<Body, any Error>) -> Void
    ) -> CallHandle {
        self.request(Request<Body>(request, decoder: decoder), on: main, progress: progress, completion: completion)
    }
}
