#if !TestServer
/// Stands in for the server in builds without the trait `TestServer`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message:
        "TestServer needs the trait TestServer of swift-networking: .package(url: …, traits: [.defaults, \"TestServer\"])"
)
public final class TestServer: Sendable {
    init() {}
}

/// Stands in for the function in builds without the trait `TestServer`, so that the compiler's error names the trait.
@available(
    *,
    unavailable,
    message:
        "withTestServer(_:) needs the trait TestServer of swift-networking: .package(url: …, traits: [.defaults, \"TestServer\"])"
)
public func withTestServer<Result>(port: Int = 0, _ body: (TestServer) async throws -> Result) async throws -> Result {
    try await body(TestServer())
}
#endif
