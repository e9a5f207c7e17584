#if TestServer
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes requests of the bytes that a socket brings.
struct Inbox: Sendable {
    let socket: LoopbackSocket
    var parser: RequestParser

    /// Returns what arrives next, and nil when the client closes its side between or within requests.
    mutating func next() async throws -> RequestParser.Arrival? {
        while true {
            if let arrival = try parser.next() { return arrival }
            if parser.takeExpectation() { try await socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
            guard let bytes = try await socket.read() else { return nil }
            parser.append(bytes)
        }
    }

    /// Returns the next portion of a body that is streamed, and nil behind the last one.
    mutating func nextPortion() async throws -> Data? {
        switch try await next() {
        case .portion(let portion): portion
        case .complete: nil
        // The client left within the body.
        case .head, nil: throw CancellationError()
        }
    }

    /// Reads until the client closes its side or the task is cancelled, and returns the inbox with what was read.
    func readAhead() async -> Inbox {
        var inbox = self
        while let bytes = try? await socket.read() {
            inbox.parser.append(bytes)
        }
        return inbox
    }
}
#endif
