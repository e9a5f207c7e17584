#if AsyncHTTPClient
import HTTPTypes
import Networking
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The body of a response on its way in: counted, decoded and kept within its limits.
struct ReceivedBody {
    /// The codings that are undone here, for Accept-Encoding.
    static let codings = "gzip, deflate"

    /// The head, without the fields that describe the coded body when it is decoded.
    private(set) var head: HTTPResponse
    private let request: HTTPRequestData
    private let limit: DecompressionLimit
    /// The length on the wire that the head announces; nil where it says none, and where no body follows.
    private let announced: Int64?
    private var decoder: Decoder?
    private let coding: String?
    private var encoded: Int64 = 0
    /// How many bytes there have been, decoded.
    private(set) var count: Int64 = 0

    /// Creates the body that follows a head.
    ///
    /// A body in a coding that is not undone here is received as it is, and its head says so (RFC 9110 section 8.4).
    ///
    /// - Throws: A ``NetworkingError`` if the head is not valid HTTP.
    init(after status: HTTPResponseStatus, _ headers: HTTPHeaders, of request: HTTPRequestData) throws {
        guard let received = ReceivedHead(status, headers) else { throw request.invalidAnswer }
        self.request = request
        limit = request.decompressionLimit
        head = received.http
        let hasBody = head.hasBody(inAnswerTo: request.method)
        announced = hasBody && !received.isFramed ? received.contentLength.flatMap { Int64($0) } : nil
        coding = hasBody ? received.contentEncoding : nil
        guard let coding else { return }
        decoder = Decoder(coding)
        if decoder != nil {
            // They describe the bytes on the wire, which nobody gets to see.
            head.headerFields[.contentEncoding] = nil
            head.headerFields[.contentLength] = nil
        }
    }

    /// How many bytes there will be, if that is known.
    var expected: Int64? {
        decoder == nil ? announced : nil
    }

    /// Takes what came, and answers what it stands for: never empty pieces.
    mutating func receive(_ bytes: ByteBuffer) throws -> [ByteBuffer] {
        encoded += Int64(bytes.readableBytes)
        guard let decoder else {
            count += Int64(bytes.readableBytes)
            return bytes.readableBytes > 0 ? [bytes] : []
        }
        var pieces: [ByteBuffer] = []
        do {
            try decoder.decode(bytes) { piece in
                count += Int64(piece.readableBytes)
                guard !limit.isExceeded(decoded: count, encoded: encoded) else {
                    throw request.unfoldedTooFar(head, after: count)
                }
                pieces.append(piece)
            }
        } catch let error where Decoder.isCodingError(error) {
            throw undecodable(error)
        }
        return pieces
    }

    /// Tells that nothing more comes, and that this is as it should be.
    mutating func finish() throws {
        guard let decoder, encoded > 0 else { return }
        do {
            try decoder.finish()
        } catch let error where Decoder.isCodingError(error) {
            throw undecodable(error)
        }
    }

    /// What an exchange that failed within this body failed with.
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

/// Undoes one content coding with NIO's handler for channels.
///
/// The handler keeps the state of the stream. The channel around it is a new one for each chunk, because such a channel
/// may be used from one thread only, and the chunks of a body come on any.
private final class Decoder {
    /// A thousand times as much is what it may become before anybody looks at it.
    private static let chunk = 4 << 10

    private let handler = NIOHTTPResponseDecompressor(limit: .none)

    /// Creates a decoder; nil for a coding that is none of these.
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
            for piece in try feed(.body(chunk)) where piece.readableBytes > 0 {
                try handOn(piece)
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
        // Without this the channel and its pipeline hold each other.
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        try channel.writeInbound(part)
        try channel.throwIfErrorCaught()
        var pieces: [ByteBuffer] = []
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
            if case .body(let piece) = part {
                pieces.append(piece)
            }
        }
        return pieces
    }
}
#endif
