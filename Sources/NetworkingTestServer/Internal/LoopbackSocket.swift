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
    package func read() async throws -> [UInt8]? {
        do {
            return try await socket.read(atMost: 4096)
        } catch SocketError.disconnected {
            return nil
        }
    }

    package func write(_ data: Data) async throws {
        try await socket.write(data)
    }

    /// Closes the connection, which nobody may be using any more.
    package func close() async {
        await socket.end(in: pool)
    }
}

extension AsyncSocket {
    /// Ends the socket for everybody and closes it; nobody may be waiting for it any more.
    package func end(in pool: EventLoop.Pool) async {
        // The pool resumes whoever waits for a socket *before* it takes the socket off its list. Closing the socket in
        // between would leave its number on the list, and the next socket with that number would never be woken.
        await pool.finishCurrentJob()
        // A process that a test starts inherits the socket and would keep the port open; closing is not enough.
        shutdown(socket.file.rawValue, Int32(SHUT_RDWR))
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
