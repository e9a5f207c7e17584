#if LoopbackRedirect
import CLibraryForNetworking
import FlyingSocks
import FoundationForNetworking
import NetworkingCore

/// Listens on a port of 127.0.0.1 and, for a redirect URI with the host `localhost`, on the same port of `::1`.
///
/// A browser may look `localhost` up as either. Another program that listens on the other address would receive the
/// code (RFC 8252 section 8.3).
///
/// It uses the sockets of FlyingFox but not its `HTTPServer`, which reads lines of any length without a time limit.
struct LoopbackListener: Sendable {
    let port: UInt16
    private let sockets: [AsyncSocket]
    private let pool: LoopbackEventLoop.Pool

    /// The maximum number of concurrent connections of an address; others wait.
    private static let maximumConnections = 64

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - port: The port; `nil` for any port that is free on all addresses.
    ///   - isOnBothAddresses: Whether it also listens on `::1`, if this machine has that address.
    /// - Throws: ``OAuthError`` if the port is not available.
    init(port: UInt16?, isOnBothAddresses: Bool) async throws {
        pool = try await LoopbackEventLoop.pool
        var sockets: [Socket] = []
        do {
            (sockets, self.port) = try await Self.listen(on: port, isOnBothAddresses: isOnBothAddresses)
            self.sockets = try sockets.map { [pool] in try AsyncSocket(socket: $0, pool: pool) }
        } catch let error as SocketError {
            for socket in sockets { try? socket.close() }
            throw OAuthError(listeningOn: port, of: .ipv4, failedWith: error)
        }
    }

    private static func listen(on port: UInt16?, isOnBothAddresses: Bool) async throws -> ([Socket], UInt16) {
        // A port that is free on one address may be in use on the other.
        for _ in 1...20 {
            let first = try await Socket.listening(on: port ?? 0, of: .ipv4)
            guard case .ip4(_, let number) = try first.sockname() else { throw SocketError.unsupportedAddress }
            guard isOnBothAddresses else { return ([first], number) }
            do {
                return ([first, try await Socket.listening(on: number, of: .ipv6, mayWait: port != nil)], number)
            } catch SocketError.failed(_, EADDRNOTAVAIL, _), SocketError.failed(_, EAFNOSUPPORT, _) {
                // No program can listen on an address that this machine does not have.
                return ([first], number)
            } catch {
                try? first.close()
                guard let error = error as? SocketError else { throw error }
                if port == nil, case .failed(_, EADDRINUSE, _) = error { continue }
                throw OAuthError(listeningOn: number, of: .ipv6, failedWith: error)
            }
        }
        throw SocketError.unsupportedAddress
    }

    /// Serves requests until the caller is cancelled; on return, all connections are closed and the port is free.
    func serve(_ reception: LoopbackReception) async {
        await withTaskGroup(of: Void.self) { group in
            for socket in sockets {
                group.addTask { await serve(reception, at: socket) }
            }
        }
    }

    private func serve(_ reception: LoopbackReception, at socket: AsyncSocket) async {
        let clock = NetworkEnvironment.current.clock
        await withTaskGroup(of: Void.self) { connections in
            var count = 0
            while !Task.isCancelled {
                if count == Self.maximumConnections {
                    await connections.next()
                    count -= 1
                }
                do {
                    let connection = LoopbackConnection(try await socket.accept(), in: pool)
                    connections.addTask { await connection.serve(reception, on: clock) }
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

/// Serves the one request of a connection.
private struct LoopbackConnection {
    private let socket: AsyncSocket
    private let pool: LoopbackEventLoop.Pool

    /// The maximum duration of a connection; browsers open connections before they need them.
    private static let maximumTime = Duration.seconds(10)
    /// The maximum size of the head, in bytes; some codes are long.
    private static let maximumHead = 32 << 10
    /// The maximum number of bytes read after the head.
    private static let maximumRest = 1 << 20

    init(_ socket: AsyncSocket, in pool: LoopbackEventLoop.Pool) {
        socket.socket.keepFromChildren()
        self.socket = socket
        self.pool = pool
    }

    func serve(_ reception: LoopbackReception, on clock: NetworkClock) async {
        let deadline = Suspension<Void>()
        let alarm = clock.alarm(at: clock.now + Self.maximumTime) { deadline.resume(with: .success(())) }
        defer { alarm.cancel() }
        await withTaskGroup { group in
            group.addTask { try? await exchange(reception) }
            group.addTask { try? await deadline.value(until: nil) }
            await group.next()
            group.cancelAll()
        }
        await socket.end(in: pool)
    }

    private func exchange(_ reception: LoopbackReception) async throws {
        let decision: LoopbackReception.Decision
        do throws(LoopbackRequest.Fault) {
            guard let head = try await head() else { return }
            decision = reception.decide(on: try LoopbackRequest(head))
        } catch {
            decision = reception.decision(on: error)
        }
        // The waiting caller may end the process, so the browser gets its page first. The request is read to its end,
        // so that closing the connection does not discard the page.
        defer { reception.conclude(decision) }
        try await socket.write(decision.response.data)
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
        reception.conclude(decision)
        try await drain()
    }

    /// Reads the head; `nil` if there is none.
    private func head() async throws(LoopbackRequest.Fault) -> ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        var bytes: [UInt8] = []
        while let chunk = try? await socket.read(atMost: 4_096) {
            let unread = max(0, bytes.count - end.count + 1)
            bytes += chunk
            if let range = bytes[unread...].firstRange(of: end) { return bytes[..<range.lowerBound] }
            guard bytes.count < Self.maximumHead else { throw .tooLong }
        }
        return nil
    }

    /// Reads until the browser closes the connection: closing it with unread bytes would cause a reset, which discards
    /// the response.
    private func drain() async throws {
        var count = 0
        while count < Self.maximumRest {
            count += try await socket.read(atMost: 4_096).count
        }
    }
}

/// The two addresses of this machine that a browser reaches.
private enum LoopbackFamily: String {
    case ipv4 = "127.0.0.1"
    case ipv6 = "::1"
}

extension Socket {
    /// Listens, once the previous owner has released the port: a sign-in that this one replaces, or a tool that has
    /// just ended.
    fileprivate static func listening(
        on port: UInt16,
        of family: LoopbackFamily,
        mayWait: Bool = true
    ) async throws -> Socket {
        let clock = NetworkEnvironment.current.clock
        for _ in 0..<(mayWait ? 20 : 0) {
            do {
                return try Socket(listeningOn: port, of: family)
            } catch SocketError.failed(_, EADDRINUSE, _) {
                try await clock.sleep(for: .milliseconds(50))
            }
        }
        return try Socket(listeningOn: port, of: family)
    }

    private init(listeningOn port: UInt16, of family: LoopbackFamily) throws {
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

    /// Prevents child processes from inheriting the socket: a browser that was started here would keep the port.
    fileprivate func keepFromChildren() {
        _ = fcntl(file.rawValue, F_SETFD, FD_CLOEXEC)
    }
}

extension OAuthError {
    fileprivate init(listeningOn port: UInt16?, of family: LoopbackFamily, failedWith error: SocketError) {
        let place = port.map { "Port \($0) of \(family.rawValue)" } ?? "A port of \(family.rawValue)"
        let reason =
            switch error {
            case .failed(_, EADDRINUSE, _):
                "\(place), which the redirect URI names, is in use by another program. Quit that program, or omit the "
                    + "port if the provider allows any."
            case .failed(_, EACCES, _):
                "\(place), which the redirect URI names, may not be used by this user. Use a port above 1023, or omit "
                    + "the port if the provider allows any."
            case .failed(_, _, let message): "\(place) is not available for the redirect (\(message))."
            default: "\(place) is not available for the redirect."
            }
        self.init(.misconfigured, underlying: error, reason)
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
private enum LoopbackEventLoop {
    #if canImport(Darwin)
    typealias Pool = SocketPool<kQueue>
    #else
    typealias Pool = SocketPool<ePoll>
    #endif

    /// The pool of the process, which is prepared on first use.
    static var pool: Pool {
        get async throws { try await starting.value }
    }

    /// A detached task, because the pool serves the whole process.
    ///
    /// A pool for each sign-in would leak a file descriptor each time.
    private static let starting = Task.detached {
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
#endif
