public import Networking

/// The network that all API clients of an app share.
///
/// An app has one network, because limits, a cache and a retry budget are useful only if the whole app shares them.
/// Each API client of the app adds its server, its credentials and its log around that network:
///
/// ```swift
/// struct UserAPI: Sendable {
///     private let network: any NetworkingComponent
///
///     init(_ client: NetworkClient = .current) {
///         network = client.network().logged().server(authority: "api.example.com")
///     }
///
///     func user(id: Int) async throws -> User {
///         try await network.value(.user(id: id)).body
///     }
/// }
/// ```
///
/// Create the client once, such as with `NetworkClient.live` of the product `NetworkClientLive`, and pass it on: in an
/// initializer, in SwiftUI's environment, or with ``withNetworkClient(_:isolation:operation:)-(NetworkClient,_,_)``. If
/// no client is provided, for example because a test forgot it, the current client is ``unimplemented``, and each
/// request fails with an error that explains this.
public struct NetworkClient: Sendable {
    /// Returns the network.
    ///
    /// Each API client calls it when it builds its stack, so it must return the same stack each time.
    public var network: @Sendable () -> any NetworkingComponent {
        didSet { id = ID() }
    }

    /// The identity of the network, which copies of the client share.
    private(set) var id = ID()

    final class ID: Sendable, Hashable {
        static func == (lhs: ID, rhs: ID) -> Bool {
            lhs === rhs
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(self))
        }
    }

    /// The cache that the API clients of the app share.
    ///
    /// A cache in the network does not store responses to requests that an API client further out has authenticated,
    /// because it does not know their users. Such an API client puts this cache around its credentials:
    ///
    /// ```swift
    /// let client = NetworkClient.current
    /// let network = client.network()
    ///     .authenticated(with: tokens)
    ///     .cached(in: client.cache)
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The cache keeps the users apart. Copies of the client share it, so its responses remain when an API client is
    /// created again.
    public var cache: ResponseCache

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - cache: The cache that the API clients share; a new one in memory by default.
    ///   - network: Returns the network: the same one each time, so that all callers share its state.
    public init(
        cache: ResponseCache = ResponseCache(),
        network: @escaping @Sendable () -> any NetworkingComponent
    ) {
        self.cache = cache
        self.network = network
    }

    /// Creates a client for a stack, or for a `MockTransport` in a test.
    ///
    /// - Parameters:
    ///   - network: The network.
    ///   - cache: The cache that the API clients share; a new one in memory by default.
    public init(_ network: some NetworkingComponent, cache: ResponseCache = ResponseCache()) {
        self.init(cache: cache) { network }
    }

    /// The client used if none is provided: each request fails with `NetworkingError.Kind.unimplemented`, and the error
    /// explains how to provide one.
    public static let unimplemented = NetworkClient(
        UnimplementedTransport("a NetworkClient (withNetworkClient, an initializer, or SwiftUI's environment)")
    )

    /// The client of the current task: the one set by
    /// ``withNetworkClient(_:isolation:operation:)-(NetworkClient,_,_)``, or ``unimplemented``.
    ///
    /// Child tasks and tasks created with `Task { }` inherit it. Detached tasks, threads, delegate callbacks and
    /// SwiftUI views do not.
    public static var current: NetworkClient {
        taskLocal
    }

    @TaskLocal static var taskLocal = NetworkClient.unimplemented
}
