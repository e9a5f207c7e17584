// A request that cannot be decoded is a compile-time error with a message that says what to write. Without these
// methods, a request without a type would be a `Request<Void>`, and a type that is not Decodable would cause an error
// about the constraints of another method.

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

    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public static func get(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public static func head(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public static func post(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public static func put(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public static func patch(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says the type of the response.
    @available(*, unavailable, message: "Name the type of the response. To ignore its body, use perform.")
    public static func delete(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
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

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public static func get(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public static func head(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public static func post(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public static func put(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public static func patch(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:],
        body: RequestBody? = nil
    ) -> Request {
        unavailable()
    }

    /// Not available, because nothing says how to decode the response.
    @available(*, unavailable, message: "Conform the response type to Decodable, or use Request(_:decode:).")
    @_disfavoredOverload
    public static func delete(
        _ path: RequestPath,
        query: RequestQuery = [:],
        headers: HeaderFields = [:]
    ) -> Request {
        unavailable()
    }
}

private func unavailable() -> Never {
    preconditionFailure("The compiler lets no code call this method.")
}
