// swift-format-ignore-file: NoLeadingUnderscores

public import NetworkingCore

// The functions of interceptors have the same names in other libraries, and other types. Such a function would never be
// called, because the requirement has a default. This protocol makes it a compile-time error.

/// The declarations of an interceptor that would have no effect, which are compile-time errors.
public protocol _InterceptorDeclarations {
    /// The request of ``adapt(_:)``.
    associatedtype _AdaptedRequest: Sendable = HTTPRequestData
    /// The function with any type of request.
    @_disfavoredOverload
    func adapt(_ request: _AdaptedRequest) async throws -> _AdaptedRequest

    /// The result of an `adapt` that changes the request in place.
    associatedtype _AdaptInPlace: Sendable = _Undeclared
    /// A function that changes the request in place.
    func adapt(_ request: inout HTTPRequestData) async throws -> _AdaptInPlace

    /// Available if the declarations are the right ones.
    static var _adapt: Void { get }

    /// The request of ``retry(_:dueTo:)``.
    associatedtype _RetriedRequest: Sendable = HTTPRequestData
    /// The reason of ``retry(_:dueTo:)``.
    associatedtype _RetryReason: Sendable = Attempt
    /// The result of ``retry(_:dueTo:)``.
    associatedtype _RetryResult: Sendable = RetryDecision
    /// The function with any types.
    @_disfavoredOverload
    func retry(_ request: _RetriedRequest, dueTo attempt: _RetryReason) async throws -> _RetryResult
    /// Available if the declaration is the right one.
    static var _retry: Void { get }
}

extension _InterceptorDeclarations {
    /// The value of an interceptor that does not declare the function.
    public func adapt(_ request: inout HTTPRequestData) async throws -> _Undeclared {
        _Undeclared()
    }

    /// Not available, because `adapt` would not be called.
    @available(
        *,
        unavailable,
        message: "Declare 'func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData'."
    )
    public static var _adapt: Void { () }

    /// Not available, because `retry` would not be called.
    @available(
        *,
        unavailable,
        message:
            "Declare 'func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision'."
    )
    public static var _retry: Void { () }
}

extension _InterceptorDeclarations where _AdaptedRequest == HTTPRequestData, _AdaptInPlace == _Undeclared {
    /// Available, because the interceptor declares no other `adapt`.
    public static var _adapt: Void { () }
}

extension _InterceptorDeclarations
where _RetriedRequest == HTTPRequestData, _RetryReason == Attempt, _RetryResult == RetryDecision {
    /// Available, because the interceptor declares no other `retry`.
    public static var _retry: Void { () }
}
