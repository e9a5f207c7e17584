#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// Parses HTTP/1.1 requests (RFC 9112) from bytes in chunks of any size.
struct RequestParser: Sendable {
    private let connection: Int
    private let bodyLimit: Int
    private let httpVersion: String
    private var bytes: [UInt8] = []
    private var phase = Phase.requestLine
    private var body = Data()
    private var bodyByteCount = 0
    private var isBodyStreamed = false
    private var isContinueExpected = false
    private var chunkSizes: [Int] = []
    private var requestCount: Int

    /// The number of bytes of the body that may be read before ``Arrival/allowanceSpent``; `nil` for no limit.
    var bodyAllowance: Int?

    init(connection: Int, bodyLimit: Int = .max, httpVersion: String = "HTTP/1.1", earlierRequests: Int = 0) {
        self.connection = connection
        self.bodyLimit = bodyLimit
        self.httpVersion = httpVersion
        requestCount = earlierRequests
    }

    mutating func append(_ more: [UInt8]) {
        bytes += more
    }

    /// An event of the parser.
    enum Arrival: Sendable {
        /// A request without its body, which has not arrived yet.
        case head(RecordedRequest)
        /// A chunk of a streamed body.
        case chunk(Data)
        /// The allowance of the body is spent, and more of the body follows.
        case allowanceSpent
        /// A complete request, with its body unless that was streamed.
        case complete(RecordedRequest)
    }

    /// Returns the body of the current request in chunks instead of storing it.
    mutating func streamBody() {
        isBodyStreamed = true
    }

    /// Returns the next event, or `nil` if more bytes are needed.
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
                    if case .body(_, 0) = phase {
                        request.isComplete = true
                        phase = .body(request, 0)
                    }
                    return .head(request)
                } else {
                    request.headerFields.append(try parseField(line))
                    phase = .fields(request)
                }

            case .body(let request, let rest):
                let taken = takeBody(upTo: rest)
                phase = .body(request, rest - taken)
                if let chunk = takeBodyChunk() { return .chunk(chunk) }
                if taken == rest { return .complete(finish(request)) }
                return isAllowanceSpent ? .allowanceSpent : nil

            case .chunkSize(let request):
                guard let line = takeLine() else { return nil }
                let size = try parseChunkSize(line)
                if size > 0 { chunkSizes.append(size) }
                phase = size == 0 ? .trailers(request) : .chunk(request, size)

            case .chunk(let request, let rest):
                let taken = takeBody(upTo: rest)
                phase = taken == rest ? .chunkEnd(request) : .chunk(request, rest - taken)
                if let chunk = takeBodyChunk() { return .chunk(chunk) }
                if isAllowanceSpent { return .allowanceSpent }
                guard taken == rest else { return nil }

            case .chunkEnd(let request):
                // A chunk is returned before the parser reports that it spends the allowance.
                if isAllowanceSpent { return .allowanceSpent }
                guard let end = take(2) else { return nil }
                guard end == [.carriageReturn, .lineFeed] else { throw MalformedRequest("chunk") }
                phase = .chunkSize(request)

            case .trailers(var request):
                guard let line = takeLine() else { return nil }
                if line.isEmpty { return .complete(finish(request)) }
                request.trailerFields.append(try parseField(line))
                phase = .trailers(request)
            }
        }
    }

    /// Returns once whether the client waits for `100 Continue` before it sends the body.
    mutating func takeExpectation() -> Bool {
        defer { isContinueExpected = false }
        return isContinueExpected && bytes.isEmpty
    }

    /// Sends no `100 Continue`, even if the client waits for it.
    mutating func ignoreExpectation() {
        isContinueExpected = false
    }

    /// The request in progress, with the part of its body received so far; `nil` if there is none.
    var incompleteRequest: RecordedRequest? {
        switch phase {
        case .requestLine, .fields: nil
        case .body(let request, _), .chunkSize(let request), .chunk(let request, _), .chunkEnd(let request),
            .trailers(let request):
            filled(request)
        }
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
        var request = filled(request)
        request.isComplete = true
        phase = .requestLine
        body = Data()
        bodyByteCount = 0
        bodyAllowance = nil
        chunkSizes = []
        isBodyStreamed = false
        isContinueExpected = false
        return request
    }

    private func filled(_ request: RecordedRequest) -> RecordedRequest {
        var request = request
        request.body = body
        request.bodyByteCount = bodyByteCount
        request.chunkSizes = chunkSizes
        return request
    }

    private var isAllowanceSpent: Bool {
        bodyAllowance == 0
    }

    private mutating func parseRequestLine(_ line: String) throws(MalformedRequest) -> RecordedRequest {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2] == "HTTP/1.1", let method = HTTPRequest.Method(rawValue: String(parts[0]))
        else { throw MalformedRequest(line) }
        requestCount += 1
        var request = RecordedRequest(method: method, target: parts[1].withoutOrigin, connection: connection)
        request.numberOnConnection = requestCount
        request.httpVersion = httpVersion
        request.isComplete = false
        return request
    }

    private func parseField(_ line: String) throws(MalformedRequest) -> HTTPField {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { throw MalformedRequest(line) }
        return HTTPField(name: name, value: String(parts[1]))
    }

    private mutating func bodyPhase(of request: RecordedRequest) throws(MalformedRequest) -> Phase {
        isContinueExpected = request.expectsContinue
        switch (request.headerFields[.contentLength], request.headerFields[.transferEncoding]) {
        case (nil, nil):
            return .body(request, 0)
        case (let text?, nil):
            guard let length = DecimalDigits.number(text.utf8).flatMap({ Int(exactly: $0) }) else {
                throw MalformedRequest("Content-Length: \(text)")
            }
            return .body(request, length)
        case (nil, let coding?) where coding.lowercased() == "chunked":
            return .chunkSize(request)
        case (_, let coding?):
            // With another coding, or both fields, the end of the body is ambiguous (section 6.3).
            throw MalformedRequest("Transfer-Encoding: \(coding)")
        }
    }

    private func parseChunkSize(_ line: String) throws(MalformedRequest) -> Int {
        let digits = line.prefix { $0 != ";" && $0 != " " }
        guard let size = Hexadecimal.number(digits.utf8).flatMap({ Int(exactly: $0) }) else {
            throw MalformedRequest(line)
        }
        return size
    }
}

extension RequestParser {
    /// Removes a line from the bytes and returns it without its line end.
    private mutating func takeLine() -> String? {
        guard let end = bytes.firstIndex(of: .lineFeed) else { return nil }
        var line = bytes[..<end]
        if line.last == .carriageReturn { line.removeLast() }
        defer { bytes.removeFirst(end + 1) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Moves received bytes into the body, up to its size and its limit, and returns the number of bytes moved.
    private mutating func takeBody(upTo count: Int) -> Int {
        let taken = min(count, bytes.count, bodyAllowance ?? .max)
        if let bodyAllowance { self.bodyAllowance = bodyAllowance - taken }
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

    /// Removes and returns the received bytes of a streamed body.
    private mutating func takeBodyChunk() -> Data? {
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
    /// The target without scheme and authority, which a client sends to a proxy (section 3.2.2).
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
