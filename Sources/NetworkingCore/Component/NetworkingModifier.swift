/// What wraps a component and is, together with it, a component again.
///
/// A modifier that only rewrites requests implements ``resolve(_:)-(HTTPRequestData)`` alone. One that acts on the
/// exchange implements ``send(_:upstream:)`` and calls `upstream.send` as often as it needs to, from child tasks too.
///
/// ```swift
/// struct RequestID: NetworkingModifier {
///     func send(
///         _ request: HTTPRequestData,
///         upstream: some NetworkingComponent
///     ) async throws -> HTTPResponseData {
///         var request = request
///         request.headerFields[.requestID] = "\(request.id)"
///         return try await upstream.send(request)
///     }
/// }
///
/// let network = URLSession.shared.modified(RequestID())
/// ```
///
/// A modifier is a value that does not know its upstream, so one can be put into several stacks. What it remembers
/// lives in an object of its own, which those stacks then share.
///
/// Pass on the request that came in, changed as needed, rather than a new one: it carries the mark that says the
/// chain has rewritten it. A request without that mark is rewritten by what lies upstream.
public protocol NetworkingModifier: RequestOptionReader, Sendable {
    /// Sends a request upstream and returns its response, acting before, after or instead.
    ///
    /// The default sends the request as it is.
    ///
    /// - Parameters:
    ///   - request: The request, already resolved by the whole chain.
    ///   - upstream: The rest of the stack, towards the transport.
    /// - Returns: The response.
    /// - Throws: What ``NetworkingComponent/send(_:)`` throws.
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData

    /// Rewrites a request; pure, and called once for each send. The default rewrites nothing.
    ///
    /// - Parameter request: The request to rewrite.
    func resolve(_ request: inout HTTPRequestData)

    /// Tells on whose behalf a request would be sent. The default asks upstream.
    ///
    /// - Parameters:
    ///   - request: The request in question.
    ///   - upstream: The rest of the stack, towards the transport.
    /// - Returns: The principal, or nil when the request carries nobody's credentials.
    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal?

    /// The roles of the modifier, by which the rules of other modifiers refer to it.
    ///
    /// The default is none.
    var roles: Set<StackRole> { get }

    /// Returns what is probably a mistake about the modifier's place in a stack.
    ///
    /// ``NetworkingComponent/diagnostics`` calls this. A rule refers to other modifiers by their roles. The default
    /// reports nothing.
    ///
    /// ```swift
    /// func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
    ///     guard stack.isInside(.signing) else { return [] }
    ///     return [StackDiagnostic("\(self) is inside signed, so it changes a request that is signed.", about: self)]
    /// }
    /// ```
    ///
    /// - Parameter stack: The modifiers outside and inside of this one.
    /// - Returns: The diagnostics; empty if the place is a good one.
    func diagnostics(in stack: StackPlace) -> [StackDiagnostic]
}

extension NetworkingModifier {
    // Inlinable, so that a modifier which only rewrites costs a send nothing at all.
    /// Sends the request upstream as it is.
    @inlinable
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }

    /// Rewrites nothing.
    public func resolve(_ request: inout HTTPRequestData) {}

    /// Answers with the upstream's principal.
    public func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        upstream.principal(for: request)
    }
}

extension NetworkingComponent {
    /// Wraps this component in a modifier.
    ///
    /// - Parameter modifier: The modifier, which becomes the outermost part. An absent one (`nil`) changes nothing.
    /// - Returns: A component that sends through the modifier.
    @inlinable
    public func modified(_ modifier: some NetworkingModifier) -> some NetworkingComponent {
        Modified(upstream: self, modifier: modifier)
    }
}

/// A component wrapped in a modifier.
@frozen
@usableFromInline
struct Modified<Upstream: NetworkingComponent, Modifier: NetworkingModifier>: NetworkingComponent {
    @usableFromInline let upstream: Upstream
    @usableFromInline let modifier: Modifier

    // Inlinable with its initialiser and storage: a layer then costs a witness call instead of 110 ns.
    @inlinable
    init(upstream: Upstream, modifier: Modifier) {
        self.upstream = upstream
        self.modifier = modifier
    }

    @inlinable
    @inline(__always)
    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        // One look for what nearly every part finds: nothing to do but to pass it on.
        guard request.isMerelyUnderway else {
            guard request.isUnderway else { return try await begin(request) }
            // Here and not in a function of its own, which would be one more async call.
            let number = request.enter(Modifier.self)
            defer { request.leave(number) }
            return try await modifier.send(request, upstream: upstream)
        }
        return try await modifier.send(request, upstream: upstream)
    }

    @usableFromInline
    func resolve(_ request: inout HTTPRequestData) {
        modifier.resolve(&request)
        upstream.resolve(&request)
    }

    @usableFromInline
    func principal(for request: HTTPRequestData) -> Principal? {
        modifier.principal(for: request, upstream: upstream)
    }

    @usableFromInline var modifiers: [any NetworkingModifier] {
        presentModifiers(in: modifier) + upstream.modifiers
    }

    @usableFromInline var requestOptions: Set<RequestOptionKey> {
        modifier.requestOptions.union(upstream.requestOptions)
    }
}

/// A modifier that may be absent: `nil` passes everything on untouched.
///
/// ```swift
/// let network = URLSession.shared.modified(isVerbose ? RequestID() : nil)
/// ```
extension Optional: NetworkingModifier where Wrapped: NetworkingModifier {
    /// Sends the request upstream as it is.
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard let self else { return try await upstream.send(request) }
        return try await self.send(request, upstream: upstream)
    }

    /// Rewrites nothing.
    public func resolve(_ request: inout HTTPRequestData) {
        self?.resolve(&request)
    }

    /// Answers with the upstream's principal.
    public func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        guard let self else { return upstream.principal(for: request) }
        return self.principal(for: request, upstream: upstream)
    }

    /// The roles of the modifier, if there is one.
    public var roles: Set<StackRole> {
        self?.roles ?? []
    }

    /// Returns the diagnostics of the modifier, if there is one.
    public func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        self?.diagnostics(in: stack) ?? []
    }
}

extension Optional: RequestOptionReader where Wrapped: NetworkingModifier {
    /// The options that the modifier reads, if there is one.
    public var requestOptions: Set<RequestOptionKey> {
        self?.requestOptions ?? []
    }
}

/// A modifier that may be absent.
private protocol OptionalModifier {
    var presentModifiers: [any NetworkingModifier] { get }
}

extension Optional: OptionalModifier where Wrapped: NetworkingModifier {
    fileprivate var presentModifiers: [any NetworkingModifier] {
        map { NetworkingCore.presentModifiers(in: $0) } ?? []
    }
}

/// Returns a modifier without the optionals around it, or nothing if it is absent.
private func presentModifiers(in modifier: some NetworkingModifier) -> [any NetworkingModifier] {
    (modifier as? any OptionalModifier)?.presentModifiers ?? [modifier]
}
