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
public struct AnyNetworkingComponent: ForwardingComponent {
    /// The erased component.
    public let upstream: any NetworkingComponent

    /// Erases the type of a component.
    ///
    /// Erasing an erased component stores the original one.
    ///
    /// - Parameter component: The component to store.
    public init(_ component: some NetworkingComponent) {
        upstream = (component as? AnyNetworkingComponent)?.upstream ?? component
    }
}
