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
    private var isContinueExpected = false

    init(connection: Int, bodyLimit: Int = .max) {
        self.connection = connection
        self.bodyLimit = bodyLimit
    }

    mutating func append(_ more: [UInt8]) {
        bytes += more
    }

    /// Returns the next complete request, and nil when more bytes are needed.
    mutating func next() throws(MalformedRequest) -> RecordedRequest? {
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
                } else {
                    request.headerFields.append(try parseField(line))
                    phase = .fields(request)
                }

            case .body(var request, let rest):
                // What would share the bytes would copy them at every portion.
                phase = .requestLine
                let taken = takeBody(of: &request, upTo: rest)
                guard taken == rest else {
                    phase = .body(request, rest - taken)
                    return nil
                }
                return finish(request)

            case .chunkSize(let request):
                guard let line = takeLine() else { return nil }
                let size = try parseChunkSize(line)
                phase = size == 0 ? .trailers(request) : .chunk(request, size)

            case .chunk(var request, let rest):
                phase = .requestLine
                let taken = takeBody(of: &request, upTo: rest)
                phase = taken == rest ? .chunkEnd(request) : .chunk(request, rest - taken)
                guard taken == rest else { return nil }

            case .chunkEnd(let request):
                guard let end = take(2) else { return nil }
                guard end == [.carriageReturn, .lineFeed] else { throw MalformedRequest("chunk") }
                phase = .chunkSize(request)

            case .trailers(let request):
                guard let line = takeLine() else { return nil }
                if line.isEmpty { return finish(request) }
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
        phase = .requestLine
        isContinueExpected = false
        return request
    }

    private func parseRequestLine(_ line: String) throws(MalformedRequest) -> RecordedRequest {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "HTTP/1.1", let method = HTTPRequest.Method(rawValue: String(parts[0]))
        else { throw MalformedRequest(line) }
        let target = parts[1].withoutOrigin.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return RecordedRequest(
            method: method,
            path: String(target[0]),
            query: target.count == 2 ? String(target[1]) : nil,
            headerFields: [:],
            body: Data(),
            bodyByteCount: 0,
            connection: connection,
            parameters: [:]
        )
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

    /// Moves bytes that are there to a body, as many as belong to it and as it may keep, and answers how many there were.
    private mutating func takeBody(of request: inout RecordedRequest, upTo count: Int) -> Int {
        let taken = min(count, bytes.count)
        let kept = min(taken, max(0, bodyLimit - request.body.count))
        request.body.append(contentsOf: bytes[..<kept])
        request.bodyByteCount += taken
        if taken == bytes.count {
            bytes.removeAll(keepingCapacity: true)
        } else {
            bytes.removeFirst(taken)
        }
        return taken
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
