#if TestServer
import FoundationForNetworking

/// A connection of a client, as bytes in both directions.
protocol ByteStream: Sendable {
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
    func read() async throws -> [UInt8]? {
        try await read(atMost: 65_536)
    }

    /// Reads and drops bytes until the client closes its side.
    func drain() async throws {
        while try await read() != nil {}
    }
}
#endif
