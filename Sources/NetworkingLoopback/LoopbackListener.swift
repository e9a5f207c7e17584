#if Inspector || LoopbackRedirect
import CLibraryForNetworking
import FlyingSocks
package import NetworkingCore
import Synchronization

/// Listens on a port of 127.0.0.1, and serves one request of each connection.
///
/// For `localhost` it also listens on the same port of `::1`: a browser may look the name up as either, and another
/// program that listens on the other address would receive the code of a sign-in (RFC 8252 section 8.3).
///
/// It uses the sockets of FlyingFox but not its `HTTPServer`. That server reads lines of any length without a time
/// limit, and keeps the last of several lines with the same name, so that no check finds a second `Host`.
package struct LoopbackListener: Sendable {
    package let port: UInt16
    private let sockets: [AsyncSocket]
    private let pool: LoopbackEventLoop.Pool

    /// The maximum number of concurrent connections of an address; others wait.
    private static let maximumConnections = 64

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - port: The port; `nil` for any port that is free on all addresses.
    ///   - isOnBothAddresses: Whether it also listens on `::1`, if this machine has that address.
    ///   - waitsForPort: Whether it waits for a moment until the previous owner has released the port.
    /// - Throws: ``LoopbackFault`` if the port is not available, or `CancellationError`.
    package init(port: UInt16?, isOnBothAddresses: Bool = false, waitsForPort: Bool = false) async throws {
        let pool: LoopbackEventLoop.Pool
        do {
            pool = try await LoopbackEventLoop.pool
        } catch {
            throw LoopbackFault(port: port, .ipv4, error)
        }
        let patience = waitsForPort ? 20 : 0
        let (sockets, number) = try await Self.listen(on: port, isOnBothAddresses: isOnBothAddresses, patience)
        do {
            self.sockets = try sockets.map { try AsyncSocket(socket: $0, pool: pool) }
        } catch {
            for socket in sockets { try? socket.close() }
            throw LoopbackFault(port: port, .ipv4, error)
        }
        (self.port, self.pool) = (number, pool)
    }

    private static func listen(
        on port: UInt16?,
        isOnBothAddresses: Bool,
        _ patience: Int
    ) async throws -> ([Socket], UInt16) {
        // A port that is free on one address may be in use on the other.
        for _ in 1...20 {
            let first = try await Socket.listening(on: port, of: .ipv4, patience)
            do {
                guard case .ip4(_, let number) = try first.sockname() else { throw SocketError.unsupportedAddress }
                guard isOnBothAddresses else { return ([first], number) }
                do {
                    let second = try await Socket.listening(on: number, of: .ipv6, port == nil ? 0 : patience)
                    return ([first, second], number)
                } catch let fault as LoopbackFault where fault.isWithoutAddress {
                    // No program can listen on an address that this machine does not have.
                    return ([first], number)
                }
            } catch {
                try? first.close()
                guard port == nil, (error as? LoopbackFault)?.reason == .inUse else { throw error }
            }
        }
        throw LoopbackFault(port: nil, .ipv6, SocketError.unsupportedAddress)
    }

    /// Serves requests until the caller is cancelled; on return, all connections are closed and the port is free.
    ///
    /// - Parameters:
    ///   - maximumTime: The maximum duration of a connection; browsers open connections before they need them.
    ///   - clock: The clock that measures it.
    ///   - exchange: Serves one connection.
    package func serve(
        atMost maximumTime: Duration,
        on clock: NetworkClock,
        _ exchange: @escaping @Sendable (LoopbackConnection) async throws -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for socket in sockets {
                group.addTask { await accept(at: socket, atMost: maximumTime, on: clock, exchange) }
            }
        }
    }

    private func accept(
        at socket: AsyncSocket,
        atMost maximumTime: Duration,
        on clock: NetworkClock,
        _ exchange: @escaping @Sendable (LoopbackConnection) async throws -> Void
    ) async {
        await withTaskGroup(of: Void.self) { connections in
            var count = 0
            while !Task.isCancelled {
                if count == Self.maximumConnections {
                    await connections.next()
                    count -= 1
                }
                do {
                    let connection = LoopbackConnection(try await socket.accept())
                    connections.addTask {
                        // The time is up as if the listener had ended.
                        try? await ExchangeLimit(until: clock.now + maximumTime, on: clock)
                            .run { try await exchange(connection) }
                        await connection.socket.end(in: pool)
                    }
                    count += 1
                } catch {
                    // A connection may break before it is accepted, and file descriptors may be exhausted temporarily.
                    try? await clock.sleep(for: .milliseconds(50))
                }
            }
            connections.cancelAll()
        }
        await socket.end(in: pool)
    }
}

/// The two addresses of this machine that a browser reaches.
private enum LoopbackAddressFamily: String {
    case ipv4 = "127.0.0.1"
    case ipv6 = "::1"
}

/// The reason why a port of this machine is not available.
package struct LoopbackFault: Error {
    package enum Reason: Equatable, Sendable {
        case inUse
        case forbidden
        /// Another reason of the system, if it gave one.
        case other(String?)
    }

    /// `port 8080 of 127.0.0.1`, or `a port of 127.0.0.1`.
    package let place: String
    package let reason: Reason
    /// Whether this machine does not have the address.
    fileprivate let isWithoutAddress: Bool

    fileprivate init(port: UInt16?, _ family: LoopbackAddressFamily, _ error: any Error) {
        place = port.map { "port \($0) of \(family.rawValue)" } ?? "a port of \(family.rawValue)"
        (reason, isWithoutAddress) =
            switch error as? SocketError {
            case .failed(_, EADDRINUSE, _): (.inUse, false)
            case .failed(_, EACCES, _): (.forbidden, false)
            case .failed(_, let code, let message): (.other(message), [EADDRNOTAVAIL, EAFNOSUPPORT].contains(code))
            default: (.other(nil), false)
            }
    }
}

// MARK: - Sockets

extension Socket {
    /// Listens, once the previous owner has released the port: a sign-in that this one replaces, or a tool that has
    /// just ended.
    fileprivate static func listening(
        on port: UInt16?,
        of family: LoopbackAddressFamily,
        _ patience: Int
    ) async throws -> Socket {
        var patience = patience
        while true {
            do {
                return try Socket(listeningOn: port ?? 0, of: family)
            } catch {
                let fault = LoopbackFault(port: port, family, error)
                guard fault.reason == .inUse, patience > 0 else { throw fault }
                patience -= 1
                try await NetworkEnvironment.current.clock.sleep(for: .milliseconds(50))
            }
        }
    }

    private init(listeningOn port: UInt16, of family: LoopbackAddressFamily) throws {
        try self.init(domain: Int32(family == .ipv4 ? AF_INET : AF_INET6), type: .stream)
        do {
            keepFromChildren()
            // Otherwise the port is unavailable for some time after use.
            try setValue(true, for: .localAddressReuse)
            #if canImport(Darwin)
            // Accepted sockets inherit it; elsewhere FlyingSocks passes MSG_NOSIGNAL with each write.
            try setValue(true, for: .noSIGPIPE)
            #endif
            switch family {
            case .ipv4: try bind(to: .inet(ip4: family.rawValue, port: port))
            case .ipv6: try bind(to: .inet6(ip6: family.rawValue, port: port))
            }
        } catch {
            try? close()
            throw error
        }
        // If it fails, it closes the socket.
        try listen()
    }
}

extension AsyncSocket {
    /// Shuts the socket down and closes it; no task may still be waiting for it.
    fileprivate func end(in pool: LoopbackEventLoop.Pool) async {
        // The pool resumes the waiter of a socket *before* it removes the socket from its list. Closing the socket in
        // between would leave its number on the list, and the next socket with that number would never be woken.
        await pool.finishCurrentJob()
        shutdown(socket.file.rawValue, Int32(SHUT_RDWR))
        try? close()
    }
}

extension Actor {
    fileprivate func finishCurrentJob() {
        // Without a call that needs the actor, the optimiser would remove the switch to the actor.
        preconditionIsolated()
    }
}

/// Watches the sockets of all waiting tasks.
enum LoopbackEventLoop {
    #if canImport(Darwin)
    typealias Pool = SocketPool<kQueue>
    #else
    typealias Pool = SocketPool<ePoll>
    #endif

    /// The pool of the process, which is prepared on first use, and after a failure on the next.
    static var pool: Pool {
        get async throws {
            let task = starting.withLock { starting in
                let task = starting ?? start()
                starting = task
                return task
            }
            do {
                return try await task.value
            } catch {
                starting.withLock { if $0 == task { $0 = nil } }
                throw error
            }
        }
    }

    private static let starting = Mutex<Task<Pool, any Error>?>(nil)

    /// Prepares a pool in a detached task, because it serves the whole process.
    ///
    /// A pool for each listener would leak a file descriptor each time.
    private static func start() -> Task<Pool, any Error> {
        Task.detached {
            #if canImport(Darwin)
            let pool = Pool.kQueue()
            #else
            let pool = Pool.ePoll()
            #endif
            try await pool.prepare()
            // It ends only when it is cancelled, which never happens.
            Task.detached { try await pool.run() }
            return pool
        }
    }
}
#endif
