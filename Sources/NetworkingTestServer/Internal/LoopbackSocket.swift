#if TestServer
package import FlyingSocks
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif
#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

/// Reads from and writes to one connected socket, and closes it safely.
package struct LoopbackSocket: Sendable {
    private let socket: AsyncSocket
    private let pool: EventLoop.Pool

    package init(_ socket: AsyncSocket, pool: EventLoop.Pool) {
        self.socket = socket
        self.pool = pool
        // A head and a first piece are two small writes; Nagle's algorithm would hold the second back for the delayed
        // acknowledgement of the first. It fails on a connection that broke already, which the next read reports.
        try? socket.socket.setValue(true, for: BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY))
    }

    /// Returns the next bytes, and nil once the peer has closed its side.
    package func read(atMost count: Int = 65_536) async throws -> [UInt8]? {
        do {
            return try await socket.read(atMost: min(count, 65_536))
        } catch SocketError.disconnected {
            return nil
        }
    }

    package func write(_ data: Data) async throws {
        try await socket.write(data)
    }

    /// Has the peer get a reset when the connection is closed.
    func resetAtClose() {
        // With a lingering time of zero, closing drops what is unsent and resets. It fails on a connection that broke.
        try? socket.socket.setValue(linger(l_onoff: 1, l_linger: 0), for: LingerOption())
    }

    /// Closes this side for writing, so that the peer reads an end.
    func closeForWriting() {
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
    }

    /// Reads and drops what the peer sends until it closes its side: how a server waits for a client to hang up.
    func drain() async throws {
        while try await read() != nil {}
    }

    /// Closes the connection, which nobody may be using any more.
    package func close() async {
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
    /// Ends the socket for everybody and closes it; nobody may be waiting for it any more.
    package func end(in pool: EventLoop.Pool, isReset: Bool = false) async {
        // The pool resumes whoever waits for a socket *before* it takes the socket off its list. Closing the socket in
        // between would leave its number on the list, and the next socket with that number would never be woken.
        await pool.finishCurrentJob()
        // A process that a test starts inherits the socket and would keep the port open; closing is not enough. Before
        // a reset it would be too much: it sends an end.
        if !isReset {
            shutdown(socket.file.rawValue, Int32(SHUT_RDWR))
        }
        try? close()
    }
}

extension Actor {
    fileprivate func finishCurrentJob() {
        // A call that needs the actor: the optimiser removes a hop that nothing needs.
        preconditionIsolated()
    }
}
#endif
