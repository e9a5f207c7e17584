/// A modifier of a component; both together are a component again.
///
/// A modifier that only rewrites requests implements ``resolve(_:)-(HTTPRequestData)`` alone. A modifier that acts on
/// the exchange implements ``send(_:upstream:)`` and calls `upstream.send` as often as it needs to, also from child
/// tasks.
///
/// ```swift
/// struct RequestID: NetworkingModifier {
///     func send(
///         _ request: HTTPRequestData,
///         upstream: some NetworkingComponent
///     ) async throws -> HTTPResponseData {
///         var request = request
///         request.headerFields[.requestID] = UUID().uuidString
///         return try await upstream.send(request)
///     }
/// }
///
/// let network = URLSession.shared.modified(RequestID())
/// ```
///
/// A modifier is a value that does not know its upstream component, so the same modifier can be part of several stacks.
/// Its state is in a separate object, which those stacks then share.
///
/// Pass on the request that the modifier receives, changed as needed, instead of a new one. The received request is
/// marked as rewritten by the chain. The components upstream rewrite a request without that mark.
///
/// A modifier describes itself in ``StackDescribing/stackPart``: its role, the options that it reads, and the rules
/// about its place in a stack.
public protocol NetworkingModifier: StackDescribing, _ModifierDeclarations, Sendable {
    /// Sends a request upstream and returns its response, with actions before, after or instead of sending it.
    ///
    /// The default sends the request as it is.
    ///
    /// - Parameters:
    ///   - request: The request, already resolved by the whole chain.
    ///   - upstream: The rest of the stack, towards the transport.
    /// - Returns: The response.
    /// - Throws: The errors of ``NetworkingComponent/send(_:)``.
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData

    /// Rewrites a request; pure, and called once for each send, and before it to note the users of longer work or of
    /// another stack.
    ///
    /// The default rewrites nothing.
    ///
    /// - Parameter request: The request to rewrite.
    func resolve(_ request: inout HTTPRequestData)

    /// Returns the principal that a request would be sent for.
    ///
    /// The default returns the principal of the upstream component.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - upstream: The rest of the stack, towards the transport.
    /// - Returns: The principal, or `nil` if the request carries no credentials.
    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal?
}

extension NetworkingModifier {
    // Inlinable, so that a modifier that only rewrites requests adds no cost to a send.
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

    /// Returns the principal of the upstream component.
    public func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        upstream.principal(for: request)
    }
}

/// A modifier that ends at the time limit of a request if its upstream does.
///
/// Conform to it if the modifier waits only for its upstream, or if its own waits end at the request's
/// ``HTTPRequestData/exchangeLimit``. Any other modifier runs in a task of its own if the request has such a limit, and
/// is cancelled at the limit.
///
/// ```swift
/// struct Branded: UpstreamLimited {
///     func resolve(_ request: inout HTTPRequestData) {
///         request.headerFields[.userAgent] = "Shop/2"
///     }
/// }
/// ```
public protocol UpstreamLimited: NetworkingModifier {}

// swift-format-ignore: NoLeadingUnderscores
extension UpstreamLimited {
    /// `true`.
    public var _endsAtLimit: Bool {
        true
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

    // Inlinable like its initializer and storage, so that a layer costs a witness call instead of 110 ns.
    @inlinable
    init(upstream: Upstream, modifier: Modifier) {
        self.upstream = upstream
        self.modifier = modifier
    }

    @inlinable
    @inline(__always)
    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        // A single check for the most common case, in which the request is only passed on.
        var number: Int32 = -1
        if !request.isMerelyUnderway {
            guard request.isUnderway else { return try await begin(request) }
            // Inline, because a separate function would be one more async call.
            number = request.enter(Modifier.self)
            guard request.exchangeLimit == nil || modifier._endsAtLimit && upstream._endsAtLimit else {
                defer { request.leave(number) }
                return try await sendInTask(request)
            }
        }
        defer {
            if number >= 0 { request.leave(number) }
        }
        // The only place where a request waits, because each has values of its own in the frame.
        return try await modifier.send(request, upstream: upstream)
    }

    /// Sends a request in a task that is cancelled at the time limit of the request.
    @usableFromInline
    @inline(never)
    func sendInTask(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await request.enforcingLimit { try await modifier.send($0, upstream: upstream) }
    }

    // swift-format-ignore: NoLeadingUnderscores
    @inlinable var _endsAtLimit: Bool {
        true
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

}

extension Modified: StackDescribing {
    @usableFromInline var stackPart: StackPart {
        StackPart(modifiers: modifier.stackPart.modifiers ?? [modifier])
    }
}

/// A modifier that may be absent: `nil` passes requests on unchanged.
///
/// ```swift
/// let network = URLSession.shared.modified(isVerbose ? RequestID() : nil)
/// ```
extension Optional: NetworkingModifier where Wrapped: NetworkingModifier {
    /// Sends the request through the modifier, if there is one.
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard let self else { return try await upstream.send(request) }
        return try await self.send(request, upstream: upstream)
    }

    /// Rewrites the request with the modifier, if there is one.
    public func resolve(_ request: inout HTTPRequestData) {
        self?.resolve(&request)
    }

    /// Returns the principal from the modifier, or from upstream if there is no modifier.
    public func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        guard let self else { return upstream.principal(for: request) }
        return self.principal(for: request, upstream: upstream)
    }
}

// swift-format-ignore: NoLeadingUnderscores
extension Optional where Wrapped: NetworkingModifier {
    /// Whether the modifier, if there is one, ends at a time limit if its upstream does.
    public var _endsAtLimit: Bool {
        self?._endsAtLimit ?? true
    }
}

extension Optional: StackDescribing where Wrapped: NetworkingModifier {
    /// The facts about the modifier, if there is one.
    public var stackPart: StackPart {
        guard let self else { return StackPart(modifiers: []) }
        var part = self.stackPart
        part.modifiers = part.modifiers ?? [self]
        return part
    }
}
