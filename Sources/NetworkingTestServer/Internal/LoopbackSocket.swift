#if TestServer
private import CLibraryForNetworking
import FlyingSocks
import FoundationForNetworking

/// A connected socket that is read, written and closed safely.
struct LoopbackSocket: ByteStream {
    private let socket: AsyncSocket
    private let pool: EventLoop.Pool

    init(_ socket: AsyncSocket, pool: EventLoop.Pool) {
        self.socket = socket
        self.pool = pool
        // The head and the first chunk are two small writes. Nagle's algorithm would delay the second until the first
        // is acknowledged. Setting the option fails on a broken connection, which the next read reports.
        try? socket.socket.setValue(true, for: BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY))
    }

    func read(atMost count: Int) async throws -> [UInt8]? {
        do {
            return try await socket.read(atMost: min(count, 65_536))
        } catch SocketError.disconnected {
            return nil
        }
    }

    func write(_ data: Data) async throws {
        try await socket.write(data)
    }

    func resetAtClose() {
        // With a linger time of zero, closing drops unsent bytes and resets. Setting the option fails on a broken
        // connection.
        try? socket.socket.setValue(linger(l_onoff: 1, l_linger: 0), for: LingerOption())
    }

    func closeForWriting() {
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
    }

    func close() async {
        await socket.end(in: pool, isReset: LingerOption().isSet(for: socket.socket))
    }
}

private struct LingerOption: SocketOption {
    typealias Value = linger
    typealias SocketValue = linger

    let name = Int32(SO_LINGER)

    func makeValue(from socketValue: linger) -> linger {
        socketValue
    }

    func makeSocketValue(from value: linger) -> linger {
        value
    }

    func isSet(for socket: Socket) -> Bool {
        (try? socket.getValue(for: self))?.l_onoff == 1
    }
}

extension AsyncSocket {
    /// Ends and closes the socket.
    ///
    /// No task may be waiting for it.
    func end(in pool: EventLoop.Pool, isReset: Bool = false) async {
        // The pool resumes a waiter *before* it removes the socket from its list. Closing the socket in between would
        // leave its number on the list, and the next socket with that number would never be woken.
        await pool.finishCurrentJob()
        // A child process of a test inherits the socket and would keep the port open, so closing alone is not enough.
        // Before a reset, a shutdown would be wrong because it sends an end.
        if !isReset {
            shutdown(socket.file.rawValue, Int32(SHUT_RDWR))
        }
        try? close()
    }
}

extension Actor {
    fileprivate func finishCurrentJob() {
        // This call needs the actor. Without it, the optimizer removes the hop.
        preconditionIsolated()
    }
}
#endif
