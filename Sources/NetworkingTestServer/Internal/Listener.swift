#if TestServer
import FlyingSocks

/// Listens on a free port of loopback and serves each connection in a task of its own.
///
/// It uses the sockets of FlyingFox but not its `HTTPServer`, which keeps only the last of repeated request fields,
/// sorts and joins the fields of a response, writes `Content-Length: 0` into 204 and 304 and a body behind `HEAD`,
/// cannot hang up without an answer, and does not notice a client that hangs up.
struct Listener: Sendable {
    let port: Int
    private let socket: AsyncSocket
    private let pool: EventLoop.Pool

    init() async throws {
        let pool = try await EventLoop.pool
        let socket = try Socket(listeningAt: .inet(ip4: "127.0.0.1", port: 0))
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
                let connection = Connection(
                    socket: LoopbackSocket(peer, pool: pool),
                    number: switchboard.addConnection(),
                    switchboard: switchboard
                )
                connections.addTask { await connection.serve() }
            }
            connections.cancelAll()
        }
        await socket.end(in: pool)
        switchboard.close()
    }
}

extension Socket {
    fileprivate init(listeningAt address: some SocketAddress) throws {
        try self.init(domain: Int32(address.family), type: .stream)
        do {
            #if canImport(Darwin)
            // Accepted sockets inherit it; elsewhere FlyingSocks passes MSG_NOSIGNAL with each write.
            try setValue(true, for: .noSIGPIPE)
            #endif
            try bind(to: address)
        } catch {
            try? close()
            throw error
        }
        // Closes the socket itself when it fails.
        try listen()
    }
}
#endif
