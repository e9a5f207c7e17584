#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The server of the benchmarks, which runs in its own process so that its work is not counted as the client's.
///
/// The program starts itself with the argument `serve`. It prints its port, and ends when its standard input closes or
/// after its time limit.
enum BenchmarkServer {
    /// The longest time that a server runs, in seconds, in case its parent never closes its standard input.
    private static let timeLimit: UInt32 = 900

    /// Serves requests over HTTP/1.1.
    static func serve() async throws -> Never {
        try await serve { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                try channel.pipeline.syncOperations.addHandler(Responder())
            }
        }
    }

    /// Serves requests on loopback until the standard input closes, over connections that a closure configures.
    ///
    /// - Parameters:
    ///   - segmentSize: The maximum size of a TCP segment, in bytes; `nil` for that of loopback, 64 KiB.
    ///   - configure: Adds the handlers of a connection.
    /// - Throws: The error of the socket.
    static func serve(
        segmentSize: SocketOptionValue? = nil,
        _ configure: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> Never {
        alarm(timeLimit)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer(configure)
        if let segmentSize {
            let option = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_MAXSEG))
            bootstrap = bootstrap.serverChannelOption(option, value: segmentSize)
        }
        let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))
        while !FileHandle.standardInput.availableData.isEmpty {}
        exit(0)
    }
}

/// Responds to `/bytes/COUNT/NUMBER` with up to 10 MiB, to `/mebibytes/COUNT` with more, to `/json/NUMBER` with a
/// list of users, and to everything else with 1 KiB.
///
/// The response to `/slow/MILLISECONDS/NUMBER` comes later, and that to `/held/COUNT` when so many others are late. The
/// bodies of requests are discarded.
final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let small = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1 << 10)
    private static let mebibyte = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1 << 20)
    private static let large = ByteBuffer(repeating: UInt8(ascii: "x"), count: 10 << 20)
    private static let users = ByteBuffer(bytes: (try? JSONEncoder().encode(User.samples)) ?? Data())
    /// The number of responses that are late.
    private static let late = Atomic(0)

    private var path: [Substring] = []
    private var body = small
    /// The number of times that the body is still to be sent.
    private var rest = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            path = head.uri.split(separator: "/")
        case .body:
            break
        case .end:
            let number = path.dropFirst().first.flatMap { Int($0) } ?? 0
            switch path.first {
            case "slow":
                Self.late.add(1, ordering: .relaxed)
                context.eventLoop.assumeIsolated()
                    .scheduleTask(in: .milliseconds(Int64(number))) {
                        Self.late.subtract(1, ordering: .relaxed)
                        self.respond(context, with: Self.small)
                    }
            case "held": respond(context, whenLate: number)
            case "bytes": respond(context, with: Self.large.getSlice(at: 0, length: number) ?? Self.large)
            case "json": respond(context, with: Self.users)
            case "mebibytes": respond(context, with: Self.mebibyte, times: number)
            default: respond(context, with: Self.small)
            }
        }
    }

    private func respond(_ context: ChannelHandlerContext, whenLate count: Int) {
        guard Self.late.load(ordering: .relaxed) < count else { return respond(context, with: Self.small) }
        context.eventLoop.assumeIsolated()
            .scheduleTask(in: .milliseconds(10)) { self.respond(context, whenLate: count) }
    }

    private func respond(_ context: ChannelHandlerContext, with body: ByteBuffer, times: Int = 1) {
        (self.body, rest) = (body, times)
        var fields: HTTPHeaders = [
            "Content-Type": "application/octet-stream",
            "Content-Length": "\(body.readableBytes * rest)",
            "Cache-Control": "no-store",
            "Server": "benchmark",
        ]
        if rest > 1 {
            // The download can be resumed, so the library stores its state too.
            fields.add(name: "ETag", value: "\"1\"")
        }
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        send(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        send(context)
        context.fireChannelWritabilityChanged()
    }

    /// Sends as much as the client takes.
    private func send(_ context: ChannelHandlerContext) {
        while rest > 0, context.channel.isWritable {
            rest -= 1
            let chunk = wrapOutboundOut(.body(.byteBuffer(body)))
            if rest > 0 {
                // Writing may report that the channel is writable again.
                context.writeAndFlush(chunk, promise: nil)
            } else {
                context.write(chunk, promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}

/// The element of the JSON response.
struct User: Codable, Sendable {
    let id: Int
    let name: String
    let email: String
    let isActive: Bool
    let score: Double

    /// A response of about 2 KiB.
    static let samples = (1...20)
        .map { id in
            User(
                id: id,
                name: "User number \(id)",
                email: "user\(id)@example.com",
                isActive: id % 3 > 0,
                score: 1.5 * Double(id)
            )
        }
}
#endif
