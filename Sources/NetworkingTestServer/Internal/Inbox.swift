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
            // Bytes that may not be taken yet stay with the client.
            guard let bytes = try await socket.read(atMost: parser.bodyAllowance ?? .max) else { return nil }
            parser.append(bytes)
        }
    }

    /// Returns the next chunk of a body that is streamed, as slowly as its answer has it read, and nil behind the last
    /// one.
    mutating func nextPortion(for response: TestResponse, clock: any Clock<Duration>) async throws -> Data? {
        while true {
            switch try await next() {
            case .chunk(let chunk): return chunk
            case .complete: return nil
            case .allowanceSpent:
                if let throttle = response.readingThrottle { try await clock.sleep(for: throttle.period) }
                parser.bodyAllowance = response.readingThrottle?.byteCount
            // The client left within the body.
            case .head, nil: throw CancellationError()
            }
        }
    }

    /// Receives a body in the way its answer has it.
    mutating func receiveBody(for response: TestResponse, clock: any Clock<Duration>) async throws -> Reception {
        switch response.expectation {
        case .continued: break
        case .ignored: parser.ignoreExpectation()
        case .refused:
            if parser.takeExpectation(), let request = parser.incompleteRequest { return .refused(request) }
        }
        let disconnect = response.disconnect.flatMap { $0.stage.isWithinRequest ? $0 : nil }
        var rest = Int.max
        switch disconnect?.stage {
        case .requestHead:
            guard let request = parser.incompleteRequest else { return .left }
            return .cut(request, disconnect)
        case .requestBody(after: let count): rest = count
        default: break
        }
        let chunk = response.readingThrottle?.byteCount ?? .max
        while true {
            let granted = min(chunk, rest)
            parser.bodyAllowance = granted == .max ? nil : granted
            guard let arrival = try await nextOfBody() else { return .left }
            if case .complete(let request) = arrival {
                return disconnect == nil ? .complete(request) : .cut(request, disconnect)
            }
            rest -= granted
            if rest == 0, let request = parser.incompleteRequest { return .cut(request, disconnect) }
            if let throttle = response.readingThrottle { try await clock.sleep(for: throttle.period) }
        }
    }

    /// Returns the end of a body or of what may be taken of it, and nil when the client leaves before; a streamed body
    /// is dropped.
    private mutating func nextOfBody() async throws -> RequestParser.Arrival? {
        while true {
            switch try await next() {
            case .chunk, .head: continue
            case let arrival: return arrival
            }
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

extension Inbox {
    /// How the receiving of a body ended.
    enum Reception: Sendable {
        /// All of it is there.
        case complete(RecordedRequest)
        /// The client was not allowed to send it.
        case refused(RecordedRequest)
        /// The answer breaks the exchange off.
        case cut(RecordedRequest, TestResponse.Disconnect?)
        /// The client closed its side.
        case left
    }
}
#endif
