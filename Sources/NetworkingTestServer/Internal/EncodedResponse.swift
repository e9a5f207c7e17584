#if TestServer
import FoundationForNetworking
import HTTPTypes

/// A response encoded as the chunks that are sent.
struct EncodedResponse: Sendable {
    /// The chunks to send, starting with the head, each with its delay and gate.
    let chunks: [TestResponse.Chunk]

    /// The effect on the connection after the last chunk.
    let ending: Ending

    enum Ending: Sendable {
        /// The connection takes the next request.
        case next
        /// Both sides are closed.
        case close
        /// The connection is reset.
        case reset
        /// Nothing more is sent until the client disconnects.
        case stall
        /// This side is closed, and the client's side stays open until the client closes it.
        case halfClose
    }

    /// Encodes the response to a request.
    ///
    /// It is the last response of the connection if `isLast` is `true` or if the request has `Connection: close`.
    init(_ response: TestResponse, to request: RecordedRequest, isLast: Bool = false) {
        var response = response
        if response.body.isEcho { response.body = .chunks([TestResponse.Chunk(request.body)]) }
        self.init(
            response,
            isHead: request.method == .head,
            isLast: isLast || request.headerFields.closesConnection
        )
    }

    /// Encodes a response, without its body for `HEAD`.
    ///
    /// It is the last response of the connection if `isLast` is `true`, or if the response itself closes it.
    init(_ response: TestResponse, isHead: Bool = false, isLast: Bool) {
        if case .hangUp = response.body {
            // The empty chunk carries the delay of the head, which is not sent.
            chunks = response.informational.map(\.chunk) + [TestResponse.Chunk(Data(), delay: response.delay)]
            ending = .close
            return
        }
        if case .raw(let steps) = response.body {
            chunks = steps.flatMap(\.chunks)
            ending = steps.last?.ending ?? .close
            return
        }
        let hasNoBody = response.status.hasNoBody
        let body = response.trailerFields.isEmpty ? response.body : response.body.inChunks
        var fields = response.headerFields
        if !hasNoBody { fields.addFraming(of: body) }

        let sendsBody = !isHead && !hasNoBody
        let isTruncated = sendsBody && fields.isContentLengthWrong(for: body)
        let closesConnection = isLast || isTruncated || fields.closesConnection
        if closesConnection, fields[.connection] == nil { fields[.connection] = "close" }

        var chunks = response.informational.map(\.chunk)
        let stage = response.disconnect?.stage
        if stage == .responseStart {
            chunks.append(TestResponse.Chunk(Data(), delay: response.delay))
        } else {
            chunks.append(TestResponse.Chunk(fields.head(with: response.status), delay: response.delay))
            if sendsBody, stage != .responseHead { chunks += body.encodedChunks(of: response) }
        }
        if let disconnect = response.disconnect {
            ending = Ending(disconnect.effect)
            if let gate = disconnect.gate { chunks.append(TestResponse.Chunk(Data(), gate: gate)) }
        } else {
            ending = closesConnection ? .close : .next
        }
        self.chunks = chunks
    }
}

extension EncodedResponse.Ending {
    init(_ effect: TestResponse.SocketEffect) {
        switch effect {
        case .close: self = .close
        case .reset: self = .reset
        case .halfClose: self = .halfClose
        case .stall: self = .stall
        }
    }
}

extension TestResponse.Body {
    /// Whether the body is the body of the request.
    var isEcho: Bool {
        if case .echo = self { true } else { false }
    }

    /// The body in the chunked coding, which allows trailers.
    fileprivate var inChunks: Self {
        switch self {
        case .data(let data): .chunks(data.isEmpty ? [] : [TestResponse.Chunk(data)])
        case .sized(let chunks): .chunks(chunks)
        case .chunks, .echo, .hangUp, .raw: self
        }
    }

    /// Returns the chunks after the head, paced and truncated as the response requires.
    fileprivate func encodedChunks(of response: TestResponse) -> [TestResponse.Chunk] {
        var chunks = content
        if case .responseBody(after: let count) = response.disconnect?.stage, count <= chunks.byteCount {
            chunks = isChunked ? chunks.chunked(cutAfter: count) : chunks.cut(after: count)
        } else if isChunked {
            chunks = chunks.map(\.chunked) + response.trailingChunks
        }
        if !chunks.isEmpty { chunks[0].delay += response.bodyDelay }
        guard let throttle = response.throttle else { return chunks }
        var pace = Pace(throttle)
        return chunks.flatMap { pace.chunks(of: $0) }
    }

    private var isChunked: Bool {
        if case .chunks = self { true } else { false }
    }

    /// The bytes without a transfer coding.
    private var content: [TestResponse.Chunk] {
        switch self {
        case .hangUp, .raw: []
        // The caller replaces this case with the bytes that have arrived.
        case .echo: []
        case .data(let data): data.isEmpty ? [] : [TestResponse.Chunk(data)]
        case .sized(let chunks), .chunks(let chunks): chunks
        }
    }

    /// The number of bytes sent without a transfer coding; `nil` with a transfer coding.
    fileprivate var count: Int? {
        switch self {
        case .hangUp, .raw, .echo: 0
        case .data, .sized: content.byteCount
        case .chunks: nil
        }
    }
}

extension TestResponse {
    /// The end of the chunked coding, with the trailers.
    var trailingChunks: [Chunk] {
        let trailers = Data(trailerFields.lines.utf8)
        guard trailersDelay > .zero, !trailerFields.isEmpty else { return [Chunk(Data("0\r\n".utf8) + trailers)] }
        return [Chunk("0\r\n"), Chunk(trailers, delay: trailersDelay)]
    }
}

extension TestResponse.Informational {
    /// The response as bytes, with its delay and gate.
    var chunk: TestResponse.Chunk {
        TestResponse.Chunk(headerFields.head(with: status), delay: delay, gate: gate)
    }
}

extension [TestResponse.Chunk] {
    fileprivate var byteCount: Int {
        reduce(0) { $0 + $1.data.count }
    }

    /// Returns the first bytes, in their chunks.
    fileprivate func cut(after count: Int) -> Self {
        var rest = count
        var chunks: Self = []
        for var chunk in self where rest > 0 {
            chunk.data = chunk.data.prefix(rest)
            rest -= chunk.data.count
            chunks.append(chunk)
        }
        return chunks
    }

    /// Returns the first bytes in the chunked coding.
    ///
    /// The truncated chunk still announces its full size.
    fileprivate func chunked(cutAfter count: Int) -> Self {
        var rest = count
        var chunks: Self = []
        for chunk in self where rest > 0 {
            var coded = chunk.chunked
            if chunk.data.count > rest { coded.data.removeLast(chunk.data.count - rest + 2) }
            rest -= Swift.min(rest, chunk.data.count)
            chunks.append(coded)
        }
        return chunks
    }
}

extension TestResponse.Chunk {
    /// The chunk in the chunked transfer coding.
    ///
    /// An empty chunk stays without bytes, because a chunk of size zero would end the body.
    var chunked: TestResponse.Chunk {
        var chunk = self
        if !data.isEmpty {
            chunk.data = Data("\(String(data.count, radix: 16))\r\n".utf8) + data + Data("\r\n".utf8)
        }
        return chunk
    }
}

extension HTTPResponse.Status {
    /// Whether a response has no body, whatever its fields say (RFC 9112, section 6.3).
    fileprivate var hasNoBody: Bool {
        kind == .informational || self == .noContent || self == .notModified
    }
}

extension HTTPFields {
    /// Whether `Connection` names `close`.
    fileprivate var closesConnection: Bool {
        (self[.connection] ?? "").lowercased().split { $0 == "," || $0 == " " }.contains("close")
    }

    fileprivate mutating func addFraming(of body: TestResponse.Body) {
        guard self[.transferEncoding] == nil else { return }
        if let count = body.count {
            if self[.contentLength] == nil { self[.contentLength] = String(count) }
        } else {
            self[.transferEncoding] = "chunked"
        }
    }

    fileprivate func isContentLengthWrong(for body: TestResponse.Body) -> Bool {
        guard let count = body.count, let length = self[.contentLength] else { return false }
        return length != String(count)
    }

    fileprivate func head(with status: HTTPResponse.Status) -> Data {
        Data("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\(lines)".utf8)
    }

    /// The fields, one per line, and the empty line after them.
    fileprivate var lines: String {
        map { "\($0.name.rawName): \($0.value)\r\n" }.joined() + "\r\n"
    }
}
#endif
