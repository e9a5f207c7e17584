#if !AsyncHTTPClient
public import NetworkingCore

/// Replaces the transport in builds without the trait `AsyncHTTPClient`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        AsyncHTTPClientTransport needs the trait AsyncHTTPClient of swift-networking: \
        .package(url: …, traits: [.defaults, "AsyncHTTPClient"])
        """
)
public struct AsyncHTTPClientTransport: NetworkingComponent {
    /// Unavailable without the trait.
    public init() {}

    /// Unavailable without the trait.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        throw NetworkingError(.invalidRequest, request: request)
    }
}
#endif
