#if URLSession
public import NetworkClient
import Networking

extension NetworkClient {
    /// The production stack over URLSession, one for the whole process: all who ask share its slots, its cache and its
    /// budget.
    ///
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
    /// ``live(over:)`` says what is in it. Its session is its own and stores nothing on disk but cookies, in the shared
    /// storage.
    public static let live = NetworkClient.live(over: URLSessionTransport())
}
#endif
