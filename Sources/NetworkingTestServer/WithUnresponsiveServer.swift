#if TestServer
import CLibraryForNetworking
import FlyingSocks
public import FoundationForNetworking

/// Runs a closure with the URL of a loopback port that never completes a connection.
///
/// A host behind a firewall that drops packets behaves like this: connecting neither succeeds nor fails. The port
/// listens with a full queue, and no connection is accepted.
///
/// ```swift
/// try await withUnresponsiveServer { url in
///     let network = URLSession.shared.timeout(connect: .seconds(1))
///     await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(url: url)) }
/// }
/// ```
///
/// - Parameter body: A closure that uses the URL.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the error of the socket if loopback is not available.
public func withUnresponsiveServer<Result>(
    _ body: nonisolated(nonsending) (URL) async throws -> Result
) async throws -> Result {
    let listener = try Socket(domain: Int32(AF_INET), type: .stream)
    defer { try? listener.close() }
    try listener.bindToLoopback(port: 0)
    guard case .ip4(_, let port) = try listener.sockname() else { throw SocketError.unsupportedAddress }
    // `listen` closes the socket itself if it fails. A queue of zero holds one connection on Linux, and a few
    // elsewhere.
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
        // The first connects at once. The others keep trying, which fills the queue.
        try? filler.connectToLoopback(port: port)
    }
    // Four numbers and a port are always a valid URL.
    return try await body(URL(string: "http://127.0.0.1:\(port)")!)
}
#endif
