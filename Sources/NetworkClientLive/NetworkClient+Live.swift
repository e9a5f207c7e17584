public import NetworkClient
public import Networking

extension NetworkClient {
    /// Returns a client with a production stack over any transport.
    ///
    /// From the transport outwards:
    ///
    /// | | |
    /// |---|---|
    /// | `timeout(head: .seconds(30), idle: .seconds(30))` | ends an attempt if the server stops sending |
    /// | `throttled(maxPerHost: 6)` | as many concurrent requests per host as browsers make over HTTP/1.1 |
    /// | `retry()` | up to three retries of a request that may be sent again, four attempts in all, within a budget |
    /// | `deduplicated()` | sends identical concurrent requests once |
    /// | `cached(in: cache)` | caches by RFC 9111, in the client's cache |
    ///
    /// The timeout does not end a long download that makes progress.
    ///
    /// Logs, servers and credentials belong to each API client, around this stack. The cache in the stack serves
    /// requests without credentials. An API client that authenticates adds the same cache around its credentials, which
    /// keeps its users apart:
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
    ///   - cache: The cache of the stack, which is also the client's `cache`; a new one in memory by default.
    /// - Returns: A client with its own stack, which all API clients share.
    public static func live(
        over transport: some NetworkingComponent,
        cache: ResponseCache = ResponseCache()
    ) -> NetworkClient {
        NetworkClient(
            transport
                .timeout(head: .seconds(30), idle: .seconds(30))
                .throttled(maxPerHost: 6)
                .retry()
                .deduplicated()
                .cached(in: cache),
            cache: cache
        )
    }
}
