#if TestServer
import FlyingSocks
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// Listens on a port of loopback and serves each connection in a task of its own.
///
/// It uses the sockets of FlyingFox but not its `HTTPServer`, which keeps only the last of repeated request fields,
/// sorts and joins the fields of a response, writes `Content-Length: 0` into 204 and 304 and a body behind `HEAD`,
/// cannot hang up without an answer, and does not notice a client that hangs up.
struct Listener: Sendable {
    let port: Int
    private let socket: AsyncSocket
    private let pool: EventLoop.Pool

    /// Listens on a port, or on a free one for zero.
    init(port: Int) async throws {
        let pool = try await EventLoop.pool
        let socket: Socket
        do {
            socket = try Socket(listeningAt: port)
        } catch SocketError.failed(_, EADDRINUSE, _) {
            throw TestServerError.portTaken(port)
        } catch SocketError.failed(_, EACCES, _) {
            throw TestServerError.portForbidden(port)
        }
        guard case .ip4(_, let port) = try socket.sockname() else { throw SocketError.unsupportedAddress }
        self.port = Int(port)
        self.socket = try AsyncSocket(socket: socket, pool: pool)
        self.pool = pool
    }

    /// Serves until the task is cancelled; returns when all connections are closed and their handlers have ended.
    func serve(_ switchboard: Switchboard) async {
        await withDiscardingTaskGroup { connections in
            while !Task.isCancelled {
                // A connection may break before it is accepted, and file descriptors may run out for a while.
                guard let peer = try? await socket.accept() else { continue }
                let (number, effect) = switchboard.addConnection()
                let connection = Connection(
                    socket: LoopbackSocket(peer, pool: pool),
                    number: number,
                    switchboard: switchboard
                )
                connections.addTask { await connection.serve(effect) }
            }
            connections.cancelAll()
        }
        await socket.end(in: pool)
        switchboard.close()
    }
}

extension Socket {
    fileprivate init(listeningAt port: Int) throws {
        let address = try sockaddr_in.inet(ip4: "127.0.0.1", port: UInt16(port))
        try self.init(domain: Int32(address.family), type: .stream)
        do {
            #if canImport(Darwin)
            // Accepted sockets inherit it; elsewhere FlyingSocks passes MSG_NOSIGNAL with each write.
            try setValue(true, for: .noSIGPIPE)
            #endif
            // Connections that have just ended hold their port for a while, against which this helps, on both sides: a
            // free port is chosen without it, so that it is nobody's, and its connections get it nevertheless, for a
            // restart.
            if port != 0 { try setValue(true, for: .localAddressReuse) }
            try bind(to: address)
            if port == 0 { try setValue(true, for: .localAddressReuse) }
        } catch {
            try? close()
            throw error
        }
        // Closes the socket itself when it fails.
        try listen()
    }
}
#endif
