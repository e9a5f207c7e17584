public import Dispatch
public import NetworkingCore

extension NetworkingComponent {
    /// Sends the request of an endpoint and passes its decoded response to a closure on a queue.
    ///
    /// ```swift
    /// network.request(GetUser(id: 42), queue: model) { result in
    ///     print(result)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func request<E: Endpoint>(
        _ endpoint: E,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<E.Response, any Error>) -> Void
    ) -> CallHandle {
        request(Request(endpoint), queue: queue, progress: progress, completion: completion)
    }

    /// Sends the request of an endpoint and passes its decoded response to a closure on a queue, together with the
    /// response itself.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value and the response, or the error that `value` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func value<E: Endpoint>(
        _ endpoint: E,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<(body: E.Response, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        value(Request(endpoint), queue: queue, progress: progress, completion: completion)
    }

    /// Sends the request of an untyped endpoint and passes its decoded body to a closure on a queue.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the endpoint or the stack, and then a plain `JSONDecoder`.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func request<E: Endpoint, Body: Decodable & Sendable>(
        _ endpoint: E,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<Body, any Error>) -> Void
    ) -> CallHandle where E.Response == HTTPResponseData {
        let typed = endpoint.request(as: type, decoder: decoder)
        return request(typed, queue: queue, progress: progress, completion: completion)
    }

    /// Sends the request of an endpoint and passes its response to a closure on a queue, whatever the status code.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `data` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func data(
        _ endpoint: some Endpoint,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        data(HTTPRequestData(endpoint), queue: queue, progress: progress, completion: completion)
    }

    /// Sends the request of an endpoint and passes its response to a closure on a queue, if the request accepts the
    /// status.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - queue: The queue for the closures.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `perform` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:queue:progress:completion:)`.
    @discardableResult
    public func perform(
        _ endpoint: some Endpoint,
        queue: DispatchQueue,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        completion: @escaping @Sendable (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        perform(HTTPRequestData(endpoint), queue: queue, progress: progress, completion: completion)
    }
}

// The same calls for the main actor. The isolation of a closure is part of its type, so these are other methods.
extension NetworkingComponent {
    /// Sends the request of an endpoint and passes its decoded response to a closure on the main actor.
    ///
    /// ```swift
    /// network.request(GetUser(id: 42), on: .main) { result in
    ///     label.text = (try? result.get().name) ?? "No connection"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func request<E: Endpoint>(
        _ endpoint: E,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<E.Response, any Error>) -> Void
    ) -> CallHandle {
        request(Request(endpoint), on: main, progress: progress, completion: completion)
    }

    /// Sends the request of an endpoint and passes its decoded response to a closure on the main actor, together with
    /// the response itself.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value and the response, or the error that `value` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func value<E: Endpoint>(
        _ endpoint: E,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<(body: E.Response, response: HTTPResponseData), any Error>) -> Void
    ) -> CallHandle {
        value(Request(endpoint), on: main, progress: progress, completion: completion)
    }

    /// Sends the request of an untyped endpoint and passes its decoded body to a closure on the main actor.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the endpoint or the stack, and then a plain `JSONDecoder`.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the value, or the error that `request` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func request<E: Endpoint, Body: Decodable & Sendable>(
        _ endpoint: E,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<Body, any Error>) -> Void
    ) -> CallHandle where E.Response == HTTPResponseData {
        let typed = endpoint.request(as: type, decoder: decoder)
        return request(typed, on: main, progress: progress, completion: completion)
    }

    /// Sends the request of an endpoint and passes its response to a closure on the main actor, whatever the status
    /// code.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `data` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func data(
        _ endpoint: some Endpoint,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        data(HTTPRequestData(endpoint), on: main, progress: progress, completion: completion)
    }

    /// Sends the request of an endpoint and passes its response to a closure on the main actor, if the request accepts
    /// the status.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - main: The main queue, on which the closures run.
    ///   - progress: Receives the progress, in addition to the request's own handlers.
    ///   - completion: Receives the response, or the error that `perform` throws.
    /// - Returns: A handle that can cancel the call; see `data(_:on:progress:completion:)`.
    @discardableResult
    public func perform(
        _ endpoint: some Endpoint,
        on main: MainQueue,
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        completion: @escaping @MainActor (Result<HTTPResponseData, any Error>) -> Void
    ) -> CallHandle {
        perform(HTTPRequestData(endpoint), on: main, progress: progress, completion: completion)
    }
}
