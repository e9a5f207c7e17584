#if Valkey
import NetworkingCore
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A connection that is open, authenticated, and has its database.
struct OpenConnection: Sendable {
    let channel: any Channel
    let handler: NIOLoopBound<ReplyHandler>
    /// Whether the server speaks RESP3, which subscriptions need.
    var hasPushes = false
}

/// Opens connections with the settings of a client.
final class Connector: Sendable {
    let configuration: ValkeyConfiguration
    let clock: NetworkClock
    private let context = Mutex<NIOSSLContext?>(nil)

    init(_ configuration: ValkeyConfiguration, clock: NetworkClock) {
        var configuration = configuration
        // So that they can be added to any moment.
        configuration.timeout = configuration.timeout.bounded
        configuration.connectTimeout = configuration.connectTimeout.bounded
        (self.configuration, self.clock) = (configuration, clock)
    }

    /// Opens a connection to the only server, or to the first of several that is a primary.
    ///
    /// - Parameters:
    ///   - addresses: The addresses of the servers.
    ///   - first: The index of the address to try first.
    ///   - eventLoop: The event loop of the connection.
    /// - Returns: The connection, and the index of its address.
    /// - Throws: The error of the last server that gave a reason; otherwise that none could be reached.
    func connect(
        to addresses: [ValkeyAddress],
        from first: Int,
        on eventLoop: any EventLoop
    ) async throws(ValkeyError) -> (OpenConnection, index: Int) {
        var failure = ValkeyError(.unreachable)
        for offset in addresses.indices {
            let index = (first + offset) % addresses.count
            do {
                let isOneOfSeveral = addresses.count > 1
                return (try await connect(to: addresses[index], isPrimary: isOneOfSeveral, on: eventLoop), index)
            } catch let error as ValkeyError where error.kind == .accessDenied || error.code != nil {
                failure = error
            } catch {
                // The next address may be the primary's.
            }
        }
        throw failure
    }

    /// Opens a connection, sends the credentials, and selects the database.
    private func connect(
        to address: ValkeyAddress,
        isPrimary: Bool,
        on eventLoop: any EventLoop
    ) async throws -> OpenConnection {
        let deadline = clock.now + configuration.connectTimeout
        var connection = try await open(address, on: eventLoop)
        do {
            connection.hasPushes = try await greet(connection, until: deadline)
            if configuration.database != 0 {
                let select = CommandBytes("SELECT", "\(configuration.database)")
                try await confirm(select, over: connection, until: deadline)
            }
            if isPrimary, try await isReplica(connection, until: deadline) {
                throw ValkeyError(.unreachable, code: "READONLY")
            }
            return connection
        } catch {
            connection.channel.close(promise: nil)
            throw error
        }
    }

    private func open(_ address: ValkeyAddress, on eventLoop: any EventLoop) async throws -> OpenConnection {
        let context = try await context(on: eventLoop)
        // Enough for the greeting, and at most what a buffer of SwiftNIO holds.
        let limit = min(max(configuration.maximumReplySize, 1 << 14), 1 << 30)
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(configuration.connectTimeout))
            .channelOption(.socketOption(.so_keepalive), value: 1)
        let prepare: @Sendable (any Channel) -> EventLoopFuture<OpenConnection> = { channel in
            channel.eventLoop.makeCompletedFuture {
                if let context {
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: address.serverName)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
                let handler = ReplyHandler(maximumReplySize: limit)
                try channel.pipeline.syncOperations.addHandler(handler)
                return OpenConnection(channel: channel, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
            }
        }
        switch address.place {
        case .host(let name, let port):
            return try await bootstrap.connect(host: name, port: port, channelInitializer: prepare)
        case .unixSocket(let path):
            return try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: prepare)
        }
    }

    /// Returns the context of TLS, which is created on another thread because it reads the machine's certificates.
    private func context(on eventLoop: any EventLoop) async throws -> NIOSSLContext? {
        guard let tls = configuration.tls else { return nil }
        if let context = context.withLock({ $0 }) { return context }
        let context: NIOSSLContext
        do {
            context = try await NIOThreadPool.singleton.runIfActive { try NIOSSLContext(configuration: tls) }
        } catch {
            throw ValkeyError(.accessDenied)
        }
        self.context.withLock { $0 = context }
        return context
    }

    /// Sends the credentials.
    ///
    /// - Returns: Whether the server speaks RESP3.
    private func greet(_ connection: OpenConnection, until deadline: Duration) async throws -> Bool {
        let credentials = configuration.password.map { [configuration.user ?? "default", $0] }
        var hello = CommandBytes(count: credentials == nil ? 2 : 5, capacity: 256)
        for word in ["HELLO", "3"] + (credentials.map { ["AUTH"] + $0 } ?? []) { hello.append(word) }
        do {
            try await confirm(hello, over: connection, until: deadline)
            return true
        } catch let error as ValkeyError where error.code == "ERR" || error.code == "NOPROTO" {
            // A server that is older than RESP3, or a proxy without it.
            if let credentials {
                let authenticate = CommandBytes("AUTH", credentials[0], credentials[1])
                try await confirm(authenticate, over: connection, until: deadline)
            }
            return false
        }
    }

    private func isReplica(_ connection: OpenConnection, until deadline: Duration) async throws -> Bool {
        switch try await reply(to: CommandBytes("ROLE"), over: connection, until: deadline) {
        case .array(let role):
            return role.first?.bytes.map { $0 == Array("slave".utf8) || $0 == Array("replica".utf8) } ?? false
        default:
            // The user may not ask. A write tells.
            return false
        }
    }

    private func confirm(
        _ command: CommandBytes,
        over connection: OpenConnection,
        until deadline: Duration
    ) async throws {
        if case .error(let text) = try await reply(to: command, over: connection, until: deadline) {
            // Without the text, which may quote the credentials.
            let error = ValkeyError(reply: text)
            throw ValkeyError(error.kind, code: error.code)
        }
    }

    private func reply(
        to bytes: CommandBytes,
        over connection: OpenConnection,
        until deadline: Duration
    ) async throws -> ValkeyValue {
        let command = PendingCommand(bytes.buffer, deadline: deadline, for: .check)
        connection.channel.eventLoop.execute { connection.handler.value.write([command]) }
        let limit = WaitDeadline<ValkeyValue>(deadline, on: clock, with: .failure(ValkeyError(.timedOut)))
        return try await command.reply.value(until: nil, or: limit)
    }
}

extension ValkeyAddress {
    /// The name for the server's certificate; `nil` for an IP address, which the certificate then has to name.
    fileprivate var serverName: String? {
        guard case .host(let name, _) = place else { return nil }
        return (try? SocketAddress(ipAddress: name, port: 0)) == nil ? name : nil
    }
}
#endif
