#if AsyncHTTPClient
import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

/// The body of a response as it arrives: counted, decoded and checked against its limits.
struct ReceivedBody {
    /// The content codings that this type decodes, for Accept-Encoding.
    static let codings = "gzip, deflate"

    /// The head; if the body is decoded, without the fields that describe the encoded body.
    private(set) var head: HTTPResponse
    private let request: HTTPRequestData
    private let limit: DecompressionLimit
    /// The length on the wire that the head announces; `nil` if it announces none or no body follows.
    private let announced: Int64?
    private var decoder: Decoder?
    private let coding: String?
    private var encoded: Int64 = 0
    /// The number of decoded bytes so far.
    private(set) var count: Int64 = 0

    /// Creates the body that follows a head.
    ///
    /// A body with an unsupported coding is received undecoded, and its head retains the coding (RFC 9110 section 8.4).
    ///
    /// - Throws: A `NetworkingError` if the head is not valid HTTP.
    init(after status: HTTPResponseStatus, _ headers: HTTPHeaders, of request: HTTPRequestData) throws {
        guard let received = ReceivedHead(status, headers) else { throw request.invalidResponse }
        self.request = request
        limit = request.decompressionLimit
        head = received.http
        let hasBody = head.hasBody(inResponseTo: request.method)
        announced = hasBody && !received.isFramed ? received.contentLength.flatMap { Int64($0) } : nil
        coding = hasBody ? received.contentEncoding : nil
        guard let coding else { return }
        decoder = Decoder(coding)
        if decoder != nil {
            // These fields describe the encoded bytes, which the caller never sees.
            head.headerFields[.contentEncoding] = nil
            head.headerFields[.contentLength] = nil
        }
    }

    /// The number of bytes to expect, if it is known.
    var expected: Int64? {
        decoder == nil ? announced : nil
    }

    /// Receives bytes, and returns them decoded, without empty chunks.
    mutating func receive(_ bytes: ByteBuffer) throws -> [ByteBuffer] {
        encoded += Int64(bytes.readableBytes)
        guard let decoder else {
            count += Int64(bytes.readableBytes)
            return bytes.readableBytes > 0 ? [bytes] : []
        }
        var buffers: [ByteBuffer] = []
        do {
            try decoder.decode(bytes) { buffer in
                count += Int64(buffer.readableBytes)
                guard !limit.isExceeded(decoded: count, encoded: encoded) else {
                    throw request.decompressionLimitExceeded(head, after: count)
                }
                buffers.append(buffer)
            }
        } catch let error where Decoder.isCodingError(error) {
            throw undecodable(error)
        }
        return buffers
    }

    /// Checks at the end of the body that it is complete.
    mutating func finish() throws {
        guard let decoder, encoded > 0 else { return }
        do {
            try decoder.finish()
        } catch let error where Decoder.isCodingError(error) {
            throw undecodable(error)
        }
    }

    /// Returns the error for an exchange that failed during this body.
    func failure(_ error: any Error) -> NetworkingError {
        if let announced, encoded < announced, error.isEndOfConnection {
            return request.truncated(head, received: encoded, of: announced, underlying: error)
        }
        return request.error(for: error, after: head)
    }

    private func undecodable(_ error: any Error) -> NetworkingError {
        let isTruncated = error as? NIOHTTPDecompression.ExtraDecompressionError == .truncatedData
        return NetworkingError(
            isTruncated ? .truncated : .invalidResponse,
            request: request,
            response: request.response(with: head),
            underlying: error,
            reason: isTruncated ? nil : HTTPRequestData.undecodable(coding)
        )
    }
}

/// Decodes one content coding with NIO's handler for channels.
///
/// The handler holds the state of the stream. A new channel is created for each chunk, because a channel may be used
/// from only one thread, and the chunks of a body arrive on any thread.
private final class Decoder {
    /// The limit is checked after each chunk of this size in bytes, which may expand a thousandfold.
    private static let chunk = 4 << 10

    private let handler = NIOHTTPResponseDecompressor(limit: .none)

    /// Creates a decoder; `nil` for an unsupported coding.
    init?(_ coding: String) {
        let name =
            switch coding.trimmed.lowercased() {
            case "gzip", "x-gzip": "gzip"
            case "deflate": "deflate"
            default: ""
            }
        guard !name.isEmpty else { return nil }
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Encoding": name])
        guard (try? feed(.head(head))) != nil else { return nil }
    }

    func decode(_ bytes: ByteBuffer, _ handOn: (ByteBuffer) throws -> Void) throws {
        var bytes = bytes
        while let chunk = bytes.readSlice(length: min(Self.chunk, bytes.readableBytes)), chunk.readableBytes > 0 {
            for buffer in try feed(.body(chunk)) where buffer.readableBytes > 0 {
                try handOn(buffer)
            }
        }
    }

    func finish() throws {
        try feed(.end(nil))
    }

    static func isCodingError(_ error: any Error) -> Bool {
        error is NIOHTTPDecompression.DecompressionError || error is NIOHTTPDecompression.ExtraDecompressionError
    }

    @discardableResult
    private func feed(_ part: HTTPClientResponsePart) throws -> [ByteBuffer] {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(handler)
        // Without this, the channel and its pipeline would retain each other.
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        try channel.writeInbound(part)
        try channel.throwIfErrorCaught()
        var buffers: [ByteBuffer] = []
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
            if case .body(let buffer) = part {
                buffers.append(buffer)
            }
        }
        return buffers
    }
}
#endif
