public import NetworkClient
public import Networking

extension NetworkClient {
    /// Returns a client with a production stack over any transport.
    ///
    /// The stack is `standard(_:)` with the preset `StandardStack.app`, inside
    /// `cached(in: cache)`, which caches by RFC 9111 in the client's cache. The preset's documentation lists its
    /// modifiers with their numbers: time limits, six concurrent requests per host, limits of the server, a circuit
    /// breaker, three retries, deduplication, and 30 s for a call until its response starts. Downloads, streams and
    /// long uploads may take any time while they make progress.
    ///
    /// Logs, servers and credentials belong to each API client, around this stack. The cache in the stack serves
    /// requests without `Authorization`. An API client that authenticates adds the same cache around its credentials,
    /// which keeps its users apart:
    ///
    /// ```swift
    /// let client = NetworkClient.live(over: AsyncHTTPClientTransport())
    /// let network = client.network()
    ///     .authenticated(with: tokens)
    ///     .cached(in: client.cache)
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// - Parameters:
    ///   - transport: The transport, or a stack around one.
    ///   - preset: The preset; `StandardStack.app` by default.
    ///   - cache: The cache of the stack, which is also the client's `cache`; a new one in memory by default.
    /// - Returns: A client with its own stack, which all API clients share.
    public static func live(
        over transport: some NetworkingComponent,
        preset: StandardStack = .app,
        cache: ResponseCache = ResponseCache()
    ) -> NetworkClient {
        NetworkClient(transport.standard(preset).cached(in: cache), cache: cache)
    }
}
