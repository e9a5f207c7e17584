#if AsyncHTTPClient
import FoundationForNetworking
import NetworkingCore
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

/// Removes the content codings of a body, the last one that was applied first.
final class BodyDecoder {
    /// The content codings that this type decodes by itself.
    private static let ownCodings: Set<String> = ["gzip", "deflate"]

    /// The value of Accept-Encoding for these codings.
    private static let ownAcceptedCodings = "gzip, deflate"

    /// Receives the number of bytes that one coding has produced so far, and the bytes if no other coding remains.
    typealias Output = (_ count: Int64, _ bytes: ByteBuffer?) throws -> Void

    /// The codings in the order in which they were applied.
    let codings: [String]
    private let stages: [any DecodingStage]

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - codings: The codings in the order in which they were applied, all of them known.
    ///   - decoders: The decoders of the request.
    init(of codings: [String], decoding decoders: [ContentCoding]) {
        self.codings = codings
        stages = codings.reversed()
            .map { name in
                let decoder = decoders.lazy.filter { $0.name == name }.compactMap(\.makeDecoder).first?()
                return decoder.map { AppStage($0) } ?? NIOStage(of: name)
            }
    }

    /// Returns the content codings that are decoded for a request.
    static func codings(of request: HTTPRequestData) -> Set<String> {
        let decoders = request.contentDecoders
        return decoders.isEmpty ? ownCodings : ownCodings.union(decoders.filter { $0.makeDecoder != nil }.map(\.name))
    }

    /// Returns the value of Accept-Encoding for these codings, those of the request first.
    static func acceptedCodings(of request: HTTPRequestData) -> String {
        let decoders = request.contentDecoders
        guard !decoders.isEmpty else { return ownAcceptedCodings }
        var names: [String] = []
        for decoder in decoders
        where decoder.makeDecoder != nil && !ownCodings.contains(decoder.name) && !names.contains(decoder.name) {
            names.append(decoder.name)
        }
        return (names + [ownAcceptedCodings]).joined(separator: ", ")
    }

    /// Decodes the next bytes.
    func decode(_ bytes: ByteBuffer, _ output: Output) throws {
        try decode(bytes, from: 0, output)
    }

    /// Decodes the last bytes, and checks that each coding has come to its end.
    func finish(_ output: Output) throws {
        for (index, stage) in stages.enumerated() {
            try stage.finish { try pass($0, from: index, output) }
        }
    }

    static func isCodingError(_ error: any Error) -> Bool {
        error is NIOHTTPDecompression.DecompressionError || error is NIOHTTPDecompression.ExtraDecompressionError
            || error is UndecodableContent
    }

    /// Returns whether a body ends before its coding does, according to the error of a coding.
    static func isTruncation(_ error: any Error) -> Bool {
        error as? NIOHTTPDecompression.ExtraDecompressionError == .truncatedData
            || (error as? UndecodableContent)?.underlying as? ContentCodingError == .truncated
    }

    private func decode(_ bytes: ByteBuffer, from index: Int, _ output: Output) throws {
        try stages[index].decode(bytes) { try pass($0, from: index, output) }
    }

    /// Passes the bytes that a stage has produced to the next one, or to the output.
    private func pass(_ bytes: ByteBuffer, from index: Int, _ output: Output) throws {
        let isLast = index == stages.count - 1
        // Every stage counts: the bytes between two codings cost time and memory, too.
        try output(stages[index].count, isLast ? bytes : nil)
        if !isLast {
            try decode(bytes, from: index + 1, output)
        }
    }
}

/// The error of a decoder of the app.
struct UndecodableContent: Error {
    let underlying: any Error
}

/// The decoder of one content coding.
private protocol DecodingStage: AnyObject {
    /// The number of decoded bytes so far.
    var count: Int64 { get }

    func decode(_ bytes: ByteBuffer, _ output: (ByteBuffer) throws -> Void) throws
    func finish(_ output: (ByteBuffer) throws -> Void) throws
}

/// The limit is checked after each chunk of this size in bytes, which may expand a thousandfold.
private let maximumChunk = 4 << 10

/// One content coding, decoded by the app.
private final class AppStage: DecodingStage {
    private var decoder: any ContentDecoder
    private var isStarted = false
    private(set) var count: Int64 = 0

    init(_ decoder: any ContentDecoder) {
        self.decoder = decoder
    }

    func decode(_ bytes: ByteBuffer, _ output: (ByteBuffer) throws -> Void) throws {
        var bytes = bytes
        while let chunk = bytes.readSlice(length: min(maximumChunk, bytes.readableBytes)), chunk.readableBytes > 0 {
            isStarted = true
            var refusal: (any Error)?
            do {
                try decoder.decode(Data(chunk.readableBytesView)) { try pass($0, to: output, &refusal) }
            } catch {
                throw refusal ?? UndecodableContent(underlying: error)
            }
            if let refusal { throw refusal }
        }
    }

    func finish(_ output: (ByteBuffer) throws -> Void) throws {
        // Like the whole body, the bytes between two codings may be empty.
        guard isStarted else { return }
        var refusal: (any Error)?
        do {
            try decoder.finish { try pass($0, to: output, &refusal) }
        } catch {
            throw refusal ?? UndecodableContent(underlying: error)
        }
        if let refusal { throw refusal }
    }

    /// Passes on decoded bytes, and keeps the error of the output, which is not one of the decoder.
    private func pass(
        _ bytes: Data,
        to output: (ByteBuffer) throws -> Void,
        _ refusal: inout (any Error)?
    ) throws {
        // A decoder that ignores the error gets no further bytes into memory.
        if let refusal { throw refusal }
        guard !bytes.isEmpty else { return }
        count += Int64(bytes.count)
        do {
            try output(ByteBuffer(bytes: bytes))
        } catch {
            refusal = error
            throw error
        }
    }
}

/// One content coding, decoded with NIO's handler for channels.
///
/// The handler holds the state of the stream. A new channel is created for each chunk, because a channel may be used
/// from only one thread, and the chunks of a body arrive on any thread.
private final class NIOStage: DecodingStage {
    private let handler = NIOHTTPResponseDecompressor(limit: .none)
    /// The number of bytes before the first one is decoded; more than zero if they decide how the rest is decoded.
    private let headLength: Int
    private var head = ByteBuffer()
    private var raw: RawDeflate?
    private var isStarted = false
    /// The number of decoded bytes so far.
    private(set) var count: Int64 = 0

    init(of coding: String) {
        headLength = coding == "deflate" ? 2 : 1
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Encoding": coding])
        // A head produces no output, and an error of its decoder appears again at the first bytes.
        _ = try? feed(.head(head)) { _ in }
    }

    func decode(_ bytes: ByteBuffer, _ output: (ByteBuffer) throws -> Void) throws {
        var bytes = bytes
        guard isStarted else {
            if head.readableBytes == 0 {
                head = bytes
            } else {
                head.writeBuffer(&bytes)
            }
            guard head.readableBytes >= headLength else { return }
            return try start(output)
        }
        if raw != nil {
            raw?.holdBack(&bytes)
        }
        try decodeChunks(of: bytes, output)
    }

    func finish(_ output: (ByteBuffer) throws -> Void) throws {
        // Like the whole body, the bytes between two codings may be empty.
        guard isStarted || head.readableBytes > 0 else { return }
        if !isStarted {
            try start(output)
        }
        if let rest = raw?.rest {
            try decodeChunks(of: rest, output)
        }
        if let raw {
            do {
                try feed(.body(raw.checksum)) { _ in }
            } catch let error where BodyDecoder.isCodingError(error) {
                // The checksum is right, so it was read as a part of a stream that has not ended.
                throw NIOHTTPDecompression.ExtraDecompressionError.truncatedData
            }
        }
        try feed(.end(nil)) { _ in }
    }

    /// Decodes the first bytes.
    private func start(_ output: (ByteBuffer) throws -> Void) throws {
        isStarted = true
        var bytes = head
        head = ByteBuffer()
        if headLength > 1, RawDeflate.isHead(bytes) {
            raw = RawDeflate()
            try feed(.body(RawDeflate.wrapperHead)) { _ in }
            raw?.holdBack(&bytes)
        }
        try decodeChunks(of: bytes, output)
    }

    private func decodeChunks(of bytes: ByteBuffer, _ output: (ByteBuffer) throws -> Void) throws {
        var bytes = bytes
        while let chunk = bytes.readSlice(length: min(maximumChunk, bytes.readableBytes)), chunk.readableBytes > 0 {
            try feed(.body(chunk)) { buffer in
                count += Int64(buffer.readableBytes)
                raw?.add(buffer)
                try output(buffer)
            }
        }
    }

    private func feed(_ part: HTTPClientResponsePart, _ output: (ByteBuffer) throws -> Void) throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(handler)
        // Without this, the channel and its pipeline would retain each other.
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        try channel.writeInbound(part)
        try channel.throwIfErrorCaught()
        while let part = try channel.readInbound(as: HTTPClientResponsePart.self) {
            if case .body(let buffer) = part, buffer.readableBytes > 0 {
                try output(buffer)
            }
        }
    }
}

/// The wrapper of zlib around a raw deflate stream, which some servers send as `deflate` (RFC 9110 section 8.4.1.2).
///
/// NIO's handler only decodes the wrapped form, which ends with a checksum of the decoded bytes.
private struct RawDeflate {
    /// A decoder may keep decoded bytes back until it gets more input, but not after so few bytes: even if they expand
    /// as much as possible, they fit its buffer of 16 KiB.
    private static let maximumRest = 15

    /// The head of a wrapped stream with the largest window.
    static let wrapperHead = ByteBuffer(bytes: [0x78, 0x9C])

    /// The last bytes of the stream so far, which are decoded at its end.
    private(set) var rest = ByteBuffer()
    // Adler-32 (RFC 1950 section 9).
    private var low: UInt32 = 1
    private var high: UInt32 = 0

    /// Returns whether a stream starts without the head of zlib (RFC 1950 section 2.2) or of gzip.
    static func isHead(_ bytes: ByteBuffer) -> Bool {
        guard let head = bytes.getInteger(at: bytes.readerIndex, as: UInt16.self) else { return true }
        let isOfZlib = head >> 8 & 0x0F == 8 && head >> 12 <= 7 && head.isMultiple(of: 31)
        return !isOfZlib && head != 0x1F8B
    }

    /// Replaces bytes with those that may be decoded now, and keeps the last ones.
    mutating func holdBack(_ bytes: inout ByteBuffer) {
        rest.writeBuffer(&bytes)
        bytes = rest.readSlice(length: max(0, rest.readableBytes - Self.maximumRest)) ?? ByteBuffer()
        rest = ByteBuffer(buffer: rest)
    }

    /// Adds decoded bytes to the checksum.
    mutating func add(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                // So many bytes cannot overflow the sums.
                let end = min(start + 5_552, bytes.count)
                while start < end {
                    low &+= UInt32(bytes[start])
                    high &+= low
                    start += 1
                }
                low %= 65_521
                high %= 65_521
            }
        }
    }

    /// The end of the wrapped stream.
    var checksum: ByteBuffer {
        ByteBuffer(integer: high << 16 | low)
    }
}
#endif
