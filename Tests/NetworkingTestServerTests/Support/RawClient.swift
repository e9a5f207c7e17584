#if TestServer
import FlyingSocks
import FoundationForNetworking
@testable import NetworkingTestServer

/// A client that sends and receives bytes, so that a test can check the exact bytes on the wire.
struct RawClient: Sendable {
    private let socket: LoopbackSocket
    private var received: [UInt8] = []

    init(to server: TestServer) async throws {
        socket = try await .connected(to: .inet(ip4: "127.0.0.1", port: UInt16(server.port)))
    }

    /// Connects without a suspension, so a server that closes the connection at once cannot make the connect fail.
    init(connectedAtOnceTo server: TestServer) async throws {
        let pool = try await EventLoop.pool
        socket = try .connectedAtOnce(to: .inet(ip4: "127.0.0.1", port: UInt16(server.port)), in: pool)
    }

    func send(_ text: String) async throws {
        try await socket.write(Data(text.utf8))
    }

    /// Returns everything up to and including a text.
    mutating func receive(through end: String) async throws -> String {
        let end = Array(end.utf8)
        while true {
            if let match = received.firstRange(of: end) { return take(match.upperBound) }
            try await receiveMore()
        }
    }

    mutating func receive(_ count: Int) async throws -> String {
        while received.count < count { try await receiveMore() }
        return take(count)
    }

    /// Returns everything until the server closes its side.
    mutating func receiveToEnd() async throws -> String {
        while let bytes = try await socket.read() { received += bytes }
        return take(received.count)
    }

    /// Returns everything until the server ends or resets the connection, and whether it was a reset.
    ///
    /// A read reports a reset or an end depending on when the reset arrives. Sending on a reset connection always
    /// fails.
    mutating func receiveToTheVeryEnd() async throws -> (String, isReset: Bool) {
        do {
            while let bytes = try await socket.read() { received += bytes }
            try await send("x")
            return (take(received.count), false)
        } catch is SocketError {
            return (take(received.count), true)
        }
    }

    /// Returns the head and body of one response as they are on the wire.
    mutating func receiveResponse() async throws -> String {
        let head = try await receive(through: "\r\n\r\n")
        if head.contains("Transfer-Encoding: chunked") { return try await head + receive(through: "0\r\n\r\n") }
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        guard let length, let count = Int(length.dropFirst("Content-Length: ".count)) else { return head }
        return try await head + receive(count)
    }

    func close() async {
        await socket.close()
    }

    private mutating func receiveMore() async throws {
        guard let bytes = try await socket.read() else { throw EndOfConnection() }
        received += bytes
    }

    private mutating func take(_ count: Int) -> String {
        defer { received.removeFirst(count) }
        return String(decoding: received.prefix(count), as: UTF8.self)
    }
}

extension RawClient {
    /// Whether a connection is established within a time limit.
    static func connects(toPort port: UInt16, within time: Duration) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    let socket = try await LoopbackSocket.connected(to: .inet(ip4: "127.0.0.1", port: port))
                    await socket.close()
                    return true
                } catch is CancellationError {
                    return false
                }
            }
            group.addTask {
                try await Task.sleep(for: time)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    struct EndOfConnection: Error {}
}

extension LoopbackSocket {
    fileprivate static func connectedAtOnce(
        to address: some SocketAddress,
        in pool: EventLoop.Pool
    ) throws -> LoopbackSocket {
        let socket = try Socket(domain: Int32(address.family), type: .stream)
        do {
            try socket.connect(to: address)
            return LoopbackSocket(try AsyncSocket(socket: socket, pool: pool), pool: pool)
        } catch {
            try? socket.close()
            throw error
        }
    }

    fileprivate static func connected(to address: some SocketAddress) async throws -> LoopbackSocket {
        let pool = try await EventLoop.pool
        let socket = try Socket(domain: Int32(address.family), type: .stream)
        let connecting = try AsyncSocket(socket: socket, pool: pool)
        do {
            try await connecting.connect(to: address)
            return LoopbackSocket(connecting, pool: pool)
        } catch {
            await connecting.end(in: pool)
            throw error
        }
    }
}
#endif
