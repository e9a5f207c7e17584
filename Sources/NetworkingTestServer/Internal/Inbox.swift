#if TestServer
import FoundationForNetworking

/// Parses the bytes of a socket into requests.
struct Inbox: Sendable {
    let socket: any ByteStream
    var parser: RequestParser

    /// Returns the next arrival, or `nil` if the client closes its side between or within requests.
    mutating func next() async throws -> RequestParser.Arrival? {
        while true {
            if let arrival = try parser.next() { return arrival }
            if parser.takeExpectation() { try await socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
            // Bytes beyond the allowance are left unread, so they block the client.
            guard let bytes = try await socket.read(atMost: parser.bodyAllowance ?? .max) else { return nil }
            parser.append(bytes)
        }
    }

    /// Returns the next chunk of a streamed body, at the reading pace of its response, or `nil` after the last one.
    mutating func nextBodyChunk(for response: TestResponse, clock: any Clock<Duration>) async throws -> Data? {
        while true {
            switch try await next() {
            case .chunk(let chunk): return chunk
            case .complete: return nil
            case .allowanceSpent:
                if let throttle = response.readingThrottle { try await clock.sleep(for: throttle.period) }
                parser.bodyAllowance = response.readingThrottle?.byteCount
            // The client disconnected within the body.
            case .head, nil: throw CancellationError()
            }
        }
    }

    /// Receives a body at the reading pace of its response.
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

    /// Returns the end of a body or of its allowance, or `nil` if the client disconnects first.
    ///
    /// The bytes of a streamed body are dropped.
    private mutating func nextOfBody() async throws -> RequestParser.Arrival? {
        while true {
            switch try await next() {
            case .chunk, .head: continue
            case let arrival: return arrival
            }
        }
    }

    /// Reads until the client closes its side or the task is cancelled, and returns the inbox with the bytes read.
    func readAhead() async -> Inbox {
        var inbox = self
        while let bytes = try? await socket.read() {
            inbox.parser.append(bytes)
        }
        return inbox
    }
}

extension Inbox {
    /// The outcome of receiving a body.
    enum Reception: Sendable {
        /// The body is complete.
        case complete(RecordedRequest)
        /// The client was not allowed to send the body.
        case refused(RecordedRequest)
        /// The response disconnects within the body.
        case cut(RecordedRequest, TestResponse.Disconnect?)
        /// The client closed its side.
        case left
    }
}
#endif
