public import NetworkingCore

extension NetworkingComponent {
    /// Sends the request of an endpoint and returns its decoded response, together with the response itself.
    ///
    /// ```swift
    /// let (user, response) = try await network.value(GetUser(id: 42))
    /// ```
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value and the response that it was decoded from.
    /// - Throws: The errors of `value` with a typed request.
    public func value<E: Endpoint>(
        _ endpoint: E
    ) async throws -> (body: E.Response, response: HTTPResponseData) {
        try await value(Request<E.Response>(endpoint))
    }

    /// Sends the request of an endpoint and returns its decoded response.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value.
    /// - Throws: The errors of `value` with a typed request.
    public func request<E: Endpoint>(_ endpoint: E) async throws -> E.Response {
        try await value(Request<E.Response>(endpoint)).body
    }

    /// Sends the request of an endpoint and returns its decoded response, or the error of the call.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value, or the error that `request` throws; `CancellationError` if the caller was cancelled.
    public func result<E: Endpoint>(of endpoint: E) async -> Result<E.Response, any Error> {
        await result(of: Request<E.Response>(endpoint))
    }

    /// Sends the request of an endpoint and returns its response, whatever the status code.
    ///
    /// The response is not decoded.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The response.
    /// - Throws: `CancellationError` if the caller was cancelled, or a ``NetworkingError``.
    @discardableResult
    public func data(_ endpoint: some Endpoint) async throws -> HTTPResponseData {
        try await data(HTTPRequestData(endpoint))
    }

    /// Sends the request of an endpoint and returns its response, if the request accepts the status.
    ///
    /// The response is not decoded.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The response.
    /// - Throws: The errors of `perform` with a request.
    @discardableResult
    public func perform(_ endpoint: some Endpoint) async throws -> HTTPResponseData {
        try await perform(HTTPRequestData(endpoint))
    }

    /// Sends the request of an untyped endpoint and returns the decoded body.
    ///
    /// An untyped endpoint has the response type ``HTTPResponseData``, so the call names the type to decode.
    ///
    /// ```swift
    /// let user = try await network.request(GitHub.user("octocat"), as: User.self)
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the endpoint or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The value.
    /// - Throws: The errors of `value` with a typed request.
    public func request<E: Endpoint, Body: Decodable & Sendable>(
        _ endpoint: E,
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil
    ) async throws -> Body where E.Response == HTTPResponseData {
        try await value(endpoint.request(as: type, decoder: decoder)).body
    }

    /// Not available, because the endpoint does not name the type of its body.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value.
    /// - Throws: The errors of `value` with a typed request.
    @available(*, unavailable, message: "Name the type of the body: network.request(endpoint, as: User.self).")
    public func request<E: Endpoint, Body: Decodable & Sendable>(
        _ endpoint: E
    ) async throws -> Body where E.Response == HTTPResponseData {
        try await request(endpoint, as: Body.self)
    }
}
