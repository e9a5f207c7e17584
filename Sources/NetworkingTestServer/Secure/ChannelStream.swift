#if SecureTestServer
import CLibraryForNetworking
import FoundationForNetworking
import NIOCore
import NIOSSL
import Synchronization

/// The bytes of a connection or of an HTTP/2 stream, read from its channel on demand.
final class ChannelStream: ByteStream {
    private let channel: any Channel
    /// Whether the channel is one of several streams on a connection.
    private let isMultiplexed: Bool
    private let state = Mutex(State())

    private struct State {
        var bytes = ByteBuffer()
        var isEnded = false
        var resetsAtClose = false
        /// Opened when bytes or the end arrive.
        var arrival: Gate?
    }

    private init(_ channel: any Channel, isMultiplexed: Bool) {
        self.channel = channel
        self.isMultiplexed = isMultiplexed
    }

    /// Adds the last handler to a channel, and returns the stream of its bytes.
    static func add(to channel: any Channel, isMultiplexed: Bool = false) -> EventLoopFuture<ChannelStream> {
        let stream = ChannelStream(channel, isMultiplexed: isMultiplexed)
        return channel.setOption(.autoRead, value: false)
            .flatMapThrowing {
                try channel.pipeline.syncOperations.addHandler(Intake(stream: stream))
                return stream
            }
    }

    func read(atMost count: Int) async throws -> [UInt8]? {
        while true {
            let gate = Gate()
            let (bytes, isEnded) = state.withLock { state -> ([UInt8]?, Bool) in
                let available = min(count, state.bytes.readableBytes)
                if available > 0 {
                    defer { state.bytes.discardReadBytes() }
                    return (state.bytes.readBytes(length: available), false)
                }
                state.arrival = gate
                return (nil, state.isEnded)
            }
            if let bytes { return bytes }
            if isEnded { return nil }
            channel.read()
            try await gate.wait()
        }
    }

    func write(_ data: Data) async throws {
        try Task.checkCancellation()
        try await withTaskCancellationHandler {
            try await channel.writeAndFlush(ByteBuffer(bytes: data)).get()
        } onCancel: {
            // A client that reads nothing must not keep the server from stopping.
            channel.close(promise: nil)
        }
    }

    func resetAtClose() {
        state.withLock { $0.resetsAtClose = true }
    }

    func closeForWriting() {
        // A multiplexed stream cannot end before its message is complete, so it is reset.
        channel.close(mode: isMultiplexed ? .all : .output, promise: nil)
    }

    func close() async {
        if !isMultiplexed, state.withLock({ $0.resetsAtClose }) {
            try? await reset()
        }
        try? await channel.close()
    }

    /// Closes the connection below TLS, without the `close_notify` alert that TLS would send.
    private func reset() async throws {
        let channel = channel
        try await channel.eventLoop
            .flatSubmit {
                let setting = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                return (setting ?? channel.eventLoop.makeSucceededVoidFuture())
                    .flatMapThrowing {
                        try channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
                    }
                    .flatMap { $0.close() }
            }
            .get()
    }

    fileprivate func receive(_ bytes: ByteBuffer) {
        var bytes = bytes
        update { $0.bytes.writeBuffer(&bytes) }
    }

    fileprivate func end() {
        update { $0.isEnded = true }
    }

    private func update(_ change: (inout State) -> Void) {
        let arrival = state.withLock { state in
            change(&state)
            defer { state.arrival = nil }
            return state.arrival
        }
        arrival?.open()
    }
}

/// Passes the bytes and the end of a channel to its stream.
private final class Intake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let stream: ChannelStream

    init(stream: ChannelStream) {
        self.stream = stream
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        stream.receive(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        stream.end()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent {
            stream.end()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        stream.end()
        context.close(promise: nil)
    }
}
#endif
