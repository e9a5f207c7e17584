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

    /// Returns the next request, and nil when the client closes its side between or within requests.
    mutating func next() async throws -> RecordedRequest? {
        while true {
            if let request = try parser.next() { return request }
            if parser.takeExpectation() { try await socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
            guard let bytes = try await socket.read() else { return nil }
            parser.append(bytes)
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
