#if TestServer
private import FlyingSocks
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
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

/// Runs a closure with the URL of a loopback port on which nobody ever completes a connection.
///
/// It is how a host behind a firewall behaves that drops what it does not like: connecting neither succeeds nor fails.
/// The port listens, its queue is full, and nobody takes anything out of it.
///
/// ```swift
/// try await withUnresponsiveServer { url in
///     …
/// }
/// ```
///
/// - Parameter body: Uses the URL.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, or the error of the socket when loopback cannot be listened on.
public func withUnresponsiveServer<Result>(
    _ body: nonisolated(nonsending) (URL) async throws -> Result
) async throws -> Result {
    let listener = try Socket(domain: Int32(AF_INET), type: .stream)
    defer { try? listener.close() }
    try listener.bind(to: sockaddr_in.inet(ip4: "127.0.0.1", port: 0))
    guard case .ip4(_, let port) = try listener.sockname() else { throw SocketError.unsupportedAddress }
    // Closes the socket itself when it fails. A queue of zero holds one connection on Linux, and a few elsewhere.
    try listener.listen(maxPendingConnection: 0)

    var fillers: [Socket] = []
    defer {
        for filler in fillers {
            try? filler.close()
        }
    }
    for _ in 1...8 {
        let filler = try Socket(domain: Int32(AF_INET), type: .stream)
        fillers.append(filler)
        try filler.setFlags(.nonBlocking)
        // The first is there at once; the others go on trying, which is what fills the queue.
        try? filler.connect(to: sockaddr_in.inet(ip4: "127.0.0.1", port: port))
    }
    // Four numbers and a port always make a URL.
    return try await body(URL(string: "http://127.0.0.1:\(port)")!)
}
#endif
