#if AsyncHTTPClient
import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NIOCore
import NIOHTTP1

/// The body of a response as it arrives: counted, decoded and checked against its limits.
struct ReceivedBody {
    /// The head; if the body is decoded, without the fields that describe the encoded body.
    private(set) var head: HTTPResponse
    private let request: HTTPRequestData
    private let limit: DecompressionLimit
    /// The length on the wire that the head announces; `nil` if it announces none or no body follows.
    private let announced: Int64?
    private var decoder: BodyDecoder?
    private var encoded: Int64 = 0
    /// The number of decoded bytes so far.
    private(set) var count: Int64 = 0
    private(set) var isFinished = false

    /// Creates the body that follows a head.
    ///
    /// - Throws: A `NetworkingError` if the head is not valid HTTP, or its body has a coding that is not decoded.
    init(after status: HTTPResponseStatus, _ headers: HTTPHeaders, of request: HTTPRequestData) throws {
        guard let received = ReceivedHead(status, headers) else { throw request.invalidResponse }
        self.request = request
        limit = request.decompressionLimit
        head = received.http
        let hasBody = head.hasBody(inResponseTo: request.method)
        announced = hasBody && !received.isFramed ? received.contentLength.flatMap { Int64($0) } : nil
        let codings = try request.codingsToDecode(
            received.codings,
            decoding: BodyDecoder.codings(of: request),
            passesOthers: true,
            of: head
        )
        guard !codings.isEmpty else { return }
        decoder = BodyDecoder(of: codings, decoding: request.contentDecoders)
        // These fields describe the encoded bytes, which the caller never sees.
        head.headerFields[.contentEncoding] = nil
        head.headerFields[.contentLength] = nil
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
        return try decode { try decoder.decode(bytes, $0) }
    }

    /// Checks at the end of the body that it is complete, and returns its last bytes.
    mutating func finish() throws -> [ByteBuffer] {
        isFinished = true
        guard let decoder else { return [] }
        return try decode { try decoder.finish($0) }
    }

    /// Collects the bytes that a step of the decoder produces, within the limits.
    private mutating func decode(_ step: (BodyDecoder.Output) throws -> Void) throws -> [ByteBuffer] {
        var buffers: [ByteBuffer] = []
        do {
            try step { expanded, buffer in
                guard !limit.isExceeded(decoded: expanded, encoded: encoded) else {
                    throw request.decompressionLimitExceeded(head, after: expanded)
                }
                guard let buffer else { return }
                count += Int64(buffer.readableBytes)
                buffers.append(buffer)
            }
        } catch let error where BodyDecoder.isCodingError(error) {
            throw undecodable(error)
        }
        return buffers
    }

    /// Returns the error for an exchange that failed during this body.
    func failure(_ error: any Error) -> NetworkingError {
        if let announced, encoded < announced, error.isEndOfConnection {
            return request.truncated(head, received: encoded, of: announced, underlying: error)
        }
        return request.error(for: error, after: head)
    }

    private func undecodable(_ error: any Error) -> NetworkingError {
        let isTruncated = BodyDecoder.isTruncation(error)
        return NetworkingError(
            isTruncated ? .truncated : .invalidResponse,
            request: request,
            response: request.response(with: head),
            underlying: (error as? UndecodableContent)?.underlying ?? error,
            reason: isTruncated ? nil : HTTPRequestData.undecodable(decoder?.codings.joined(separator: ", "))
        )
    }
}
#endif
