#if Valkey
import NetworkingCore
import NIOCore

/// A command without a reply.
final class PendingCommand: Sendable {
    /// What the command does to the subscriptions of its connection.
    enum Purpose: Sendable {
        /// Nothing: the command has a reply.
        case ordinary
        /// The command starts a subscription, and a message confirms it.
        case subscribe(Subscriber)
        /// The command ends a subscription, and a message confirms it.
        case unsubscribe
        /// The command checks the connection, on its own behalf: nobody waits for the reply.
        case check
    }

    let bytes: ByteBuffer
    /// The moment after which nobody waits for the reply.
    let deadline: Duration
    let purpose: Purpose
    let reply = Suspension<ValkeyValue>()

    init(_ bytes: ByteBuffer, deadline: Duration, for purpose: Purpose = .ordinary) {
        (self.bytes, self.deadline, self.purpose) = (bytes, deadline, purpose)
    }

    var isSubscription: Bool {
        if case .subscribe = purpose { true } else { false }
    }

    /// Whether the command is one of the limited number of an app.
    var isCounted: Bool {
        switch purpose {
        case .ordinary, .subscribe: true
        case .unsubscribe, .check: false
        }
    }
}

/// The number of commands, and of their bytes.
struct CommandSize {
    private(set) var count = 0
    private(set) var bytes = 0

    mutating func add(_ command: PendingCommand) {
        count += 1
        bytes += command.bytes.readableBytes
    }

    mutating func subtract(_ other: CommandSize) {
        count -= other.count
        bytes -= other.bytes
    }
}

/// The receiver of the messages of a channel.
struct Subscriber: Sendable {
    let id: UInt64
    let channel: [UInt8]
    let continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation
}
#endif
