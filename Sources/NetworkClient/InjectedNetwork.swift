public import Networking

/// A component that sends through the client that is current when a request is sent: for stacks that are made before it
/// is known.
///
/// ```swift
/// extension UserAPI {
///     static let shared = UserAPI(network: InjectedNetwork().logged().server(authority: "api.example.com"))
/// }
///
/// try await withNetworkClient(.live) { try await UserAPI.shared.user(id: 42) }
/// ```
///
/// It ends its stack like a transport. A modifier with a memory around it, such as `cached`, has one memory for all
/// clients; what is to be apart belongs into the client.
public struct InjectedNetwork: NetworkingComponent {
    /// Creates a component for the current client.
    public init() {}

    /// Sends a request through the current client's network.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await NetworkClient.current.network().send(request)
    }

    /// Rewrites a request as the current client's network does.
    public func resolve(_ request: inout HTTPRequestData) {
        NetworkClient.current.network().resolve(&request)
    }

    /// Answers with the principal of the current client's network.
    public func principal(for request: HTTPRequestData) -> Principal? {
        NetworkClient.current.network().principal(for: request)
    }

    /// The modifiers of the current client's network.
    public var modifiers: [any NetworkingModifier] {
        NetworkClient.current.network().modifiers
    }

    /// The options that the current client's network reads.
    public var requestOptions: Set<RequestOptionKey> {
        NetworkClient.current.network().requestOptions
    }
}

extension InjectedNetwork: CustomStringConvertible {
    /// The line of an outline.
    public var description: String {
        "InjectedNetwork"
    }
}
