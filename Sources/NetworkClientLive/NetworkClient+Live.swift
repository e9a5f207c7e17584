public import NetworkClient
public import Networking

extension NetworkClient {
    /// A production stack over a transport of the app's choice.
    ///
    /// From the transport outwards:
    ///
    /// | | |
    /// |---|---|
    /// | `timeout(head: .seconds(30), idle: .seconds(30))` | an attempt whose server goes silent ends; a long download that goes on does not |
    /// | `throttled(maxPerHost: 6)` | as many requests to a host at a time as browsers make over HTTP/1.1 |
    /// | `retry()` | a request that may be sent again is retried up to three times, so four attempts in all, with a budget |
    /// | `deduplicated()` | the same request at the same time is one exchange |
    /// | `cached(in: cache)` | by RFC 9111, in the client's cache |
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
    /// - Returns: A client with a stack of its own, the same for each of its callers.
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
