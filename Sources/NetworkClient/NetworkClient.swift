public import Networking

/// The one client of an app, on which its API clients stand.
///
/// An app has one network: its slots, its cache and its retry budget are worth something because all of the app shares
/// them. Its APIs are many, and each adds its server, its credentials and its log around that network:
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
/// The app makes it once, such as with `NetworkClient.live` of the product `NetworkClientLive`, and hands it on: by an
/// initialiser, by SwiftUI's environment, or by ``withNetworkClient(_:isolation:operation:)-(NetworkClient,_,_)``.
/// Where nobody did, and so in a test that forgot to, it is ``unimplemented``, and each request fails with an error
/// that says so.
public struct NetworkClient: Sendable {
    /// Gives the network.
    ///
    /// It is called whenever somebody builds on it, so it gives the same stack each time.
    public var network: @Sendable () -> any NetworkingComponent

    /// The cache that the API clients of the app share.
    ///
    /// A cache in the network does not store responses to requests that an API client further out has authenticated,
    /// because it does not know their users. Such an API client puts this cache around its credentials:
    ///
    /// ```swift
    /// network = client.network()
    ///     .authenticated(with: tokens)
    ///     .cached(in: client.cache)
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The cache keeps the users apart, and copies of the client share it, so it stays when an API client is created
    /// again.
    public var cache: ResponseCache

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - cache: The cache that the API clients share; a new one in memory by default.
    ///   - network: Gives the network: the same one each time, so that all callers share what it remembers.
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

    /// A client that nobody provided: each request fails with `NetworkingError.Kind.unimplemented`, and says how to
    /// provide one.
    public static let unimplemented = NetworkClient(
        UnimplementedTransport("a NetworkClient (withNetworkClient, an initialiser, or SwiftUI's environment)")
    )

    /// The client of the task that asks: what ``withNetworkClient(_:isolation:operation:)-(NetworkClient,_,_)`` says,
    /// or ``unimplemented``.
    ///
    /// Child tasks and tasks made with `Task { }` inherit it. A detached task, a thread, a delegate's callback and
    /// SwiftUI's views do not.
    public static var current: NetworkClient {
        taskLocal
    }

    @TaskLocal static var taskLocal = NetworkClient.unimplemented
}
