#if Valkey
import NIOCore
import NIOPosix
import Synchronization

@testable import NetworkingValkey

/// A server on loopback that answers each command as a test says.
final class FakeServer: Sendable {
    /// What a server does with a command.
    enum Answer: Sendable {
        case bytes(String)
        /// Bytes, and the end of the connection.
        case last(String)
        case nothing
    }

    /// A command, and the connection over which it came.
    struct Call: Sendable {
        let words: [String]
        /// The number of the connection, from 1.
        let connection: Int
    }

    private let channel: any Channel
    private let log: Log

    private init(channel: any Channel, log: Log) {
        (self.channel, self.log) = (channel, log)
    }

    var address: ValkeyAddress {
        .host("127.0.0.1", port: channel.localAddress?.port ?? 0)
    }

    /// The words of all commands.
    var commands: [[String]] {
        log.state.withLock { $0.calls.map(\.words) }
    }

    /// The number of connections that have been opened.
    var connections: Int {
        log.state.withLock { $0.connections }
    }

    /// Answers the greeting as a server with RESP3 does.
    static func greeting(_ call: Call) -> Answer? {
        call.words.first == "HELLO" ? .bytes("%1\r\n+proto\r\n:3\r\n") : nil
    }

    /// Runs the body with a server.
    ///
    /// - Parameters:
    ///   - answer: The answer to each command.
    ///   - body: The use of the server.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body.
    static func run<Result>(
        _ answer: @escaping @Sendable (Call) -> Answer,
        _ body: (FakeServer) async throws -> Result
    ) async throws -> Result {
        let log = Log()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(log: log, answer: answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = FakeServer(channel: channel, log: log)
        do {
            let result = try await body(server)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    private final class Log: Sendable {
        let state = Mutex<(calls: [Call], connections: Int)>(([], 0))
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let log: Log
        private let answer: @Sendable (Call) -> Answer
        private var decoder = RESPDecoder(maximumReplySize: 1 << 26)
        private var connection = 0

        init(log: Log, answer: @escaping @Sendable (Call) -> Answer) {
            (self.log, self.answer) = (log, answer)
        }

        func channelActive(context: ChannelHandlerContext) {
            connection = log.state.withLock { state in
                state.connections += 1
                return state.connections
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            decoder.append(unwrapInboundIn(data))
            while case .reply(let value) = try? decoder.next() {
                let words = (value.array ?? []).compactMap(\.bytes).map { String(decoding: $0, as: UTF8.self) }
                let call = Call(words: words, connection: connection)
                log.state.withLock { $0.calls.append(call) }
                switch answer(call) {
                case .bytes(let text):
                    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                case .last(let text):
                    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                    context.close(promise: nil)
                    return
                case .nothing:
                    break
                }
            }
        }
    }
}
#endif
