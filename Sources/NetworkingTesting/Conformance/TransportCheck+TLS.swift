#if SecureTestServer
public import NetworkingTestServer
public import NetworkingCore

extension TransportCheck {
    /// Runs the check on a transport, with its own server that speaks TLS.
    ///
    /// The transport must trust the authority of the server's certificate, such as `TestServer.TLS.loopbackAuthority`.
    /// The checks that need the bytes of HTTP/1.1 fail over HTTP/2, where a server cannot send them. The check ends
    /// within three minutes, even if the transport never returns.
    ///
    /// - Parameters:
    ///   - transport: The transport, or a stack that ends in it.
    ///   - tls: The certificate and the protocols of the server.
    /// - Throws: ``ConformanceFailure`` with the expected and the actual outcome; `CancellationError` if the caller is
    ///   cancelled.
    public func run(on transport: some NetworkingComponent, tls: TestServer.TLS) async throws {
        let transport = AnyNetworkingComponent(transport)
        try await run(servedBy: { try await withTestServer(tls: tls, $0) }, on: { _ in transport })
    }
}
#endif
