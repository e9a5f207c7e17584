// A request that cannot be decoded is a compile-time error with a message that says what to write. Without these
// declarations, a request without a type would be a `Request<Void>`, and a type that is not Decodable would cause an
// error about the constraints of another method.

/// The response type that the compiler infers for a request without an explicit type, which is a compile-time error.
///
/// ```swift
/// let user: User = try await network.request(.get("users/42"))   // without `: User`, an error
/// ```
public struct UntypedResponse: Sendable {
    private init() {}
}

extension Request where Response == UntypedResponse {
    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public init(_ http: HTTPRequestData) {
        unavailable()
    }
}

extension Request {
    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public init(_ http: HTTPRequestData) {
        unavailable()
    }
}

extension RequestFactory {
    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public func callAsFunction(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<UntypedResponse> {
        unavailable()
    }

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public func callAsFunction<Response>(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Output where Output == Request<Response> {
        unavailable()
    }
}

private func unavailable() -> Never {
    preconditionFailure("The compiler lets no code call this method.")
}
