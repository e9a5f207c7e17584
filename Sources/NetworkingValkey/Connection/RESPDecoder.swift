#if Valkey
import NIOCore

/// Decodes replies of RESP2 and RESP3 from bytes that arrive in fragments of any size.
///
/// Each byte is looked at once. The depth, the length of a line and the size of a reply are limited, and nothing is
/// reserved because of a length that the server only announces. Attributes are skipped. Aggregates without a length,
/// which no server sends, are refused.
struct RESPDecoder {
    /// What a server sends.
    enum Message: Hashable {
        /// The reply to the oldest command that has none.
        case reply(ValkeyValue)
        /// A message that belongs to no command.
        case push([ValkeyValue])
    }

    /// The maximum number of aggregates within each other.
    static let maximumDepth = 32
    /// The maximum length of a line: of a number, a header, a simple string or an error.
    static let maximumLine = 1 << 16
    /// What an element counts toward the size of a reply besides its bytes, because its value needs memory.
    private static let elementSize = 32

    private enum Kind {
        case array
        case push
        case attribute
    }

    private struct Aggregate {
        let kind: Kind
        var missing: Int
        var elements: [ValkeyValue] = []
    }

    private enum Token {
        case value(ValkeyValue)
        case header(Kind, count: Int)
        case bulk(Bulk)
    }

    private struct Bulk {
        let type: UInt8
        let count: Int
    }

    private var buffer = ByteBuffer()
    /// The number of bytes at the start of the buffer that contain no end of a line.
    private var scanned = 0
    /// The bulk whose bytes are next.
    private var bulk: Bulk?
    /// The aggregates whose elements are next, the innermost last.
    private var open: [Aggregate] = []
    private let maximumReplySize: Int
    /// What is left of the size for the current reply.
    private var room: Int

    init(maximumReplySize: Int) {
        self.maximumReplySize = maximumReplySize
        room = maximumReplySize
    }

    /// Adds bytes that have arrived.
    mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        // So that an incomplete reply is moved rarely, and a buffer that never gets empty does not grow forever.
        if buffer.readerIndex > buffer.readableBytes {
            buffer.discardReadBytes()
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// Returns the next message; `nil` if its end has not arrived.
    ///
    /// - Throws: ``ValkeyError`` if the bytes are no reply. The connection is useless then.
    mutating func next() throws(ValkeyError) -> Message? {
        while let token = try token() {
            switch token {
            case .value(let value):
                if let message = add(value) { return message }
            case .bulk(let next):
                try spend(next.count)
                bulk = next
            case .header(let kind, let count):
                guard open.count < Self.maximumDepth, kind != .push || open.isEmpty else {
                    throw ValkeyError(.malformedReply)
                }
                open.append(Aggregate(kind: kind, missing: count))
                if count == 0, let message = close() { return message }
            }
        }
        return nil
    }

    /// Adds a value to the innermost aggregate, and closes those that are complete.
    private mutating func add(_ value: ValkeyValue) -> Message? {
        guard !open.isEmpty else {
            room = maximumReplySize
            return .reply(value)
        }
        open[open.count - 1].elements.append(value)
        open[open.count - 1].missing -= 1
        return open[open.count - 1].missing == 0 ? close() : nil
    }

    /// Closes the innermost aggregate, and those that are complete with it.
    private mutating func close() -> Message? {
        let aggregate = open.removeLast()
        switch aggregate.kind {
        case .attribute:
            return nil
        case .array:
            return add(.array(aggregate.elements))
        case .push:
            room = maximumReplySize
            return .push(aggregate.elements)
        }
    }

    private mutating func token() throws(ValkeyError) -> Token? {
        if let bulk { return try value(of: bulk).map { .value($0) } }
        guard let length = try lengthOfLine() else { return nil }
        try spend(length + Self.elementSize)
        let token = try Self.token(ofLine: buffer.readableBytesUInt8Span.extracting(0..<length), room: room)
        buffer.moveReaderIndex(forwardBy: length + 2)
        return token
    }

    /// Returns the length of the next line without its end; `nil` if the end has not arrived.
    private mutating func lengthOfLine() throws(ValkeyError) -> Int? {
        let length = try Self.lengthOfLine(in: buffer.readableBytesUInt8Span, from: scanned)
        // The last byte may be the first half of an end.
        scanned = length == nil ? max(0, buffer.readableBytes - 1) : 0
        return length
    }

    private static func lengthOfLine(in bytes: Span<UInt8>, from start: Int) throws(ValkeyError) -> Int? {
        for index in start..<max(start, min(bytes.count, maximumLine) - 1) where bytes[index] == .carriageReturn {
            guard index > 0, bytes[index + 1] == .lineFeed else { throw ValkeyError(.malformedReply) }
            return index
        }
        guard bytes.count < maximumLine else { throw ValkeyError(.malformedReply) }
        return nil
    }

    /// Returns the value of a bulk; `nil` if its end has not arrived.
    private mutating func value(of bulk: Bulk) throws(ValkeyError) -> ValkeyValue? {
        guard buffer.readableBytes >= bulk.count + 2 else { return nil }
        let bytes = buffer.readBytes(length: bulk.count) ?? []
        guard buffer.readInteger(as: UInt16.self) == 0x0D0A else { throw ValkeyError(.malformedReply) }
        self.bulk = nil
        switch bulk.type {
        case UInt8(ascii: "!"):
            return .error(String(decoding: bytes, as: UTF8.self))
        case UInt8(ascii: "="):
            // Three characters for the format, and a colon.
            guard bytes.count >= 4, bytes[3] == UInt8(ascii: ":") else { throw ValkeyError(.malformedReply) }
            return .bytes(Array(bytes[4...]))
        default:
            return .bytes(bytes)
        }
    }

    private mutating func spend(_ size: Int) throws(ValkeyError) {
        guard size <= room else { throw ValkeyError(.malformedReply) }
        room -= size
    }

    private static func token(ofLine line: Span<UInt8>, room: Int) throws(ValkeyError) -> Token {
        let text = line.extracting(1..<line.count)
        switch line[0] {
        case UInt8(ascii: "+"):
            return .value(.bytes(Array(text)))
        case UInt8(ascii: "-"):
            return .value(.error(String(decoding: Array(text), as: UTF8.self)))
        case UInt8(ascii: ":"):
            guard let integer = integer(text) else { throw ValkeyError(.malformedReply) }
            return .value(.integer(integer))
        case UInt8(ascii: "("):
            let digits = text.count > 0 && isSign(text[0]) ? text.extracting(1..<text.count) : text
            guard digits.count > 0, digits.indices.allSatisfy({ isDigit(digits[$0]) }) else {
                throw ValkeyError(.malformedReply)
            }
            return .value(.bytes(Array(text)))
        case UInt8(ascii: ","):
            guard text.count <= 64, let double = Double(String(decoding: Array(text), as: UTF8.self)) else {
                throw ValkeyError(.malformedReply)
            }
            return .value(.double(double))
        case UInt8(ascii: "#"):
            guard text.count == 1, text[0] == UInt8(ascii: "t") || text[0] == UInt8(ascii: "f") else {
                throw ValkeyError(.malformedReply)
            }
            return .value(.boolean(text[0] == UInt8(ascii: "t")))
        case UInt8(ascii: "_"):
            guard text.count == 0 else { throw ValkeyError(.malformedReply) }
            return .value(.null)
        case let type:
            return try token(of: type, count: integer(text), room: room)
        }
    }

    /// Returns the start of a value that has a count of bytes or elements.
    private static func token(of type: UInt8, count: Int64?, room: Int) throws(ValkeyError) -> Token {
        switch (type, count) {
        case (UInt8(ascii: "$"), -1), (UInt8(ascii: "*"), -1):
            return .value(.null)
        case (UInt8(ascii: "$"), let count?), (UInt8(ascii: "!"), let count?), (UInt8(ascii: "="), let count?):
            guard count >= 0, count <= room else { throw ValkeyError(.malformedReply) }
            return .bulk(Bulk(type: type, count: Int(count)))
        case (UInt8(ascii: "*"), let count?), (UInt8(ascii: "~"), let count?):
            return .header(.array, count: try elements(count, room: room))
        case (UInt8(ascii: "%"), let count?):
            return .header(.array, count: try elements(count, room: room) * 2)
        case (UInt8(ascii: "|"), let count?):
            return .header(.attribute, count: try elements(count, room: room) * 2)
        case (UInt8(ascii: ">"), let count?):
            return .header(.push, count: try elements(count, room: room))
        default:
            throw ValkeyError(.malformedReply)
        }
    }

    private static func elements(_ count: Int64, room: Int) throws(ValkeyError) -> Int {
        guard count >= 0, count <= room / elementSize else { throw ValkeyError(.malformedReply) }
        return Int(count)
    }

    private static func integer(_ text: Span<UInt8>) -> Int64? {
        guard text.count > 0 else { return nil }
        let isNegative = text[0] == UInt8(ascii: "-")
        let start = isSign(text[0]) ? 1 : 0
        guard text.count > start, text.count - start <= 19 else { return nil }
        var integer: Int64 = 0
        for index in start..<text.count {
            guard isDigit(text[index]) else { return nil }
            let (product, overflow) = integer.multipliedReportingOverflow(by: 10)
            // Negative from the start, because the smallest integer has no positive counterpart.
            let (sum, isTooSmall) = product.subtractingReportingOverflow(Int64(text[index] - UInt8(ascii: "0")))
            guard !overflow, !isTooSmall else { return nil }
            integer = sum
        }
        guard !isNegative else { return integer }
        return integer == .min ? nil : -integer
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private static func isSign(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
    }
}

extension Array where Element == UInt8 {
    fileprivate init(_ bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { Array($0) }
    }
}

extension UInt8 {
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
}
#endif
