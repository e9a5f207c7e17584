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
    /// | `retry()` | what may be sent again is, three attempts in all, with a budget |
    /// | `deduplicated()` | the same request at the same time is one exchange |
    /// | `cached()` | by RFC 9111, in memory |
    ///
    /// Logs, servers and credentials are each API client's, around it. Requests that such an API client has authenticated bring credentials
    /// that this stack cannot tell the users of apart, and so pass the cache and share no exchange with another credential.
    ///
    /// ```swift
    /// let client = NetworkClient.live(over: AsyncHTTPClientTransport())
    /// ```
    ///
    /// - Parameter transport: The transport, or a stack around one.
    /// - Returns: A client with a stack of its own, the same for each of its callers.
    public static func live(over transport: some NetworkingComponent) -> NetworkClient {
        NetworkClient(
            transport
                .timeout(head: .seconds(30), idle: .seconds(30))
                .throttled(maxPerHost: 6)
                .retry()
                .deduplicated()
                .cached()
        )
    }
}
