#if TestServer
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

/// Parses HTTP/1.1 requests (RFC 9112) from bytes that come in any portions.
struct RequestParser: Sendable {
    private let connection: Int
    private let bodyLimit: Int
    private var bytes: [UInt8] = []
    private var phase = Phase.requestLine
    private var body = Data()
    private var bodyByteCount = 0
    private var isBodyStreamed = false
    private var isContinueExpected = false

    init(connection: Int, bodyLimit: Int = .max) {
        self.connection = connection
        self.bodyLimit = bodyLimit
    }

    mutating func append(_ more: [UInt8]) {
        bytes += more
    }

    /// What the bytes so far have brought.
    enum Arrival: Sendable {
        /// A request without its body, which is still to come.
        case head(RecordedRequest)
        /// Some of a body that is streamed.
        case portion(Data)
        /// A request to its last byte, with its body unless that was streamed.
        case complete(RecordedRequest)
    }

    /// Hands the body of the request whose head has arrived out in portions, instead of keeping it.
    mutating func streamBody() {
        isBodyStreamed = true
    }

    /// Returns what has arrived next, and nil when more bytes are needed.
    mutating func next() throws(MalformedRequest) -> Arrival? {
        while true {
            switch phase {
            case .requestLine:
                guard let line = takeLine() else { return nil }
                // Empty lines before a request are skipped (section 2.2).
                if !line.isEmpty { phase = .fields(try parseRequestLine(line)) }

            case .fields(var request):
                guard let line = takeLine() else { return nil }
                if line.isEmpty {
                    phase = try bodyPhase(of: request)
                    return .head(request)
                } else {
                    request.headerFields.append(try parseField(line))
                    phase = .fields(request)
                }

            case .body(let request, let rest):
                let taken = takeBody(upTo: rest)
                phase = .body(request, rest - taken)
                if let portion = takePortion() { return .portion(portion) }
                guard taken == rest else { return nil }
                return .complete(finish(request))

            case .chunkSize(let request):
                guard let line = takeLine() else { return nil }
                let size = try parseChunkSize(line)
                phase = size == 0 ? .trailers(request) : .chunk(request, size)

            case .chunk(let request, let rest):
                let taken = takeBody(upTo: rest)
                phase = taken == rest ? .chunkEnd(request) : .chunk(request, rest - taken)
                if let portion = takePortion() { return .portion(portion) }
                guard taken == rest else { return nil }

            case .chunkEnd(let request):
                guard let end = take(2) else { return nil }
                guard end == [.carriageReturn, .lineFeed] else { throw MalformedRequest("chunk") }
                phase = .chunkSize(request)

            case .trailers(let request):
                guard let line = takeLine() else { return nil }
                if line.isEmpty { return .complete(finish(request)) }
            }
        }
    }

    /// Answers once whether the client waits for `100 Continue` before it sends the body.
    mutating func takeExpectation() -> Bool {
        defer { isContinueExpected = false }
        return isContinueExpected && bytes.isEmpty
    }
}

extension RequestParser {
    private enum Phase: Sendable {
        case requestLine
        case fields(RecordedRequest)
        case body(RecordedRequest, Int)
        case chunkSize(RecordedRequest)
        case chunk(RecordedRequest, Int)
        case chunkEnd(RecordedRequest)
        case trailers(RecordedRequest)
    }

    private mutating func finish(_ request: RecordedRequest) -> RecordedRequest {
        var request = request
        request.body = body
        request.bodyByteCount = bodyByteCount
        phase = .requestLine
        body = Data()
        bodyByteCount = 0
        isBodyStreamed = false
        isContinueExpected = false
        return request
    }

    private func parseRequestLine(_ line: String) throws(MalformedRequest) -> RecordedRequest {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "HTTP/1.1", let method = HTTPRequest.Method(rawValue: String(parts[0]))
        else { throw MalformedRequest(line) }
        return RecordedRequest(method: method, target: parts[1].withoutOrigin, connection: connection)
    }

    private func parseField(_ line: String) throws(MalformedRequest) -> HTTPField {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { throw MalformedRequest(line) }
        return HTTPField(name: name, value: String(parts[1]))
    }

    private mutating func bodyPhase(of request: RecordedRequest) throws(MalformedRequest) -> Phase {
        isContinueExpected = request.headerFields[.expect]?.lowercased() == "100-continue"
        switch (request.headerFields[.contentLength], request.headerFields[.transferEncoding]) {
        case (nil, nil):
            return .body(request, 0)
        case (let text?, nil):
            guard let length = Int(text), length >= 0 else { throw MalformedRequest("Content-Length: \(text)") }
            return .body(request, length)
        case (nil, let coding?) where coding.lowercased() == "chunked":
            return .chunkSize(request)
        case (_, let coding?):
            // Another coding, or both fields: the end of the body is anybody's guess (section 6.3).
            throw MalformedRequest("Transfer-Encoding: \(coding)")
        }
    }

    private func parseChunkSize(_ line: String) throws(MalformedRequest) -> Int {
        let digits = line.prefix { $0 != ";" && $0 != " " }
        guard let size = Int(digits, radix: 16), size >= 0 else { throw MalformedRequest(line) }
        return size
    }
}

extension RequestParser {
    /// Takes a line off the bytes and returns it without its end.
    private mutating func takeLine() -> String? {
        guard let end = bytes.firstIndex(of: .lineFeed) else { return nil }
        var line = bytes[..<end]
        if line.last == .carriageReturn { line.removeLast() }
        defer { bytes.removeFirst(end + 1) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Moves bytes that are there to the body, as many as belong to it and as it may keep, and answers how many there were.
    private mutating func takeBody(upTo count: Int) -> Int {
        let taken = min(count, bytes.count)
        let kept = isBodyStreamed ? taken : min(taken, max(0, bodyLimit - body.count))
        body.append(contentsOf: bytes[..<kept])
        bodyByteCount += taken
        if taken == bytes.count {
            bytes.removeAll(keepingCapacity: true)
        } else {
            bytes.removeFirst(taken)
        }
        return taken
    }

    /// Takes what there is of a body that is streamed.
    private mutating func takePortion() -> Data? {
        guard isBodyStreamed, !body.isEmpty else { return nil }
        defer { body = Data() }
        return body
    }

    private mutating func take(_ count: Int) -> [UInt8]? {
        guard bytes.count >= count else { return nil }
        defer { bytes.removeFirst(count) }
        return Array(bytes.prefix(count))
    }
}

extension Substring {
    /// The target without scheme and authority, which a client that believes in a proxy sends (section 3.2.2).
    fileprivate var withoutOrigin: Substring {
        guard !hasPrefix("/"), let scheme = firstRange(of: "://") else { return self }
        let rest = self[scheme.upperBound...]
        guard let path = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return rest[path] == "/" ? rest[path...] : "/" + rest[path...]
    }
}

extension UInt8 {
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
}
#endif
