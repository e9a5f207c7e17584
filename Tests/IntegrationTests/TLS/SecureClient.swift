#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NIOSSL
import Testing

/// The transports that the tests of TLS run over.
enum SecureClient: String, CaseIterable, Sendable {
    case asyncHTTPClient
    #if URLSession && canImport(FoundationNetworking)
    case urlSession
    #endif

    /// Runs a server that speaks TLS, and a stack with a transport and the URL of the server.
    ///
    /// - Parameters:
    ///   - authority: The certificate of the authority that the transport trusts; `nil` for those of the system.
    ///   - identity: The certificate of the server.
    ///   - protocols: The protocols that the server accepts, the preferred one first.
    ///   - handshake: How far the server goes with a handshake.
    ///   - options: Other settings of the server.
    ///   - body: Sends requests, and checks the requests and connections of the server.
    /// - Throws: The error of the body, or of the server if it does not start.
    func run(
        trusting authority: String? = TestCertificates.authority,
        presenting identity: TestCertificates.Identity = .trusted,
        speaking protocols: [String] = ["h2", "http/1.1"],
        handshake: SecureOrigin.Handshake = .complete,
        options: SecureOrigin.Options = SecureOrigin.Options(),
        _ body: nonisolated(nonsending) (AnyNetworkingComponent, SecureOrigin) async throws -> Void
    ) async throws {
        try await SecureOrigin.run(
            with: identity,
            speaking: protocols,
            handshake: handshake,
            options: options
        ) { origin in
            let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)"))
            switch self {
            case .asyncHTTPClient:
                var configuration = HTTPClient.Configuration.networking
                if let authority {
                    var tls = TLSConfiguration.makeClientConfiguration()
                    tls.trustRoots = .file(authority)
                    configuration.tlsConfiguration = tls
                }
                let transport = AsyncHTTPClientTransport(configuration: configuration)
                try await transport.untilShutDown {
                    try await body(AnyNetworkingComponent(transport.server(baseURL: url)), origin)
                }
            #if URLSession && canImport(FoundationNetworking)
            case .urlSession:
                try #require(TrustedAuthority.isAvailable, "This libcurl does not use an OpenSSL that can be called.")
                try await TrustedAuthority.trusting(authority) {
                    let transport = URLSessionTransport(configuration: .ephemeral)
                    try await body(AnyNetworkingComponent(transport.server(baseURL: url)), origin)
                }
            #endif
            }
        }
    }
}
#endif
