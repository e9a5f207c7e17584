#if Valkey
import NetworkingCore
import NIOCore
import NIOSSL

/// The handler of a connection: it writes commands, and gives each reply to the oldest command without one.
///
/// It belongs to the event loop of its channel.
final class ReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The node that uses the connection; `nil` while the connection is opened.
    weak var node: ValkeyNode?
    /// Whether the last command took longer than its time limit.
    ///
    /// Then one command at a time tests whether the server is fast again, and the others fail at once.
    private(set) var isSlow = false
    /// Whether the server has answered a command of the node.
    private(set) var hasAnswered = false
    /// The error with which commands fail after the end of the connection; `nil` while it is open.
    private var end: ValkeyError?

    var isClosed: Bool { end != nil }

    private var context: ChannelHandlerContext?
    private var decoder: RESPDecoder
    /// The commands without a reply, the oldest first.
    private var pending = CircularBuffer<PendingCommand>()
    /// The number of commands at the start of `pending` whose time limit has passed.
    private var expired = 0
    private var subscriptions = Subscriptions()
    private var lastRead = Duration.zero
    private var closesWhenIdle = false
    private var isReadOnly = false
    /// What the commands that left `pending` add to the limits of the node.
    private var released = CommandSize()

    init(maximumReplySize: Int) {
        decoder = RESPDecoder(maximumReplySize: maximumReplySize)
    }

    /// Whether no command has been sent to which a reply is missing.
    var isIdle: Bool {
        pending.isEmpty
    }

    /// Writes commands together.
    func write(_ commands: [PendingCommand]) {
        guard let first = commands.first else { return }
        guard let context, !isClosed else {
            for command in commands { fail(command, with: end ?? ValkeyError(.unreachable)) }
            return flushReleased()
        }
        var bytes = first.bytes
        if commands.count > 1 {
            bytes.reserveCapacity(commands.reduce(0) { $0 + $1.bytes.readableBytes })
            for command in commands.dropFirst() { bytes.writeImmutableBuffer(command.bytes) }
        }
        pending.append(contentsOf: commands)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    /// Closes the connection; its commands fail at once.
    ///
    /// They do not wait for the end of the channel, because a server that hangs does not confirm the end of TLS.
    func close(with error: ValkeyError = ValkeyError(.connectionLost)) {
        guard !isClosed else { return }
        // A certificate may be refused before the first command.
        end = ValkeyError(error.kind == .accessDenied ? .accessDenied : .unreachable)
        let commands = pending
        pending.removeAll()
        expired = 0
        for command in commands { fail(command, with: error) }
        subscriptions.end(with: error)
        flushReleased()
        node?.connectionEnded(self, with: error)
        context?.close(promise: nil)
    }

    /// Closes the connection as soon as no command waits for a reply.
    func closeWhenIdle() {
        closesWhenIdle = true
        closeIfIdle()
    }

    private func closeIfIdle() {
        if closesWhenIdle, pending.count == expired {
            close(with: ValkeyError(.shutDown))
        }
    }

    // MARK: Subscriptions

    /// Ends the subscription of a subscriber that no longer reads.
    func unsubscribe(_ id: UInt64, from channel: [UInt8], until deadline: Duration) {
        guard subscriptions.remove(id, from: channel) else { return }
        var bytes = CommandBytes(count: 2, capacity: 16 + channel.count)
        bytes.append("UNSUBSCRIBE")
        bytes.append(channel)
        write([PendingCommand(bytes.buffer, deadline: deadline, for: .unsubscribe)])
    }

    // MARK: Time

    /// How long a connection may be silent while a reply is missing, beyond the time limit of the command.
    static let patience = Duration.seconds(1)
    /// How long a connection with subscriptions may be silent before a command checks it.
    static let heartbeat = Duration.seconds(5)

    /// The next moment at which the connection needs ``check(at:timeout:)``.
    var nextCheck: Duration? {
        let next = pending.count > expired ? pending[offset: expired].deadline : nil
        let oldest = expired > 0 ? pending.first.map { $0.deadline + Self.patience } : nil
        let heartbeat = subscriptions.isEmpty || !pending.isEmpty ? nil : lastRead + Self.heartbeat
        return earliest(next, earliest(oldest, heartbeat))
    }

    /// Ends the commands whose time limit has passed, closes a connection that is dead, and checks one that is silent.
    func check(at now: Duration, timeout: Duration) {
        while expired < pending.count, pending[offset: expired].deadline <= now {
            pending[offset: expired].reply.resume(with: .failure(ValkeyError(.timedOut)))
            expired += 1
            isSlow = true
        }
        if expired > 0, let oldest = pending.first, oldest.deadline + Self.patience <= now {
            close()
        } else if !subscriptions.isEmpty, pending.isEmpty, lastRead + Self.heartbeat <= now {
            write([PendingCommand(CommandBytes("PING").buffer, deadline: now + timeout, for: .check)])
        }
        closeIfIdle()
    }

    // MARK: Replies

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosed else { return }
        decoder.append(unwrapInboundIn(data))
        do throws(ValkeyError) {
            while !isClosed, let message = try decoder.next() {
                switch message {
                case .reply(let value): try receive(value)
                case .push(let elements): try receive(push: elements)
                }
            }
        } catch {
            close(with: error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !subscriptions.isEmpty, let node {
            lastRead = node.now
        }
        flushReleased()
        if isReadOnly {
            isReadOnly = false
            node?.leaveReplica(self)
        }
        closeIfIdle()
        context.fireChannelReadComplete()
    }

    private func receive(_ value: ValkeyValue) throws(ValkeyError) {
        let command = try nextCommand()
        if case .error(let text) = value {
            if text.hasPrefix("READONLY") { isReadOnly = true }
        } else if node != nil {
            hasAnswered = true
        }
        command.reply.resume(with: .success(value))
    }

    private func nextCommand() throws(ValkeyError) -> PendingCommand {
        guard let command = pending.popFirst() else { throw ValkeyError(.malformedReply) }
        if expired > 0 {
            expired -= 1
        } else {
            isSlow = false
        }
        release(command)
        return command
    }

    private func receive(push elements: [ValkeyValue]) throws(ValkeyError) {
        guard let kind = elements.first?.bytes else { throw ValkeyError(.malformedReply) }
        switch String(decoding: kind, as: UTF8.self) {
        case "message":
            guard elements.count == 3, let channel = elements[1].bytes, let message = elements[2].bytes else {
                throw ValkeyError(.malformedReply)
            }
            subscriptions.send(message, to: channel)
        case "subscribe":
            guard case .subscribe(let subscriber) = pending.first?.purpose else { throw ValkeyError(.malformedReply) }
            let command = try nextCommand()
            hasAnswered = true
            subscriptions.add(subscriber)
            // A caller that no longer waits does not read either.
            if !command.reply.resume(with: .success(.null)) {
                node?.end(subscriber)
            }
        case "unsubscribe":
            if case .unsubscribe = pending.first?.purpose { _ = try nextCommand() }
        default:
            // A server sends messages of other kinds only to clients that ask for them.
            break
        }
    }

    // MARK: The end

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as ValkeyError: close(with: error)
        case NIOSSLError.uncleanShutdown: close()
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: close(with: ValkeyError(.accessDenied))
        default: close()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        close()
        context.fireChannelInactive()
    }

    private func fail(_ command: PendingCommand, with error: ValkeyError) {
        command.reply.resume(with: .failure(error))
        release(command)
    }

    private func release(_ command: PendingCommand) {
        if command.isCounted {
            released.add(command)
        }
    }

    private func flushReleased() {
        guard released.count > 0 else { return }
        node?.release(released)
        released = CommandSize()
    }
}
#endif
