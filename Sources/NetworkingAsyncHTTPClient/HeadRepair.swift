#if AsyncHTTPClient
import NIOCore

/// Rewrites the lines of a head that NIO's decoder reads differently from other clients, before the decoder.
///
/// - A folded field becomes one line (RFC 9112 section 5.2). The decoder would reject the response.
/// - A line that is not UTF-8 is read as ISO 8859-1, the charset of earlier versions of HTTP. The decoder would replace
///   each such byte with U+FFFD.
/// - A Set-Cookie field with a control character is removed (RFC 6265bis section 5.6). The decoder would reject the
///   response.
///
/// Any other line is passed on as it is. The handler stands between ``SurplusGuard`` and the decoder, so that each head
/// ends with the last byte of a read.
final class HeadRepair: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ConnectionGuard
    private var head = HeadLines()

    init(_ connection: ConnectionGuard) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard connection.boundary.isInHead else { return context.fireChannelRead(data) }
        let bytes = head.receive(unwrapInboundIn(data))
        if bytes.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(bytes))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The decoder must know that a head has begun.
        if head.rest.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(head.rest))
        }
        context.fireChannelInactive()
    }
}

/// The lines of heads as they arrive, each until the first byte of the next one shows that it is complete.
struct HeadLines {
    /// The length from which incomplete lines are passed on as they are, in bytes.
    private static let maximumRest = 128 << 10

    /// The bytes that have not been passed on.
    private(set) var rest = ByteBuffer()
    /// Whether no line of the rest needs a repair.
    private var isOrdinary = true
    /// Whether the rest ends with the end of a line.
    private var isAtLineStart = false

    /// Receives bytes of a head, up to its end or less.
    ///
    /// - Returns: The complete lines so far, repaired.
    mutating func receive(_ bytes: ByteBuffer) -> ByteBuffer {
        let survey = bytes.withUnsafeReadableBytes { Survey($0, isAtLineStart: isAtLineStart) }
        isAtLineStart = survey.isAtLineStart && !survey.isAtEnd
        isOrdinary = isOrdinary && survey.isOrdinary
        var count = survey.completeCount.map { rest.readableBytes + $0 } ?? 0
        if rest.readableBytes == 0 {
            rest = bytes
        } else {
            rest.writeImmutableBuffer(bytes)
        }
        if survey.isAtEnd || rest.readableBytes - count > Self.maximumRest {
            count = rest.readableBytes
        }
        guard count > 0, let lines = rest.readSlice(length: count) else { return ByteBuffer() }
        defer { isOrdinary = isOrdinary || rest.readableBytes == 0 }
        return isOrdinary ? lines : lines.withUnsafeReadableBytes { Self.repaired($0) }
    }

    /// What a single pass over bytes finds.
    private struct Survey {
        /// Whether no line needs a repair.
        private(set) var isOrdinary = true
        /// Whether the bytes end with the end of a line.
        private(set) var isAtLineStart: Bool
        /// Whether the bytes end with the empty line that ends a head.
        private(set) var isAtEnd = false
        /// The position of the last line, before which all lines are complete; `nil` if no line starts.
        private(set) var completeCount: Int?

        init(_ bytes: UnsafeRawBufferPointer, isAtLineStart: Bool) {
            self.isAtLineStart = isAtLineStart
            var index = 0
            while index < bytes.count {
                let byte = bytes[index]
                if byte == .lineFeed {
                    isAtEnd = self.isAtLineStart
                    self.isAtLineStart = true
                } else if byte != .carriageReturn {
                    let isBlank = byte == .space || byte == .tab
                    if self.isAtLineStart, !isBlank {
                        completeCount = index
                    }
                    isOrdinary = isOrdinary && (isBlank ? !self.isAtLineStart : 0x20..<0x7F ~= byte)
                    isAtEnd = false
                    self.isAtLineStart = false
                }
                index += 1
            }
        }
    }

    private static func repaired(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var repaired = ByteBuffer()
        repaired.reserveCapacity(bytes.count + bytes.count / 4)
        var lines = bytes.split(separator: .lineFeed, omittingEmptySubsequences: false)[...]
        while let first = lines.popFirst() {
            // The bytes end with a line feed, unless they are too many.
            let end: [UInt8] = lines.isEmpty ? [] : [.lineFeed]
            var line = Array(first)
            while lines.count > 1, let next = lines.first, next.first == .space || next.first == .tab {
                lines.removeFirst()
                line.trimEnd()
                line.append(.space)
                line += next.drop { $0 == .space || $0 == .tab }
            }
            guard !isIgnored(line) else { continue }
            repaired.writeBytes(line.isValidUTF8 ? line : line.fromLatin)
            repaired.writeBytes(end)
        }
        return repaired
    }

    /// Returns whether a line is a Set-Cookie field with a control character; a NUL makes any response invalid.
    private static func isIgnored(_ line: [UInt8]) -> Bool {
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        guard String(decoding: name, as: UTF8.self).lowercased() == "set-cookie" else { return false }
        let value = line.last == .carriageReturn ? line.dropLast() : line[...]
        return value.contains { $0 < 0x20 && $0 != .tab || $0 == 0x7F } && !value.contains(0)
    }
}

extension [UInt8] {
    fileprivate var isValidUTF8: Bool {
        String(validating: self, as: UTF8.self) != nil
    }

    /// The same characters in UTF-8.
    fileprivate var fromLatin: [UInt8] {
        flatMap { $0 < 0x80 ? [$0] : [0xC0 | $0 >> 6, 0x80 | $0 & 0x3F] }
    }

    /// Removes the end of a line and the white space before it.
    fileprivate mutating func trimEnd() {
        while let last, last == .carriageReturn || last == .space || last == .tab {
            removeLast()
        }
    }
}

extension UInt8 {
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
    fileprivate static let space = UInt8(ascii: " ")
    fileprivate static let tab = UInt8(ascii: "\t")
}
#endif
