#if URLSession && AsyncHTTPClient && SQLite
import NIOCore
import NIOHTTP1
import NIOPosix

/// A server that costs as little as it can, so that what is measured is the client: one event loop, answers made once.
final class LoopbackServer: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    let port: Int

    private init(group: MultiThreadedEventLoopGroup, channel: any Channel) {
        self.group = group
        self.channel = channel
        port = channel.localAddress?.port ?? 0
    }

    static func start() async throws -> LoopbackServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(Responder())
                }
            }
        return LoopbackServer(group: group, channel: try await bootstrap.bind(host: "127.0.0.1", port: 0).get())
    }

    func stop() async throws {
        try await channel.close()
        try await group.shutdownGracefully()
    }
}

/// Answers `/large` with 10 MiB, `/gibibyte` with 1 GiB and everything else with 1 KiB.
private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let small = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1 << 10)
    private static let mebibyte = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1 << 20)
    private static let large = ByteBuffer(repeating: UInt8(ascii: "x"), count: 10 << 20)

    private var body = small
    /// How many times the body is still to be sent.
    private var rest = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            (body, rest) =
                switch head.uri {
                case "/large": (Self.large, 1)
                case "/gibibyte": (Self.mebibyte, 1_024)
                default: (Self.small, 1)
                }
        case .body:
            break
        case .end:
            var fields: HTTPHeaders = [
                "Content-Type": "application/octet-stream",
                "Content-Length": "\(body.readableBytes * rest)",
                "Cache-Control": "no-store",
                "Server": "benchmark",
            ]
            if rest > 1 {
                // What comes can be gone on with, so the state of a download is written too.
                fields.add(name: "ETag", value: "\"1\"")
            }
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            send(context)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        send(context)
        context.fireChannelWritabilityChanged()
    }

    /// Sends as much as the client takes.
    private func send(_ context: ChannelHandlerContext) {
        while rest > 0, context.channel.isWritable {
            rest -= 1
            let piece = wrapOutboundOut(.body(.byteBuffer(body)))
            if rest > 0 {
                // It may be told meanwhile that there is room again.
                context.writeAndFlush(piece, promise: nil)
            } else {
                context.write(piece, promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
#endif
