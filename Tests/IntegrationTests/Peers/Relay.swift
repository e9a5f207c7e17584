#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// Passes bytes between clients and a server, at most a number of bytes of the server on each connection.
///
/// A transfer therefore cannot be complete when the server crashes. Over loopback alone, a client may have the last
/// byte before a test hears of the first one.
final class Relay: Sendable {
    let port: Int
    private let listener: any Channel
    private let limit: Limit

    /// The limit, which all connections share.
    fileprivate final class Limit: Sendable {
        let count: Int
        let isActive = Atomic(true)

        init(count: Int) {
            self.count = count
        }
    }

    private init(_ listener: any Channel, _ limit: Limit) {
        self.listener = listener
        self.limit = limit
        port = listener.localAddress?.port ?? 0
    }

    /// Passes all bytes from now on.
    func endLimit() {
        limit.isActive.store(false, ordering: .relaxed)
    }

    /// Runs an operation with a relay to a port of loopback.
    ///
    /// - Parameters:
    ///   - target: The port of the server.
    ///   - count: The number of bytes of the server that pass.
    ///   - operation: The operation.
    /// - Throws: The error of the operation, or of the system.
    static func run(
        to target: Int,
        passing count: Int,
        _ operation: nonisolated(nonsending) (Relay) async throws -> Void
    ) async throws {
        let limit = Limit(count: count)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: target)
                    .flatMapThrowing { server in
                        try client.pipeline.syncOperations.addHandler(Passage(to: server, limit: nil))
                        try server.pipeline.syncOperations.addHandler(Passage(to: client, limit: limit))
                    }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let result = await Result { try await operation(Relay(listener, limit)) }
        try await listener.close()
        try result.get()
    }
}

/// One direction of a connection.
///
/// The end of one side ends the other.
private final class Passage: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let limit: Relay.Limit?
    private var count = 0

    init(to other: any Channel, limit: Relay.Limit?) {
        self.other = other
        self.limit = limit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if let limit, limit.isActive.load(ordering: .relaxed) {
            bytes = bytes.readSlice(length: min(bytes.readableBytes, limit.count - count)) ?? ByteBuffer()
            count += bytes.readableBytes
        }
        other.writeAndFlush(bytes, promise: nil)
    }

    /// Closes the other side after the bytes that it has not sent yet, which a close alone would drop.
    func channelInactive(context: ChannelHandlerContext) {
        other.writeAndFlush(ByteBuffer()).whenComplete { [other] _ in other.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
#endif
