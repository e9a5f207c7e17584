/// A component that sends each request through another one, and has the same modifiers, principal and diagnostics.
///
/// Conform to it to declare a type for a stack, or to choose a component for each call. A conforming type waits for
/// nothing but its upstream component, so it also ends at a time limit if that one does.
///
/// ```swift
/// struct Catalog: ForwardingComponent {
///     let upstream: any NetworkingComponent
///
///     func items() async throws -> [String] {
///         try await request(.get("items"))
///     }
/// }
/// ```
public protocol ForwardingComponent: StackDescribing, NetworkingComponent
where _Upstream == any NetworkingComponent {
    /// The component to forward to.
    var upstream: any NetworkingComponent { get }
}

extension ForwardingComponent {
    /// Sends a request through the upstream component.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await upstream.sendWithinLimit(request)
    }

    /// Rewrites a request as the upstream component does.
    public func resolve(_ request: inout HTTPRequestData) {
        upstream.resolve(&request)
    }

    /// Returns the principal of the upstream component.
    public func principal(for request: HTTPRequestData) -> Principal? {
        upstream.principal(for: request)
    }

    /// The component adds no part to the stack.
    public var stackPart: StackPart {
        StackPart(modifiers: [])
    }
}

// swift-format-ignore: NoLeadingUnderscores
extension ForwardingComponent {
    /// `true`, because the component waits for nothing but its upstream.
    public var _endsAtLimit: Bool {
        true
    }
}
