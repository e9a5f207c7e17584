/// A type-erased component, for storing a stack without naming its type.
///
/// ```swift
/// struct Profiles {
///     let network: AnyNetworkingComponent
/// }
///
/// let profiles = Profiles(network: AnyNetworkingComponent(URLSession.shared.logged()))
/// ```
///
/// It forwards everything, including rewriting and principals. `any NetworkingComponent` does the same; use this type
/// where a concrete type is required. It adds one dynamic call to each send.
public struct AnyNetworkingComponent: NetworkingComponent {
    let base: any NetworkingComponent

    /// Erases the type of a component.
    ///
    /// Erasing an erased component stores the original one.
    ///
    /// - Parameter component: The component to store.
    public init(_ component: some NetworkingComponent) {
        base = (component as? AnyNetworkingComponent)?.base ?? component
    }

    /// Sends a request through the erased component.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await base.send(request)
    }

    /// Rewrites a request as the erased component does.
    public func resolve(_ request: inout HTTPRequestData) {
        base.resolve(&request)
    }

    /// Returns the principal of the erased component.
    public func principal(for request: HTTPRequestData) -> Principal? {
        base.principal(for: request)
    }

    /// Returns whether the erased component ends an exchange at a time limit itself.
    public func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool {
        base.enforcesLimit(of: request, on: clock)
    }

    /// The erased component's modifiers.
    public var modifiers: [any NetworkingModifier] {
        base.modifiers
    }

    /// The diagnostics of the erased component's transport.
    public func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
        base.transportDiagnostics(below: modifiers)
    }

    /// The options that the erased component reads.
    public var requestOptions: Set<RequestOptionKey> {
        base.requestOptions
    }
}
