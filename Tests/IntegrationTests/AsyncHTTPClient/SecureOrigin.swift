#if AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A server that speaks TLS, and HTTP/2 or HTTP/1.1 as the client prefers: what the scripted test server does not.
///
/// - `/version` answers the protocol that was agreed on.
/// - `/echo` sends back what comes, as it comes.
/// - `/stall` answers a head and half of its body.
/// - `/zeros/<count>` answers so many zeros.
/// - `/reset` ends the stream in the middle.
/// - `/status/<code>` answers with a status, whatever it is.
/// - `/early` answers in full at the head, and then wants no more of the request.
/// - `/refused` answers 413 in full at the head, and reads no more of the request.
/// - `/poison` answers in full, and sends the start of another response behind that (HTTP/1.1).
final class SecureOrigin: Sendable {
    let port: Int
    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup

    private init(_ channel: any Channel, _ group: MultiThreadedEventLoopGroup) {
        self.channel = channel
        self.group = group
        port = channel.localAddress?.port ?? 0
    }

    /// Starts a server, and stops it when the closure is done.
    static func run<Result>(
        with certificate: Certificates.Identity,
        speaking protocols: [String] = ["h2", "http/1.1"],
        _ body: nonisolated(nonsending) (SecureOrigin) async throws -> Result
    ) async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.chain).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem))
        )
        tls.applicationProtocols = protocols
        let context = try NIOSSLContext(configuration: tls)
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop
                    .makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    .flatMap {
                        channel.configureHTTP2SecureUpgrade(
                            h2ChannelConfigurator: { channel in
                                channel.configureHTTP2Pipeline(mode: .server) { stream in
                                    stream.eventLoop.makeCompletedFuture {
                                        try stream.pipeline.syncOperations.addHandlers([
                                            HTTP2FramePayloadToHTTP1ServerCodec(), Responder(version: "h2"),
                                        ])
                                    }
                                }
                                .map { _ in }
                            },
                            http1ChannelConfigurator: { channel in
                                channel.eventLoop.makeCompletedFuture {
                                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                                    try channel.pipeline.syncOperations.addHandler(Responder(version: "http/1.1"))
                                }
                            }
                        )
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let origin = SecureOrigin(channel, group)
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
    private var path = ""

    init(version: String) {
        self.version = version
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            path = head.uri
            if path == "/echo" {
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
            answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        switch path {
        case "/early", "/refused":
            return
        case "/poison":
            // One flush for all, so that the poison is there before the next request.
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "2"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "ok")))), promise: nil)
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
            let poison = ByteBuffer(string: "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nX-Swallowed: ")
            // Behind the encoder, where bytes go to TLS as they are.
            let encoder = try? context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
            encoder?.writeAndFlush(NIOAny(poison), promise: nil)
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

    private func respond(_ context: ChannelHandlerContext, _ fields: HTTPHeaders = [:], _ bytes: ByteBuffer? = nil) {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if let bytes {
            context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        }
        context.flush()
    }
}
#endif
