/// A component whose type is erased, to store a stack without naming what it is made of.
///
/// ```swift
/// struct Profiles {
///     let network: AnyNetworkingComponent
/// }
///
/// let profiles = Profiles(network: AnyNetworkingComponent(URLSession.shared.logged()))
/// ```
///
/// It forwards everything, rewriting and principals too. `any NetworkingComponent` does the same; this type is for
/// the places that want a concrete one. Each send pays one dynamic call for it.
public struct AnyNetworkingComponent: NetworkingComponent {
    let base: any NetworkingComponent

    /// Erases a component.
    ///
    /// Erasing twice stores the inner one.
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

    /// Answers with the erased component's principal.
    public func principal(for request: HTTPRequestData) -> Principal? {
        base.principal(for: request)
    }

    /// The erased component's modifiers.
    public var modifiers: [any NetworkingModifier] {
        base.modifiers
    }

    /// The options that the erased component reads.
    public var requestOptions: Set<RequestOptionKey> {
        base.requestOptions
    }
}
