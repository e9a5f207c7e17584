#if Valkey
import NetworkingCore
import NIOCore
import NIOPosix
import Synchronization

/// A server, or the primary among several: its connection, and the commands on their way to it.
///
/// Callers put commands into the inbox. The event loop takes all that are there at once, writes them together, and is
/// the only one that looks at the state of the connection.
final class ValkeyNode: Sendable {
    /// The maximum number of bytes of the commands without a reply.
    private static let maximumPendingBytes = 64 << 20
    /// The minimum age of a connection that is given up because its server has become a replica.
    private static let minimumAge = Duration.milliseconds(100)

    let address: ValkeyAddress
    private let addresses: [ValkeyAddress]
    private let connector: Connector
    private let random: RandomSource
    private let eventLoop: any EventLoop
    private let inbox = Mutex(Inbox())
    private let box: NIOLoopBoundBox<State>

    private struct Inbox {
        var commands: [PendingCommand] = []
        var pending = CommandSize()
        var isScheduled = false
        var isShutDown = false
    }

    private enum Phase {
        /// There is no connection, because there was no command, or the connection has ended.
        case idle
        case connecting(isProbe: Bool)
        case connected(Current)
        /// The last attempt to connect has failed.
        case gone(ValkeyError, until: Duration)
    }

    private struct Current {
        let connection: OpenConnection
        let handler: ReplyHandler
        let start: Duration
    }

    private struct State {
        var phase = Phase.idle
        /// The commands that wait for the connection, the oldest first.
        var waiting = CircularBuffer<PendingCommand>()
        /// The number of failures since the server has answered a command.
        var failures = 0
        /// The alarm for the earliest moment at which something is due, and that moment.
        var alarm: (Alarm, moment: Duration)?
        /// The position of the address that was the primary's.
        var preferred = 0

        var current: Current? {
            if case .connected(let current) = phase { current } else { nil }
        }
    }

    init(_ addresses: [ValkeyAddress], connector: Connector, random: RandomSource) {
        address = addresses[0]
        (self.addresses, self.connector, self.random) = (addresses, connector, random)
        eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        box = .makeBoxSendingValue(State(), eventLoop: eventLoop)
    }

    deinit {
        eventLoop.execute { [box] in
            box.value.alarm?.0.cancel()
            box.value.current?.handler.close()
        }
    }

    var now: Duration {
        connector.clock.now
    }

    // MARK: Callers

    /// Sends commands one after the other, and returns the reply to the last one.
    ///
    /// - Parameters:
    ///   - commands: The commands.
    ///   - deadline: The moment at which the caller gives up.
    ///   - isLate: Whether the caller has waited before, so that its deadline is earlier than that of other commands.
    /// - Returns: The reply.
    /// - Throws: ``ValkeyError``, also for an error of the server; `CancellationError` if the caller is cancelled.
    func reply(
        to commands: [CommandBytes],
        until deadline: Duration,
        isLate: Bool = false
    ) async throws -> ValkeyValue {
        let pending = commands.map { PendingCommand($0.buffer, deadline: deadline) }
        try submit(pending)
        // The node looks at the oldest command alone, and that has the earliest deadline unless a caller is late.
        let limit = WaitDeadline<ValkeyValue>(deadline, on: connector.clock, with: .failure(ValkeyError(.timedOut)))
        let value = try await pending[pending.count - 1].reply.value(until: nil, or: isLate ? limit : nil)
        if case .error(let text) = value { throw ValkeyError(reply: text) }
        return value
    }

    /// Starts a subscription, and returns when the server has confirmed it.
    func subscribe(_ subscriber: Subscriber, until deadline: Duration) async throws {
        var bytes = CommandBytes(count: 2, capacity: subscriber.channel.count + 16)
        bytes.append("SUBSCRIBE")
        bytes.append(subscriber.channel)
        let command = PendingCommand(bytes.buffer, deadline: deadline, for: .subscribe(subscriber))
        try submit([command])
        if case .error(let text) = try await command.reply.value(until: nil) { throw ValkeyError(reply: text) }
    }

    /// Ends a subscription.
    func end(_ subscriber: Subscriber) {
        let timeout = connector.configuration.timeout
        onEventLoop { node in
            let handler = node.box.value.current?.handler
            handler?.unsubscribe(subscriber.id, from: subscriber.channel, until: node.now + timeout)
            node.setAlarm()
        }
    }

    /// Refuses new commands, waits for the replies to the others, and closes the connection.
    func shutDown() async {
        inbox.withLock { $0.isShutDown = true }
        let closed = eventLoop.makePromise(of: Void.self)
        eventLoop.execute { [self] in
            for command in box.value.waiting { end(command, with: ValkeyError(.shutDown)) }
            box.value.waiting.removeAll()
            guard let current = box.value.current else { return closed.succeed() }
            current.connection.channel.closeFuture.cascade(to: closed)
            current.handler.closeWhenIdle()
        }
        try? await closed.futureResult.get()
    }

    private func submit(_ commands: [PendingCommand]) throws(ValkeyError) {
        let limit = connector.configuration.maximumPending
        let result = inbox.withLock { inbox -> Result<Bool, ValkeyError> in
            guard !inbox.isShutDown else { return .failure(ValkeyError(.shutDown)) }
            var pending = inbox.pending
            for command in commands { pending.add(command) }
            guard pending.count <= limit, pending.bytes <= Self.maximumPendingBytes else {
                return .failure(ValkeyError(.queueFull))
            }
            inbox.pending = pending
            inbox.commands += commands
            defer { inbox.isScheduled = true }
            return .success(!inbox.isScheduled)
        }
        if try result.get() {
            onEventLoop { $0.takeCommands() }
        }
    }

    private func onEventLoop(_ action: @escaping @Sendable (ValkeyNode) -> Void) {
        eventLoop.execute { [weak self] in
            if let self { action(self) }
        }
    }

    // MARK: The event loop

    /// Counts commands that have left the node.
    func release(_ size: CommandSize) {
        inbox.withLock { $0.pending.subtract(size) }
    }

    private func end(_ command: PendingCommand, with error: ValkeyError) {
        command.reply.resume(with: .failure(error))
        var size = CommandSize()
        size.add(command)
        release(size)
    }

    private func takeCommands() {
        let commands = inbox.withLock { inbox in
            inbox.isScheduled = false
            defer { inbox.commands = [] }
            return inbox.commands
        }
        var batch: [PendingCommand] = []
        for command in commands {
            switch box.value.phase {
            case _ where !command.reply.isPending:
                // The caller was cancelled.
                end(command, with: ValkeyError(.timedOut))
            case .connected(let current):
                if current.handler.isSlow, !current.handler.isIdle || !batch.isEmpty {
                    end(command, with: ValkeyError(.unresponsive))
                } else {
                    batch.append(command)
                }
            case .connecting(isProbe: true):
                end(command, with: ValkeyError(.unreachable))
            case .connecting(isProbe: false):
                box.value.waiting.append(command)
            case .gone(let error, let moment) where now < moment:
                end(command, with: error)
            case .gone:
                box.value.waiting.append(command)
                connect(isProbe: true)
            case .idle:
                box.value.waiting.append(command)
                connect(isProbe: false)
            }
        }
        write(batch)
    }

    private func write(_ commands: [PendingCommand]) {
        if let current = box.value.current {
            var commands = commands
            if !current.connection.hasPushes {
                for command in commands where command.isSubscription { end(command, with: ValkeyError(.unsupported)) }
                commands.removeAll(where: \.isSubscription)
            }
            current.handler.write(commands)
        }
        setAlarm()
    }

    private func connect(isProbe: Bool) {
        box.value.phase = .connecting(isProbe: isProbe)
        let (addresses, connector, eventLoop) = (addresses, connector, eventLoop)
        let first = box.value.preferred
        // It ends by its own time limit.
        let _: OwnedTask<Void> = .detached { [weak self] in
            do throws(ValkeyError) {
                let (connection, index) = try await connector.connect(to: addresses, from: first, on: eventLoop)
                guard let self else { return connection.channel.close(promise: nil) }
                onEventLoop { $0.use(connection, of: index) }
            } catch {
                self?.onEventLoop { $0.giveUp(with: error) }
            }
        }
    }

    private func use(_ connection: OpenConnection, of index: Int) {
        let handler = connection.handler.value
        guard !inbox.withLock({ $0.isShutDown }) else { return handler.close() }
        guard !handler.isClosed else { return giveUp(with: ValkeyError(.unreachable)) }
        handler.node = self
        box.value.preferred = index
        box.value.phase = .connected(Current(connection: connection, handler: handler, start: now))
        let waiting = Array(box.value.waiting)
        box.value.waiting.removeAll()
        write(waiting)
    }

    /// Fails the commands that wait for a connection, and the next ones until it is time for another attempt.
    private func giveUp(with error: ValkeyError) {
        box.value.failures += 1
        var random = random
        let delay = connector.configuration.backoff.delay(beforeRetry: box.value.failures, using: &random)
        box.value.phase = .gone(error, until: now + delay)
        for command in box.value.waiting { end(command, with: error) }
        box.value.waiting.removeAll()
        setAlarm()
    }

    /// Notes the end of a connection.
    ///
    /// A server that answers commands before it closes a connection is there. One that only accepts connections, or
    /// sends what is no reply, is not.
    func connectionEnded(_ handler: ReplyHandler, with error: ValkeyError) {
        guard box.value.current?.handler === handler else { return }
        if handler.hasAnswered, error.kind != .malformedReply {
            box.value.failures = 0
            box.value.phase = .idle
        } else {
            giveUp(with: ValkeyError(error.kind == .accessDenied ? .accessDenied : .unreachable))
        }
    }

    /// Closes a connection whose server does not accept writes, so that the next command finds the primary.
    func leaveReplica(_ handler: ReplyHandler) {
        guard let current = box.value.current, current.handler === handler else { return }
        guard now - current.start >= Self.minimumAge else { return }
        box.value.phase = .idle
        handler.close()
    }

    // MARK: Time

    /// Sets the alarm for the next moment at which something is due.
    ///
    /// There is one alarm for all commands, because setting and cancelling one for each would cost more than the rest.
    private func setAlarm() {
        let waiting = box.value.waiting.first?.deadline
        guard let next = earliest(waiting, box.value.current?.handler.nextCheck) else { return }
        if let (alarm, moment) = box.value.alarm {
            guard next < moment else { return }
            alarm.cancel()
        }
        let alarm = connector.clock.alarm(at: next) { [weak self] in
            self?.onEventLoop { $0.check() }
        }
        box.value.alarm = (alarm, next)
    }

    private func check() {
        box.value.alarm = nil
        let now = now
        while let command = box.value.waiting.first, command.deadline <= now || !command.reply.isPending {
            box.value.waiting.removeFirst()
            end(command, with: ValkeyError(.unreachable))
        }
        box.value.current?.handler.check(at: now, timeout: connector.configuration.timeout)
        setAlarm()
    }
}

/// Returns the earlier one of two moments that may not exist.
func earliest(_ first: Duration?, _ second: Duration?) -> Duration? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
}
#endif
