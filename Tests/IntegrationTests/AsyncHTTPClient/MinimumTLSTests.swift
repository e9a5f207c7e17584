#if AsyncHTTPClient && SecureTestServer
import AsyncHTTPClient
import Networking
import NetworkingAsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport
import Testing

extension Loopback {
    /// The oldest version of TLS that a transport accepts.
    @Suite(.timeLimit(.minutes(20)))
    struct MinimumTLSTests {
        /// Trusts the tests' authority in a configuration that sets no other value of TLS.
        private func trusting(_ configuration: HTTPClient.Configuration) throws -> HTTPClient.Configuration {
            var configuration = configuration
            configuration.tlsConfiguration?.trustRoots = .file(TestCertificates.authority)
            return configuration
        }

        private func error(
            from transport: some NetworkingComponent,
            withServerUpTo version: TLSVersion
        ) async throws -> NetworkingError? {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(TestCertificates.Identity.trusted.chain)
                    .map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: TestCertificates.Identity.trusted.key, format: .pem))
            )
            configuration.minimumTLSVersion = .tlsv1
            configuration.maximumTLSVersion = version
            let context = try NIOSSLContext(configuration: configuration)
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                        try channel.pipeline.syncOperations.addHandler(Greeter())
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let port = listener.localAddress?.port ?? 0
            let result = await Result {
                try await transport.data(HTTPRequestData(scheme: "https", authority: "127.0.0.1:\(port)", path: "/"))
            }
            try await listener.close()
            if case .failure(let error) = result { return error as? NetworkingError }
            return nil
        }

        /// Responds to the first bytes.
        private final class Greeter: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            typealias OutboundOut = ByteBuffer

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let response = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                context.writeAndFlush(wrapOutboundOut(response), promise: nil)
            }
        }

        @Test(arguments: [TLSVersion.tlsv1, .tlsv11])
        func standardConfigurationRefusesOldVersions(version: TLSVersion) async throws {
            let transport = AsyncHTTPClientTransport(configuration: try trusting(.networking))
            #expect(try await error(from: transport, withServerUpTo: version)?.kind == .tls)
            #expect(try await error(from: transport, withServerUpTo: .tlsv12) == nil)
            #expect(transport.diagnostics.isEmpty)
            let client = HTTPClient(configuration: try trusting(.networking))
            #expect(try await error(from: client, withServerUpTo: version)?.kind == .tls)
            #expect(client.diagnostics.isEmpty)
            try await client.shutdown()
        }

        @Test func configurationWithoutTLSSettingsRequiresTheSame() async throws {
            let transport = AsyncHTTPClientTransport(configuration: HTTPClient.Configuration())
            #expect(transport.diagnostics.isEmpty)
        }

        @Test func diagnosticsReportAnOlderMinimum() async throws {
            var configuration = HTTPClient.Configuration.networking
            configuration.tlsConfiguration = .makeClientConfiguration()
            configuration = try trusting(configuration)
            let transport = AsyncHTTPClientTransport(configuration: configuration)
            #expect(try await error(from: transport, withServerUpTo: .tlsv1) == nil)
            #expect(transport.diagnostics.map(\.message).first?.contains("TLS 1.0") == true)
            let client = HTTPClient(configuration: configuration)
            #expect(client.diagnostics.map(\.message).first?.contains("minimumTLSVersion") == true)
            try await client.shutdown()
            let trusted = try AsyncHTTPClientTransport(configuration: configuration, trust: ServerTrust())
            #expect(trusted.diagnostics.isEmpty)
        }
    }
}
#endif
