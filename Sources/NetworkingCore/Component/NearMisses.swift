// swift-format-ignore-file: NoLeadingUnderscores
// A requirement with a default accepts a type that declares almost the same function: the compiler uses the default,
// and the function of the type is never called. The protocols of this file turn such a near miss into a compile-time
// error with a message that says what to write. Each of them infers the type of a declaration, and has a requirement
// that is available for the right type only. They also have the requirements that only the library implements. Their
// names start with an underscore because no app refers to them.

/// The result of a function that a type does not declare, and should not.
public struct _Undeclared: Sendable {
    package init() {}
}

/// The declarations of a component that would have no effect, which are compile-time errors.
public protocol _ComponentDeclarations {
    /// The result of ``principal(for:)``.
    associatedtype _PrincipalResult = Principal?
    /// The function with any type of result.
    @_disfavoredOverload
    func principal(for request: HTTPRequestData) -> _PrincipalResult
    /// Available if the declaration has the right type.
    static var _principal: Void { get }

    /// The type of ``upstream``, which may be any type of component, optional or not.
    associatedtype _Upstream = Never?
    /// The component that this one sends through.
    ///
    /// A component that declares no such property is a transport, whose upstream is `nil`.
    var upstream: _Upstream { get }

    /// Whether the component ends at the time limit of a request, or runs in a task what does not.
    var _endsAtLimit: Bool { get }
}

extension _ComponentDeclarations {
    /// `false`, because a component may wait for anything.
    public var _endsAtLimit: Bool {
        false
    }

    /// A transport sends through no other component.
    @_disfavoredOverload public var upstream: Never? {
        nil
    }
}

extension _ComponentDeclarations {
    /// Not available, because the principal has another type.
    @available(*, unavailable, message: "Declare 'func principal(for request: HTTPRequestData) -> Principal?'.")
    public static var _principal: Void { () }
}

extension _ComponentDeclarations where _PrincipalResult == Principal? {
    /// Available, because the principal has the right type.
    public static var _principal: Void { () }
}

/// The declarations of a modifier that would have no effect, which are compile-time errors.
public protocol _ModifierDeclarations {
    /// The request of ``send(_:upstream:)``.
    associatedtype _SentRequest: Sendable = HTTPRequestData
    /// The result of ``send(_:upstream:)``.
    associatedtype _SentResponse: Sendable = HTTPResponseData
    /// The function with any types.
    @_disfavoredOverload
    func send(_ request: _SentRequest, upstream: some NetworkingComponent) async throws -> _SentResponse

    /// The result of a `send` with the upstream component first.
    associatedtype _SendUpstreamRequest = _Undeclared
    /// A function with its arguments in another order.
    func send(upstream: some NetworkingComponent, request: HTTPRequestData) async throws -> _SendUpstreamRequest

    /// The result of a `send` with a label for its request.
    associatedtype _SendRequestUpstream = _Undeclared
    /// A function with another label.
    func send(request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> _SendRequestUpstream

    /// The result of a `send` with an existential upstream component.
    associatedtype _SendErased = _Undeclared
    /// A function for an existential upstream component.
    @_disfavoredOverload
    func send(_ request: HTTPRequestData, upstream: any NetworkingComponent) async throws -> _SendErased

    /// Available if the declarations are the right ones.
    static var _send: Void { get }

    /// The result of a `resolve` that returns the request.
    associatedtype _ResolveResult = _Undeclared
    /// A function that returns the request.
    @_disfavoredOverload
    func resolve(_ request: HTTPRequestData) -> _ResolveResult

    /// The result of a `resolve` with a label.
    associatedtype _ResolveRequest = _Undeclared
    /// A function with another label.
    func resolve(request: HTTPRequestData) -> _ResolveRequest

    /// The result of a `resolve` with a label that changes the request.
    associatedtype _ResolveInPlace = _Undeclared
    /// A function with another label.
    func resolve(request: inout HTTPRequestData) -> _ResolveInPlace

    /// The result of a `resolve` with an upstream component.
    associatedtype _ResolveUpstream = _Undeclared
    /// A function with the upstream component, which rewrites the request itself.
    func resolve(upstream: some NetworkingComponent, request: HTTPRequestData) -> _ResolveUpstream

    /// Available if the declarations are the right ones.
    static var _resolve: Void { get }

    /// The result of ``principal(for:upstream:)``.
    associatedtype _PrincipalResult = Principal?
    /// The function with any type of result.
    @_disfavoredOverload
    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> _PrincipalResult
    /// Available if the declaration has the right type.
    static var _principal: Void { get }

    /// Whether the modifier ends at the time limit of a request if its upstream does.
    var _endsAtLimit: Bool { get }
}

extension _ModifierDeclarations {
    /// `false`, because a modifier may wait for anything.
    public var _endsAtLimit: Bool {
        false
    }

    /// The value of a modifier that does not declare the function.
    public func send(upstream: some NetworkingComponent, request: HTTPRequestData) async throws -> _Undeclared {
        _Undeclared()
    }

    /// The value of a modifier that does not declare the function.
    public func send(request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> _Undeclared {
        _Undeclared()
    }

    /// The value of a modifier that does not declare the function.
    @_disfavoredOverload
    public func send(_ request: HTTPRequestData, upstream: any NetworkingComponent) async throws -> _Undeclared {
        _Undeclared()
    }

    /// The value of a modifier that does not declare the function.
    @_disfavoredOverload
    public func resolve(_ request: HTTPRequestData) -> _Undeclared {
        _Undeclared()
    }

    /// The value of a modifier that does not declare the function.
    public func resolve(request: HTTPRequestData) -> _Undeclared {
        _Undeclared()
    }

    /// The value of a modifier that does not declare the function.
    public func resolve(request: inout HTTPRequestData) -> _Undeclared {
        _Undeclared()
    }

    /// The value of a modifier that does not declare the function.
    public func resolve(upstream: some NetworkingComponent, request: HTTPRequestData) -> _Undeclared {
        _Undeclared()
    }

    /// Not available, because `send` would not be called.
    @available(
        *,
        unavailable,
        message:
            "Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'."
    )
    public static var _send: Void { () }

    /// Not available, because `resolve` would not be called.
    @available(*, unavailable, message: "Declare 'func resolve(_ request: inout HTTPRequestData)'.")
    public static var _resolve: Void { () }

    /// Not available, because the principal has another type.
    @available(
        *,
        unavailable,
        message: "Declare 'func principal(for: HTTPRequestData, upstream: some NetworkingComponent) -> Principal?'."
    )
    public static var _principal: Void { () }
}

extension _ModifierDeclarations
where
    _SentRequest == HTTPRequestData,
    _SentResponse == HTTPResponseData,
    _SendUpstreamRequest == _Undeclared,
    _SendRequestUpstream == _Undeclared,
    _SendErased == _Undeclared
{
    /// Available, because the modifier declares no other `send`.
    public static var _send: Void { () }
}

extension _ModifierDeclarations
where
    _ResolveResult == _Undeclared,
    _ResolveRequest == _Undeclared,
    _ResolveInPlace == _Undeclared,
    _ResolveUpstream == _Undeclared
{
    /// Available, because the modifier declares no other `resolve`.
    public static var _resolve: Void { () }
}

extension _ModifierDeclarations where _PrincipalResult == Principal? {
    /// Available, because the principal has the right type.
    public static var _principal: Void { () }
}

extension Optional: _ModifierDeclarations where Wrapped: NetworkingModifier {}
