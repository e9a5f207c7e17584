public import Networking

/// A component that sends through the client that is current when a request is sent.
///
/// Use it for stacks that are created before the client is known.
///
/// ```swift
/// extension UserAPI {
///     static let shared = UserAPI(network: InjectedNetwork().logged().server(authority: "api.example.com"))
/// }
///
/// try await withNetworkClient(.live) { try await UserAPI.shared.user(id: 42) }
/// ```
///
/// It ends its stack like a transport. A stateful modifier around it, such as `throttled`, shares its state between all
/// clients. If each client needs its own state, add that modifier to the client's network. `cached` and `deduplicated`
/// share no response between clients, and the responses of a client are found until the process ends. A cache on disk
/// belongs in the client's network.
///
/// If no client is provided, the current client is ``NetworkClient/unimplemented``, and each request fails.
public struct InjectedNetwork: ForwardingComponent {
    /// Creates a component for the current client.
    public init() {}

    /// The current client's network.
    public var upstream: any NetworkingComponent {
        NetworkClient.current.network()
    }

    /// Rewrites a request as the current client's network does.
    public func resolve(_ request: inout HTTPRequestData) {
        request[.client] = NetworkClient.current.id
        upstream.resolve(&request)
    }
}

extension RequestOptionKey {
    /// The client that a request is sent through, so that no request gets the response of another client.
    fileprivate static let client = RequestOption<NetworkClient.ID?>(
        "client",
        default: nil,
        affects: .responses,
        isSetByStack: true
    )
}

extension InjectedNetwork: CustomStringConvertible {
    /// The line in an outline of the stack.
    public var description: String {
        "InjectedNetwork"
    }
}
