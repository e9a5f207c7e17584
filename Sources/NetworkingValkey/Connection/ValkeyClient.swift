#if Valkey
public import NetworkingCore
import Synchronization

/// A client of a server of Valkey or Redis, with one connection to each server.
///
/// ```swift
/// let valkey = ValkeyClient(.host("valkey.internal"), configuration: ValkeyConfiguration(password: secret))
/// ```
///
/// The first command opens the connection. Commands that are sent at the same time share a packet, and each gets its
/// own reply. While the server cannot be reached or takes longer than the time limit, one command at a time tests it,
/// and the others fail at once. A command is never sent twice, unless the server has refused to run it.
///
/// It works with Valkey, with Redis 7 and later, and with servers without RESP3, over which there are no subscriptions.
/// The clock and the randomness are those of the environment in which the client is created.
public final class ValkeyClient: ValkeyCommands {
    /// The maximum number of other nodes to which one command may be sent.
    private static let maximumRedirections = 5
    /// The maximum number of messages that a subscriber has not read yet.
    private static let maximumUnread = 1_024

    private let connector: Connector
    private let random: RandomSource
    /// The node that is asked unless a cluster has named another one.
    private let entry: ValkeyNode
    private let cluster = Mutex(Cluster())

    private struct Cluster {
        var slots = ClusterSlots()
        var isShutDown = false
        var subscribers: UInt64 = 0
    }

    /// Creates a client, which does not connect yet.
    ///
    /// - Parameters:
    ///   - address: The address of the server, or of one node of a cluster.
    ///   - others: The addresses of other servers that may become the primary, or of other nodes of the cluster. If
    ///     there are any, the client asks each server for its role, and uses the primary.
    ///   - configuration: The settings.
    public init(
        _ address: ValkeyAddress,
        others: [ValkeyAddress] = [],
        configuration: ValkeyConfiguration = ValkeyConfiguration()
    ) {
        let environment = NetworkEnvironment.current
        connector = Connector(configuration, clock: environment.clock)
        random = environment.random
        entry = ValkeyNode([address] + others, connector: connector, random: random)
    }

    /// Refuses new commands, waits for the replies to those on their way, and closes the connections.
    ///
    /// It takes no longer than the time limit of a command; with TLS and a server that hangs, five seconds more. A
    /// client that is released without it closes the connections at once.
    public func shutdown() async {
        let nodes = cluster.withLock { cluster in
            cluster.isShutDown = true
            return cluster.slots.all
        }
        for node in [entry] + nodes { await node.shutDown() }
    }

    // MARK: Commands

    /// Returns the value of a key: `GET`.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; `nil` if there is none.
    /// - Throws: A ``ValkeyError``, or `CancellationError` if the caller is cancelled.
    public func get(_ key: String) async throws -> [UInt8]? {
        switch try await reply(to: CommandBytes("GET", key), key: key, until: deadline) {
        case .bytes(let bytes): return bytes
        case .null: return nil
        default: throw ValkeyError(.malformedReply)
        }
    }

    /// Sets the value of a key: `SET`.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - value: The value.
    ///   - options: The condition, and the time after which the server removes the key.
    /// - Returns: `false` if the condition was not met, so that the value is the one before.
    /// - Throws: A ``ValkeyError``, or `CancellationError` if the caller is cancelled.
    @discardableResult
    public func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool {
        let words = options.words
        var command = CommandBytes(count: 3 + words.count, capacity: key.utf8.count + value.count + 32)
        command.append("SET")
        command.append(key)
        command.append(value)
        for word in words { command.append(word) }
        switch try await reply(to: command, key: key, until: deadline) {
        case .bytes: return true
        case .null: return false
        default: throw ValkeyError(.malformedReply)
        }
    }

    /// Runs a script in the server: `EVALSHA`, and `EVAL` if the server does not have the script yet.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - keys: The keys that the script uses, all of one slot.
    ///   - arguments: The arguments.
    /// - Returns: The result of the script.
    /// - Throws: A ``ValkeyError``, also for an error that the script returns; `CancellationError` if the caller is
    ///   cancelled.
    public func evaluate(
        _ script: ValkeyScript,
        keys: [String],
        arguments: [[UInt8]]
    ) async throws -> ValkeyValue {
        let deadline = deadline
        do {
            let command = Self.command("EVALSHA", script.sha1, keys, arguments)
            return try await reply(to: command, key: keys.first, until: deadline)
        } catch let error as ValkeyError where error.code == "NOSCRIPT" {
            let command = Self.command("EVAL", script.source, keys, arguments)
            return try await reply(to: command, key: keys.first, until: deadline, isLate: true)
        }
    }

    private static func command(
        _ name: String,
        _ script: String,
        _ keys: [String],
        _ arguments: [[UInt8]]
    ) -> CommandBytes {
        let size = keys.reduce(0) { $0 + $1.utf8.count + 16 } + arguments.reduce(0) { $0 + $1.count + 16 }
        var command = CommandBytes(count: 3 + keys.count + arguments.count, capacity: script.utf8.count + size + 32)
        command.append(name)
        command.append(script)
        command.append(String(keys.count))
        for key in keys { command.append(key) }
        for argument in arguments { command.append(argument) }
        return command
    }

    /// Receives the messages of a channel: `SUBSCRIBE`.
    ///
    /// - Parameter channel: The name of the channel.
    /// - Returns: The messages that are published from now on. The sequence ends with an error when the connection is
    ///   lost or the reader is more than 1,024 messages behind, because messages were missed. Read the state that the
    ///   messages tell about after each new subscription.
    /// - Throws: A ``ValkeyError``; of the kind ``ValkeyError/Kind/unsupported`` if the server does not have RESP3.
    public func messages(on channel: String) async throws -> AsyncThrowingStream<[UInt8], any Error> {
        let id = cluster.withLock { cluster in
            cluster.subscribers += 1
            return cluster.subscribers
        }
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: [UInt8].self,
            bufferingPolicy: .bufferingOldest(Self.maximumUnread)
        )
        let subscriber = Subscriber(id: id, channel: Array(channel.utf8), continuation: continuation)
        continuation.onTermination = { [weak entry] _ in entry?.end(subscriber) }
        try await entry.subscribe(subscriber, until: deadline)
        return stream
    }

    // MARK: Servers

    private var deadline: Duration {
        connector.clock.now + connector.configuration.timeout
    }

    /// Sends a command to the server that has its key.
    private func reply(
        to command: CommandBytes,
        key: String?,
        until deadline: Duration,
        isLate: Bool = false
    ) async throws -> ValkeyValue {
        var node = node(for: key)
        var commands = [command]
        var isLost = false
        for attempt in 0...Self.maximumRedirections {
            do {
                return try await node.reply(to: commands, until: deadline, isLate: isLate || attempt > 0)
            } catch let error as ValkeyError {
                guard attempt < Self.maximumRedirections, connector.clock.now < deadline else { throw error }
                if let redirection = Redirection(error, from: node.address), let next = self.node(for: redirection) {
                    commands = redirection.isOnce ? [CommandBytes("ASKING"), command] : [command]
                    node = next
                } else if error.code == "READONLY", error.kind == .reply, attempt == 0 {
                    // The server has not run the command, and its node looks for the primary.
                    continue
                } else if node !== entry, error.kind == .unreachable || error.kind == .connectionLost, !isLost {
                    // In a cluster another server takes over.
                    isLost = true
                    cluster.withLock { $0.slots.forgetSlots(of: node) }
                    guard error.kind == .unreachable else { throw error }
                    commands = [command]
                    node = entry
                } else {
                    throw error
                }
            }
        }
        throw ValkeyError(.unreachable)
    }

    private func node(for key: String?) -> ValkeyNode {
        guard let key else { return entry }
        return cluster.withLock { cluster in
            guard !cluster.slots.isEmpty else { return nil }
            return cluster.slots.owner(of: ClusterSlots.slot(of: key))
        } ?? entry
    }

    /// Returns the node to which a server has pointed; `nil` if there are too many, or the client was shut down.
    private func node(for redirection: Redirection) -> ValkeyNode? {
        cluster.withLock { cluster in
            guard !cluster.isShutDown else { return nil }
            guard redirection.address != entry.address else {
                cluster.slots.setOwner(entry, of: redirection.slot)
                return entry
            }
            let node = cluster.slots.node(at: redirection.address) {
                ValkeyNode([redirection.address], connector: connector, random: random)
            }
            if let node, !redirection.isOnce {
                cluster.slots.setOwner(node, of: redirection.slot)
            }
            return node
        }
    }
}

extension ValkeyClient: RedactedDescription {}
#endif
