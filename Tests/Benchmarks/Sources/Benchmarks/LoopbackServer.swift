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

/// Answers `/large` with 10 MiB and everything else with 1 KiB.
private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let small = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1 << 10)
    private static let large = ByteBuffer(repeating: UInt8(ascii: "x"), count: 10 << 20)

    private var body = small

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            body = head.uri == "/large" ? Self.large : Self.small
        case .body:
            break
        case .end:
            let fields: HTTPHeaders = [
                "Content-Type": "application/octet-stream",
                "Content-Length": "\(body.readableBytes)",
                "Cache-Control": "no-store",
                "Server": "benchmark",
            ]
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
