#if TestServer
package import FoundationForNetworking

/// A connection of a client, as bytes in both directions.
package protocol ByteStream: Sendable {
    /// Returns the next bytes, or `nil` if the client has closed its side.
    ///
    /// A cancelled task loses no bytes.
    func read(atMost count: Int) async throws -> [UInt8]?

    /// Sends bytes, and returns when they are on their way.
    func write(_ data: Data) async throws

    /// Makes ``close()`` reset the connection.
    func resetAtClose()

    /// Closes this side for writing, so that the client reads an end.
    func closeForWriting()

    /// Closes the connection. No task may be using it any more.
    func close() async
}

extension ByteStream {
    /// Returns the next bytes, or `nil` if the client has closed its side.
    package func read() async throws -> [UInt8]? {
        try await read(atMost: 65_536)
    }

    /// Reads and drops bytes until the client closes its side.
    package func drain() async throws {
        while try await read() != nil {}
    }
}

/// Accepts connections on a port of loopback.
protocol Listening: Sendable {
    /// The port, which the system has chosen if it was 0.
    var port: Int { get }

    /// Serves until the task is cancelled, and returns when all connections are closed and their handlers have ended.
    func serve(_ switchboard: Switchboard) async
}
#endif
