#if URLSession
public import NetworkClient
import Networking

extension NetworkClient {
    /// The production stack over URLSession, one for the whole process: all API clients share its limits, its cache and
    /// its retry budget.
    ///
    /// <!-- snippet: fragment SwiftUI -->
    /// ```swift
    /// @main
    /// struct ShopApp: App {
    ///     var body: some Scene {
    ///         WindowGroup { ContentView() }
    ///             .environment(\.networkClient, .live)
    ///     }
    /// }
    /// ```
    ///
    /// It makes at most six connections to a host over HTTP/1.1, and an open stream holds one. For more streams to a
    /// host, create a client with a transport that allows more:
    /// `.live(over: URLSessionTransport(maximumConnectionsPerHost: 32))`.
    ///
    /// ``live(over:preset:cache:)`` describes its modifiers. The stack has its own session, which stores nothing on
    /// disk except cookies, in the shared storage.
    public static let live = NetworkClient.live(over: URLSessionTransport())
}
#endif
