/// A component that sends through another one and answers everything as that one does.
///
/// Conform to it to give a stack a type of its own, or to choose a component for each call. A conforming type waits for
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
        try await upstream.send(request)
    }

    /// Rewrites a request as the upstream component does.
    public func resolve(_ request: inout HTTPRequestData) {
        upstream.resolve(&request)
    }

    /// Returns the principal of the upstream component.
    public func principal(for request: HTTPRequestData) -> Principal? {
        upstream.principal(for: request)
    }

    /// Returns whether the upstream component ends an exchange at a time limit itself.
    public func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool {
        upstream.enforcesLimit(of: request, on: clock)
    }

    /// The component has no part of its own.
    public var stackPart: StackPart {
        StackPart(modifiers: [])
    }
}
