#if LoopbackRedirect && (os(Linux) || os(macOS))
import Foundation

/// A connection to a port of the loopback address that sends only the bytes that a test writes.
final class RawConnection: Sendable {
    private let socket: Int32

    struct Refused: Error {}

    init(port: Int, isIPv6: Bool = false) throws {
        socket = Self.makeSocket(isIPv6 ? AF_INET6 : AF_INET)
        guard !isIPv6 else {
            let socket = socket
            guard Self.withIPv6Address(port, { connect(socket, $0, $1) }) == 0 else { throw Refused() }
            return
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Refused() }
    }

    deinit {
        close(socket)
    }

    static func makeSocket(_ family: Int32) -> Int32 {
        // SOCK_STREAM, which is an integer on Apple platforms and a structure on Linux.
        Foundation.socket(family, 1, 0)
    }

    static func closeSocket(_ socket: Int32) {
        close(socket)
    }

    /// Passes the address of a port of `::1` to a function of the system.
    static func withIPv6Address(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = in_port_t(port).bigEndian
        inet_pton(AF_INET6, "::1", &address.sin6_addr)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        #if canImport(Darwin)
        let flags: Int32 = 0
        #else
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        _ = Foundation.send(socket, bytes, bytes.count, flags)
    }

    /// Returns the received text after the other side has closed the connection.
    func rest() async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async { [self] in
                    var bytes: [UInt8] = []
                    var chunk = [UInt8](repeating: 0, count: 4_096)
                    while case let count = recv(socket, &chunk, chunk.count, 0), count > 0 {
                        bytes += chunk.prefix(count)
                    }
                    continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
                }
        }
    }

    /// Sends a GET request and returns the whole response.
    static func get(_ target: String, host: String, port: Int) async throws -> String {
        try await send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", port: port)
    }

    /// Sends a request and returns the whole response.
    static func send(_ request: String, port: Int) async throws -> String {
        let connection = try RawConnection(port: port)
        connection.send(request)
        return await connection.rest()
    }
}
#endif
