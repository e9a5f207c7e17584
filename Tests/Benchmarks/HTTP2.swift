#if URLSession && AsyncHTTPClient && SQLite && Telemetry && SecureTestServer
import AsyncHTTPClient
import NIOCore
import NIOHTTP2
import NIOSSL
import NetworkingAsyncHTTPClient
import NetworkingTestServer

/// The stack of an app over HTTP/2, relative to AsyncHTTPClient alone.
enum HTTP2 {
    static func measure() async throws -> [Row] {
        // The authority of the server's certificate is not one of the system's.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        var client = HTTPClient.Configuration()
        client.tlsConfiguration = tls
        var transport = HTTPClient.Configuration.networking
        transport.tlsConfiguration = tls
        return try await TransportRatio.measureHTTP2(client: client, transport: transport)
    }

    /// Serves requests over HTTP/2.
    static func serve() async throws -> Never {
        let identity = TestServer.TLS.loopback
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(identity.certificateChain.utf8))
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem))
        )
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        try await BenchmarkServer.serve { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers([
                    NIOSSLServerHandler(context: context),
                    NIOHTTP2Handler(
                        mode: .server,
                        eventLoop: channel.eventLoop,
                        connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration(),
                        streamConfiguration: NIOHTTP2Handler.StreamConfiguration()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            let handlers: [any ChannelHandler] = [HTTP2FramePayloadToHTTP1ServerCodec(), Responder()]
                            try stream.pipeline.syncOperations.addHandlers(handlers)
                        }
                    },
                ])
            }
        }
    }
}
#endif
