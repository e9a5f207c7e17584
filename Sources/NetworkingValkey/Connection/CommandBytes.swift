#if Valkey
import NIOCore

/// The words of a command, as a server reads them.
struct CommandBytes {
    private(set) var buffer: ByteBuffer

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - count: The number of words that are appended.
    ///   - capacity: The approximate number of bytes of the words.
    init(count: Int, capacity: Int) {
        buffer = ByteBufferAllocator().buffer(capacity: capacity + 16 * (count + 1))
        appendHeader(UInt8(ascii: "*"), count)
    }

    /// Creates a command of texts.
    init(_ words: String...) {
        self.init(count: words.count, capacity: words.reduce(0) { $0 + $1.utf8.count })
        for word in words { append(word) }
    }

    mutating func append(_ word: String) {
        appendHeader(UInt8(ascii: "$"), word.utf8.count)
        buffer.writeString(word)
        buffer.writeInteger(Self.lineEnd)
    }

    mutating func append(_ word: [UInt8]) {
        appendHeader(UInt8(ascii: "$"), word.count)
        buffer.writeBytes(word)
        buffer.writeInteger(Self.lineEnd)
    }

    private mutating func appendHeader(_ type: UInt8, _ count: Int) {
        buffer.writeInteger(type)
        // Digits without a string, because a command has a header for each word.
        var divisor = 1
        while count / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            buffer.writeInteger(UInt8(ascii: "0") + UInt8(count / divisor % 10))
            divisor /= 10
        }
        buffer.writeInteger(Self.lineEnd)
    }

    private static let lineEnd: UInt16 = 0x0D0A
}
#endif
