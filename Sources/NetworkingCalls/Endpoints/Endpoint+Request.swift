public import NetworkingCore

extension HTTPRequestData {
    /// Creates the request of an endpoint.
    ///
    /// - Parameter endpoint: The endpoint.
    public init(_ endpoint: some Endpoint) {
        self.init(
            endpoint.method,
            endpoint.path,
            query: endpoint.query,
            headers: endpoint.headers,
            body: endpoint.body
        )
        if let decoder = endpoint.decoder {
            self.decoder = decoder
        }
        for option in endpoint.options {
            option.apply(&self)
        }
        endpoint.configure(&self)
    }
}

extension Endpoint {
    /// Returns the typed request of the endpoint with another value of one property.
    ///
    /// ```swift
    /// let user = try await network.request(GetUser(id: 42).with(\.cacheMode, .reload))
    /// ```
    ///
    /// - Parameters:
    ///   - property: The property of the request to change.
    ///   - value: Its new value.
    /// - Returns: The typed request.
    public func with<Value>(
        _ property: WritableKeyPath<HTTPRequestData, Value>,
        _ value: Value
    ) -> Request<Response> {
        Request(self).with(property, value)
    }
}

extension Request {
    /// Creates the typed request of an endpoint.
    ///
    /// ```swift
    /// var request = Request(GetUser(id: 42))
    /// request.http.timeout = .seconds(5)
    /// ```
    ///
    /// - Parameter endpoint: The endpoint.
    public init<E: Endpoint>(_ endpoint: E) where E.Response == Response {
        self.init(HTTPRequestData(endpoint)) { response in
            try endpoint.decode(response)
        }
    }
}

extension Endpoint where Response == HTTPResponseData {
    /// Returns the request of an untyped endpoint with the type to decode.
    ///
    /// ```swift
    /// let (user, response) = try await network.value(GitHub.user("octocat").request(as: User.self))
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; `nil` uses that of the endpoint or the stack, and then a plain `JSONDecoder`.
    /// - Returns: The typed request.
    public func request<Body: Decodable & Sendable>(
        as type: Body.Type,
        decoder: (any BodyDecoder)? = nil
    ) -> Request<Body> {
        // The endpoint's own decoding runs first, because it may refuse the response with an error of the app.
        Request(HTTPRequestData(self)) { response in
            try decode(response).decodeBody(by: decoder)
        }
    }
}
