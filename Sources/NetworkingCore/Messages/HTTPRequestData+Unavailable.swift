public import HTTPTypes

// Values of types that a request does not take are compile-time errors with a message that says what to write. Without
// these methods, the error would name only the two types.

extension HTTPRequestData {
    /// Not available, because a request does not take a variable as path.
    @available(*, unavailable, message: "Write RequestPath(path), or interpolate its values into a literal.")
    @_disfavoredOverload
    public init(
        _ method: HTTPRequest.Method,
        _ path: String,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) {
        unavailable()
    }

    /// Not available, because a request does not take a dictionary as query.
    @available(*, unavailable, message: "Write query: RequestQuery(query).")
    @_disfavoredOverload
    public init(
        _ method: HTTPRequest.Method,
        _ path: RequestPath,
        query: [String: some QueryValue],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) {
        unavailable()
    }

    /// Not available, because a request does not take a value as body.
    @available(*, unavailable, message: "Write body: .json(value), .form(fields) or .data(bytes).")
    @_disfavoredOverload
    public init(
        _ method: HTTPRequest.Method,
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: some Encodable
    ) {
        unavailable()
    }
}

extension RequestFactory where Output == HTTPRequestData {
    /// Not available, because a request does not take a variable as path.
    @available(*, unavailable, message: "Write RequestPath(path), or interpolate its values into a literal.")
    @_disfavoredOverload
    public func callAsFunction(
        _ path: String,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output {
        unavailable()
    }

    /// Not available, because a request does not take a dictionary as query.
    @available(*, unavailable, message: "Write query: RequestQuery(query).")
    @_disfavoredOverload
    public func callAsFunction(
        _ path: RequestPath,
        query: [String: some QueryValue],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output {
        unavailable()
    }

    /// Not available, because a request does not take a value as body.
    @available(*, unavailable, message: "Write body: .json(value), .form(fields) or .data(bytes).")
    @_disfavoredOverload
    public func callAsFunction(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: some Encodable
    ) -> Output {
        unavailable()
    }
}

extension RequestFactory {
    /// Not available, because a request does not take a variable as path.
    @available(*, unavailable, message: "Write RequestPath(path), or interpolate its values into a literal.")
    @_disfavoredOverload
    public func callAsFunction<Response: Decodable>(
        _ path: String,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<Response> {
        unavailable()
    }

    /// Not available, because a request does not take a dictionary as query.
    @available(*, unavailable, message: "Write query: RequestQuery(query).")
    @_disfavoredOverload
    public func callAsFunction<Response: Decodable>(
        _ path: RequestPath,
        query: [String: some QueryValue],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<Response> {
        unavailable()
    }

    /// Not available, because a request does not take a value as body.
    @available(*, unavailable, message: "Write body: .json(value), .form(fields) or .data(bytes).")
    @_disfavoredOverload
    public func callAsFunction<Response: Decodable>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: some Encodable
    ) -> Output where Output == Request<Response> {
        unavailable()
    }
}

private func unavailable() -> Never {
    preconditionFailure("The compiler lets no code call this method.")
}
