#if Valkey
import NIOCore
import NIOPosix
import NetworkingValkey
import Synchronization

/// A relay on loopback in front of a server, which delays, replaces or cuts the replies of the server.
final class FaultyProxy: Sendable {
    /// What happens to replies.
    enum Fault: Sendable {
        case delayed(milliseconds: Int64)
        /// Other bytes arrive, which are no reply.
        case garbage
        /// A part of a reply arrives, and the connection ends.
        case cut
    }

    private let channel: any Channel
    private let fault: SharedFault

    private init(channel: any Channel, fault: SharedFault) {
        (self.channel, self.fault) = (channel, fault)
    }

    var address: ValkeyAddress {
        .host("127.0.0.1", port: channel.localAddress?.port ?? 0)
    }

    /// Sets the fault of the replies from now on; `nil` for none.
    func set(_ fault: Fault?) {
        self.fault.value.withLock { $0 = fault }
    }

    /// Runs the body with a relay.
    ///
    /// - Parameters:
    ///   - port: The port of the server.
    ///   - body: The use of the relay.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body.
    static func run<Result>(before port: Int, _ body: (FaultyProxy) async throws -> Result) async throws -> Result {
        let fault = SharedFault()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { server in
                        server.eventLoop.makeCompletedFuture {
                            try server.pipeline.syncOperations.addHandler(Relay(to: client, fault))
                        }
                    }
                    .connect(host: "127.0.0.1", port: port)
                    .flatMapThrowing { server in
                        try client.pipeline.syncOperations.addHandler(Relay(to: server, nil))
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let proxy = FaultyProxy(channel: channel, fault: fault)
        do {
            let result = try await body(proxy)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    private final class SharedFault: Sendable {
        let value = Mutex<Fault?>(nil)
    }

    /// Passes the bytes of one end of a connection to the other end.
    private final class Relay: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let peer: any Channel
        private let fault: SharedFault?
        /// The moment before which nothing is passed on, so that delayed bytes stay in order.
        private var earliest = NIODeadline.now()

        init(to peer: any Channel, _ fault: SharedFault?) {
            (self.peer, self.fault) = (peer, fault)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            switch fault?.value.withLock({ $0 }) {
            case nil:
                pass(bytes)
            case .delayed(let delay):
                earliest = max(earliest, .now() + .milliseconds(delay))
                pass(bytes)
            case .garbage:
                pass(ByteBuffer(string: "\0garbage\r\n"))
            case .cut:
                pass(bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2) ?? bytes)
                peer.close(promise: nil)
            }
        }

        private func pass(_ bytes: ByteBuffer) {
            guard earliest > .now() else { return peer.writeAndFlush(bytes, promise: nil) }
            peer.eventLoop.scheduleTask(deadline: earliest) { [peer] in peer.writeAndFlush(bytes, promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            peer.close(promise: nil)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
#endif
