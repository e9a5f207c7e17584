#if AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A server with TLS that does what the scripted test server does not offer: old versions of TLS, handshakes that are cut
/// off, and connections that end or continue where they must not.
///
/// - `/version` returns the negotiated protocol.
/// - `/echo` returns each chunk of the request when it arrives.
/// - `/accepted` sends a head at once, and its body when the request is complete.
/// - `/stall` sends a head and half of its body.
/// - `/zeros/<count>` returns that number of zeros.
/// - `/reset` ends the stream in the middle.
/// - `/stopped/<length>/<error>` sends four bytes of a body, and a reset with the number of an error.
/// - `/status/<code>` responds with any status.
/// - `/early` sends a complete response after the request head, and then stops reading the request.
/// - `/refused` sends a complete 413 after the request head, and stops reading the request.
///
/// The following are for HTTP/1.1. A connection is cut if it ends without a close_notify.
///
/// - `/poison` sends a complete response and then the start of another one.
/// - `/ended` sends a body that the end of the connection completes.
/// - `/cut` sends the same, and cuts the connection.
/// - `/abandoned` sends a body with a length, and cuts the connection.
/// - `/garbled` sends half of a body, and then bytes that are not TLS.
/// - `/silent` closes the connection without a response.
/// - `/silent/cut` cuts the connection without a response.
final class SecureOrigin: Sendable {
    /// How far the server goes with a handshake.
    enum Handshake: Sendable {
        case complete
        /// Closes the connection when the client has sent something.
        case cutAfterClientHello
        /// Closes the connection after the first bytes of the server's part.
        case cutWithinServerHello
    }

    /// The settings of the server that a test can change.
    struct Options: Sendable {
        /// The latest version of TLS: `1.1`, `1.2` or `1.3`.
        var maximumVersion = "1.3"
        /// The settings of HTTP/2.
        var settings = nioDefaultSettings
    }

    /// The connections and requests so far.
    fileprivate final class Log: Sendable {
        let connections = Mutex(0)
        let requests = Mutex<[String]>([])
    }

    let port: Int
    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup
    private let log: Log

    private init(_ channel: any Channel, _ group: MultiThreadedEventLoopGroup, _ log: Log) {
        self.channel = channel
        self.group = group
        self.log = log
        port = channel.localAddress?.port ?? 0
    }

    /// The number of connections that the server has accepted.
    var connections: Int { log.connections.withLock { $0 } }

    /// The requests with a head that the server has received, such as `GET /version`.
    var requests: [String] { log.requests.withLock { $0 } }

    /// Starts a server, and stops it when the closure is done.
    static func run<Result>(
        with certificate: TestCertificates.Identity,
        speaking protocols: [String] = ["h2", "http/1.1"],
        handshake: Handshake = .complete,
        options: Options = Options(),
        _ body: nonisolated(nonsending) (SecureOrigin) async throws -> Result
    ) async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let chain = try NIOSSLCertificate.fromPEMFile(certificate.chain)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem))
        )
        tls.minimumTLSVersion = .tlsv1
        tls.maximumTLSVersion = ["1.1": .tlsv11, "1.2": .tlsv12][options.maximumVersion]
        tls.applicationProtocols = protocols
        // A client that is gone does not confirm the end.
        tls.shutdownTimeout = .milliseconds(100)
        let context = try NIOSSLContext(configuration: tls)
        let log = Log()
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                log.connections.withLock { $0 += 1 }
                return channel.eventLoop
                    .makeCompletedFuture {
                        if handshake != .complete {
                            try channel.pipeline.syncOperations.addHandler(HandshakeCutter(handshake))
                        }
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    .flatMap {
                        channel.configureHTTP2SecureUpgrade(
                            h2ChannelConfigurator: { channel in
                                channel.configureHTTP2Pipeline(
                                    mode: .server,
                                    initialLocalSettings: options.settings
                                ) { stream in
                                    stream.eventLoop.makeCompletedFuture {
                                        try stream.pipeline.syncOperations.addHandlers([
                                            HTTP2FramePayloadToHTTP1ServerCodec(),
                                            Responder(version: "h2", log),
                                        ])
                                    }
                                }
                                .map { _ in }
                            },
                            http1ChannelConfigurator: { channel in
                                channel.eventLoop.makeCompletedFuture {
                                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                                    let responder = Responder(version: "http/1.1", log)
                                    try channel.pipeline.syncOperations.addHandler(responder)
                                }
                            }
                        )
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let origin = SecureOrigin(channel, group, log)
        do {
            let result = try await body(origin)
            try await origin.stop()
            return result
        } catch {
            try? await origin.stop()
            throw error
        }
    }

    private func stop() async throws {
        try await channel.close()
        try await group.shutdownGracefully()
    }
}

private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let version: String
    private let log: SecureOrigin.Log
    private var path = ""

    init(version: String, _ log: SecureOrigin.Log) {
        self.version = version
        self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            path = head.uri
            log.requests.withLock { $0.append("\(head.method) \(head.uri)") }
            if path == "/echo" || path == "/accepted" {
                respond(context)
            } else if path == "/early" {
                respond(context, [:], ByteBuffer(string: "early"))
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            } else if path == "/refused" {
                context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
                let head = HTTPResponseHead(
                    version: .http1_1,
                    status: .payloadTooLarge,
                    headers: ["Content-Length": "7"]
                )
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "refused")))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        case .body where path == "/early":
            context.close(promise: nil)
        case .body(let bytes):
            if path == "/echo" {
                context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
            }
        case .end:
            finish(context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        switch path {
        case "/early", "/refused":
            return
        case "/accepted":
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "accepted")))), promise: nil)
        case "/poison":
            // One flush for all, so that the poison is there before the next request.
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "2"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "ok")))), promise: nil)
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
            send("HTTP/1.1 200 OK\r\nX-Evil: 1\r\nX-Swallowed: ", context)
            return
        case "/ended":
            send("HTTP/1.1 200 OK\r\n\r\nwhole", context)
            context.close(promise: nil)
            return
        case "/cut":
            send("HTTP/1.1 200 OK\r\n\r\nwhole", context)
            cut(context)
            return
        case "/abandoned":
            send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole", context)
            cut(context)
            return
        case "/garbled":
            send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf", context)
            // A record of application data that cannot be decrypted.
            let record = ByteBuffer(bytes: [0x17, 0x03, 0x03, 0x00, 0x20] + [UInt8](repeating: 0, count: 32))
            security(context)?.writeAndFlush(NIOAny(record), promise: nil)
            return
        case "/silent":
            context.close(promise: nil)
            return
        case "/silent/cut":
            cut(context)
            return
        case "/echo":
            break
        case _ where path.hasPrefix("/status/"):
            let code = path.split(separator: "/").last.flatMap { UInt($0) } ?? 0
            let status = HTTPResponseStatus.custom(code: code, reasonPhrase: "Odd")
            let head = HTTPResponseHead(version: .http1_1, status: status)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
        case "/stall":
            respond(context, ["Content-Length": "8"], ByteBuffer(string: "half"))
            return
        case "/reset":
            respond(context, ["Content-Length": "8"], ByteBuffer(string: "half"))
            context.close(promise: nil)
            return
        case _ where path.hasPrefix("/stopped/"):
            let parts = path.split(separator: "/")
            respond(context, ["Content-Length": String(parts[1])], ByteBuffer(string: "half"))
            let frame = HTTP2Frame.FramePayload.rstStream(HTTP2ErrorCode(networkCode: Int(parts[2]) ?? 0))
            let codec = try? context.pipeline.syncOperations.context(
                handlerType: HTTP2FramePayloadToHTTP1ServerCodec.self
            )
            // After the current read, because a reset removes the bytes that are not written until then.
            context.eventLoop.assumeIsolated().execute { codec?.writeAndFlush(NIOAny(frame), promise: nil) }
            return
        case "/version":
            respond(context, [:], ByteBuffer(string: version))
        default:
            let count = path.split(separator: "/").last.flatMap { Int($0) } ?? 0
            respond(context, ["Content-Length": "\(count)"])
            for start in stride(from: 0, to: count, by: 1 << 20) {
                let bytes = ByteBuffer(repeating: 0, count: min(1 << 20, count - start))
                context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
            }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Sends bytes behind the encoder, where they go to TLS as they are.
    private func send(_ bytes: String, _ context: ChannelHandlerContext) {
        let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
        encoder?.writeAndFlush(NIOAny(ByteBuffer(string: bytes)), promise: nil)
    }

    /// Closes the connection below TLS.
    private func cut(_ context: ChannelHandlerContext) {
        security(context)?.close(promise: nil)
    }

    /// The context of TLS in the pipeline, with outbound events that go to the socket.
    private func security(_ context: ChannelHandlerContext) -> ChannelHandlerContext? {
        try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
    }

    private func respond(_ context: ChannelHandlerContext, _ fields: HTTPHeaders = [:], _ bytes: ByteBuffer? = nil) {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if let bytes {
            context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        }
        context.flush()
    }
}

/// Ends a connection during the handshake, between the socket and TLS.
private final class HandshakeCutter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let handshake: SecureOrigin.Handshake

    init(_ handshake: SecureOrigin.Handshake) {
        self.handshake = handshake
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if handshake == .cutAfterClientHello {
            context.close(promise: nil)
        } else {
            context.fireChannelRead(data)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        let start = bytes.readSlice(length: min(20, bytes.readableBytes)) ?? ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(start), promise: promise)
        context.close(promise: nil)
    }
}
#endif
