#if !URLSession
public import NetworkingCore

/// A placeholder for the transport in builds without the trait `URLSession`, so that the compiler's error names the
/// trait.
@available(
    *,
    unavailable,
    message: "URLSessionTransport needs the trait URLSession of swift-networking: .package(url: …, traits: [.defaults])"
)
public struct URLSessionTransport: NetworkingComponent {
    /// Unavailable without the trait.
    public init() {}

    /// Unavailable without the trait.
    public func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        throw NetworkingError(.invalidRequest, request: request)
    }
}
#endif
