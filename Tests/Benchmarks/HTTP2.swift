#if URLSession && AsyncHTTPClient && SQLite && Telemetry && SecureTestServer
import Foundation
import NIOCore
import NIOHTTP2
import NIOSSL
import NetworkingTestServer

/// A server of HTTP/2, and how the clients trust it.
enum HTTP2 {
    /// The settings of AsyncHTTPClient, without the system's authorities, which did not issue the server's certificate.
    static var client: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        return configuration
    }

    #if canImport(FoundationNetworking)
    private typealias Pointer = UnsafeMutableRawPointer
    private typealias Callback = @convention(c) (Pointer?, Pointer?, Pointer?, CInt, CLong, Pointer?) -> Void
    private typealias NewIndex = @convention(c) (CInt, CLong, Pointer?, Callback?, Pointer?, Pointer?) -> CInt
    private typealias LoadLocations = @convention(c) (Pointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> CInt

    private static let loadLocations = dlsym(nil, "SSL_CTX_load_verify_locations")
        .map { unsafeBitCast($0, to: LoadLocations.self) }
    private static let authorityFile = FileManager.default.temporaryDirectory
        .appending(path: "networking-benchmarks-authority-\(ProcessInfo.processInfo.processIdentifier).pem").path

    /// Whether URLSession in this process trusts the server.
    ///
    /// It has no setting for that on Linux, so OpenSSL calls a closure for each of its contexts.
    static let isTrustedByURLSession: Bool = {
        guard loadLocations != nil, let newIndex = dlsym(nil, "CRYPTO_get_ex_new_index"),
            (try? TestServer.TLS.loopbackAuthority.write(toFile: authorityFile, atomically: true, encoding: .utf8))
                != nil
        else { return false }
        atexit { unlink(authorityFile) }
        let classOfContexts: CInt = 1
        let callback: Callback = { context, _, _, _, _, _ in _ = loadLocations?(context, authorityFile, nil) }
        return unsafeBitCast(newIndex, to: NewIndex.self)(classOfContexts, 0, nil, callback, nil, nil) >= 0
    }()
    #else
    static let isTrustedByURLSession = false
    #endif

    /// The bytes of a stream and of a connection that the server accepts ahead.
    private static let window = 1 << 20
    /// The maximum size of a TCP segment, in bytes.
    ///
    /// A receive buffer of Linux starts with room for a single segment of loopback. When it is full, TCP waits up to
    /// 200 ms before it sends more.
    private static let segmentSize: SocketOptionValue = 16 << 10

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
        // libcurl resets most streams, and by default the server closes a connection after 200 resets in 30 seconds.
        var streams = NIOHTTP2Handler.StreamConfiguration()
        streams.streamResetFrameRateLimit.windowLength = .milliseconds(1)
        // Otherwise an upload waits for the server after each 64 KiB.
        streams.targetWindowSize = window
        var connections = NIOHTTP2Handler.ConnectionConfiguration()
        connections.targetWindowSize = window
        connections.initialSettings.append(HTTP2Setting(parameter: .initialWindowSize, value: window))
        try await BenchmarkServer.serve(segmentSize: segmentSize) { [streams, connections] channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers([
                    NIOSSLServerHandler(context: context),
                    NIOHTTP2Handler(
                        mode: .server,
                        eventLoop: channel.eventLoop,
                        connectionConfiguration: connections,
                        streamConfiguration: streams
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
