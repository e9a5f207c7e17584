public import FoundationForNetworking
public import NetworkingCore

/// A client of one API: its base URL, credentials and coders around a network that the APIs of an app share.
///
/// ```swift
/// let github = APIService(network, baseURL: URL(string: "https://api.github.com")!) {
///     $0.authenticated(with: tokens)
///         .decoder(.json(keys: .convertFromSnakeCase))
/// }
///
/// let user = try await github.request(GitHub.user("octocat"), as: User.self)
/// ```
///
/// A service is a component, so every call, stream, download and modifier of ``NetworkingComponent`` works with it. In
/// a test, a ``MockTransport`` takes the place of the network.
///
/// To change the base URL while the app runs, use ``server`` or share a ``SwitchableServer`` between services.
public struct APIService: ForwardingComponent {
    /// The server, with a base URL that can be changed.
    public let server: SwitchableServer
    /// The network with the modifiers of the service.
    public let upstream: any NetworkingComponent

    /// Creates a service with a server.
    ///
    /// - Parameters:
    ///   - network: The network, which other services may share.
    ///   - server: The server. Several services may share it.
    ///   - modifiers: Adds the modifiers of the API, such as credentials, coders and a cache, to the network. The
    ///     server is added outside of them, so their credentials go only to that server.
    public init(
        _ network: some NetworkingComponent,
        server: SwitchableServer,
        modifiers: (any NetworkingComponent) -> any NetworkingComponent = { $0 }
    ) {
        self.server = server
        upstream = modifiers(network).server(baseURL: server)
    }

    /// Creates a service with a base URL.
    ///
    /// - Parameters:
    ///   - network: The network, which other services may share.
    ///   - baseURL: The URL. Its query and fragment are not used.
    ///   - modifiers: Adds the modifiers of the API, such as credentials, coders and a cache, to the network. The
    ///     server is added outside of them, so their credentials go only to that server.
    /// - Precondition: `baseURL` is an http or https URL with a host and without credentials.
    public init(
        _ network: some NetworkingComponent,
        baseURL: URL,
        modifiers: (any NetworkingComponent) -> any NetworkingComponent = { $0 }
    ) {
        self.init(network, server: SwitchableServer(baseURL), modifiers: modifiers)
    }
}
