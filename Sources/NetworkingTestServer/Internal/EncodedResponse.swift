#if TestServer
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes

/// Holds a response as the pieces of bytes that go onto the wire.
struct EncodedResponse: Sendable {
    /// What is sent, the head first; each piece says what has to happen before it.
    let pieces: [TestResponse.Chunk]

    /// What becomes of the connection behind the last piece.
    let ending: Ending

    enum Ending: Sendable {
        /// It takes the next request.
        case next
        /// Both sides are closed.
        case close
        /// It is reset.
        case reset
        /// Nothing more is sent until the client hangs up.
        case stall
        /// This side is closed, and the client's is waited for.
        case halfClose
    }

    /// Encodes the answer to a request.
    init(_ response: TestResponse, to request: RecordedRequest) {
        var response = response
        if response.body.isEcho { response.body = .chunks([TestResponse.Chunk(request.body)]) }
        self.init(response, isHead: request.method == .head, isLast: request.headerFields.closesConnection)
    }

    /// Encodes an answer that may be bodiless, because of `HEAD`, and the last one of its connection.
    init(_ response: TestResponse, isHead: Bool = false, isLast: Bool) {
        if case .hangUp = response.body {
            // The empty piece carries the delay of the head that is not sent.
            pieces = [TestResponse.Chunk(Data(), delay: response.delay)]
            ending = .close
            return
        }
        if case .raw(let steps) = response.body {
            pieces = steps.flatMap(\.pieces)
            ending = steps.last?.ending ?? .close
            return
        }
        let hasNoBody = response.status.hasNoBody
        var fields = response.headerFields
        if !hasNoBody { fields.addFraming(of: response.body) }

        let sendsBody = !isHead && !hasNoBody
        let isTruncated = sendsBody && fields.isContentLengthWrong(for: response.body)
        let closesConnection = isLast || isTruncated || fields.closesConnection
        if closesConnection, fields[.connection] == nil { fields[.connection] = "close" }

        ending = closesConnection ? .close : .next
        let head = TestResponse.Chunk(fields.head(with: response.status), delay: response.delay)
        pieces = sendsBody ? [head] + response.body.pieces : [head]
    }
}

extension TestResponse.Body {
    /// Whether it is made of what the client sends.
    var isEcho: Bool {
        if case .echo = self { true } else { false }
    }

    /// What is sent behind the head.
    fileprivate var pieces: [TestResponse.Chunk] {
        switch self {
        case .hangUp, .raw: []
        // What has arrived takes its place before.
        case .echo: []
        case .data(let data): data.isEmpty ? [] : [TestResponse.Chunk(data)]
        case .sized(let chunks): chunks
        case .chunks(let chunks): chunks.map(\.chunked) + [TestResponse.Chunk("0\r\n\r\n")]
        }
    }

    /// The number of bytes sent without a transfer coding, nil with one.
    fileprivate var count: Int? {
        switch self {
        case .hangUp, .raw, .echo: 0
        case .data(let data): data.count
        case .sized(let chunks): chunks.reduce(0) { $0 + $1.data.count }
        case .chunks: nil
        }
    }
}

extension TestResponse.Chunk {
    /// The piece in the chunked transfer coding, in which an empty one would end the body.
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
        var head = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
        for field in self { head += "\(field.name.rawName): \(field.value)\r\n" }
        return Data("\(head)\r\n".utf8)
    }
}
#endif
