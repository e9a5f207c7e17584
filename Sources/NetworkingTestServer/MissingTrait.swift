#if !TestServer
/// A placeholder for the server in builds without the trait `TestServer`.
///
/// The compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        TestServer needs the trait TestServer of swift-networking: \
        .package(url: …, traits: [.defaults, "TestServer"])
        """
)
public final class TestServer: Sendable {
    init() {}
}

/// A placeholder for the function in builds without the trait `TestServer`.
///
/// The compiler's error names the trait.
@available(
    *,
    unavailable,
    message: """
        withTestServer(_:) needs the trait TestServer of swift-networking: \
        .package(url: …, traits: [.defaults, "TestServer"])
        """
)
public func withTestServer<Result>(port: Int = 0, _ body: (TestServer) async throws -> Result) async throws -> Result {
    try await body(TestServer())
}
#endif

#if TestServer && !SecureTestServer
extension TestServer {
    /// Replaces the settings of TLS in builds without the trait `SecureTestServer`, so that the compiler's error names
    /// it.
    @available(
        *,
        unavailable,
        message: """
            TestServer.TLS needs the trait SecureTestServer of swift-networking: \
            .package(url: …, traits: [.defaults, "SecureTestServer"])
            """
    )
    public struct TLS: Sendable {}
}
#endif
