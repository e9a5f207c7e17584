#if TestServer
import CLibraryForNetworking
import FlyingSocks

/// Accepts connections on a port of loopback.
protocol Listening: Sendable {
    /// The port, which the system has chosen if it was 0.
    var port: Int { get }

    /// Serves until the task is cancelled, and returns when all connections are closed and their handlers have ended.
    func serve(_ switchboard: Switchboard) async
}

/// Listens on a loopback port and serves each connection in its own task.
///
/// The listener uses the sockets of FlyingFox but not its `HTTPServer`. That one keeps only the last of repeated
/// request fields, sorts and joins response fields, and adds `Content-Length: 0` to 204 and 304 and a body to `HEAD`.
/// It cannot disconnect without a response and does not notice a client that disconnects.
struct Listener: Listening {
    let port: Int
    private let socket: AsyncSocket
    private let pool: EventLoop.Pool

    /// Listens on a port, or on a free one if the port is zero.
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

    func serve(_ switchboard: Switchboard) async {
        await withDiscardingTaskGroup { connections in
            while !Task.isCancelled {
                guard let peer = await Self.accepted(socket.accept) else { continue }
                let (number, effect) = switchboard.addConnection()
                let connection = Connection(
                    socket: LoopbackSocket(peer, pool: pool),
                    number: number,
                    switchboard: switchboard
                )
                connections.addTask {
                    await connection.serve(effect)
                    switchboard.removeConnection(number)
                }
            }
            connections.cancelAll()
        }
        await socket.end(in: pool)
        switchboard.close()
    }

    /// Accepts a connection; returns `nil` if that fails, after a pause.
    ///
    /// A connection can break before it is accepted, and file descriptors can be exhausted for some time. The call then
    /// fails at once, so that without a pause the listener would occupy a thread.
    static func accepted<Peer>(
        pausing pause: () async -> Void = { try? await Task.sleep(for: .milliseconds(10)) },
        _ accept: () async throws -> Peer
    ) async -> Peer? {
        do {
            return try await accept()
        } catch {
            await pause()
            return nil
        }
    }
}

extension Socket {
    fileprivate init(listeningAt port: Int) throws {
        try self.init(domain: Int32(AF_INET), type: .stream)
        do {
            #if canImport(Darwin)
            // Accepted sockets inherit this option. Elsewhere FlyingSocks passes MSG_NOSIGNAL with each write.
            try setValue(true, for: .noSIGPIPE)
            #endif
            // Closed connections block their port for some time unless both sides have this option. A free port is
            // chosen without it, so that the port is unused. Its connections still get the option, for a restart.
            if port != 0 { try setValue(true, for: .localAddressReuse) }
            try bindToLoopback(port: UInt16(port))
            if port == 0 { try setValue(true, for: .localAddressReuse) }
        } catch {
            try? close()
            throw error
        }
        // `listen()` closes the socket itself if it fails.
        try listen()
    }
}
#endif
