#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Splits bytes that come in portions into lines, which end with CR LF, LF or CR.
///
/// It holds the bytes of the line that has not ended, and knows whether a CR was the last byte, so that an LF in the next
/// portion belongs to it.
struct LineSplitter: Sendable {
    private(set) var rest: [UInt8] = []
    private var endsWithReturn = false

    /// Gives each line that has ended to a closure, without its end.
    mutating func split(_ chunk: Data, _ line: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try chunk.withUnsafeBytes { bytes in
            var start = 0
            if endsWithReturn, let first = bytes.first {
                endsWithReturn = false
                if first == .lineFeed {
                    start = 1
                }
            }
            while let end = bytes.endOfLine(from: start) {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                if rest.isEmpty {
                    try line(piece)
                } else {
                    rest.append(contentsOf: piece)
                    let whole = rest
                    rest = []
                    try whole.withUnsafeBytes { try line($0) }
                }
                start = end + 1
                guard bytes[end] == .carriageReturn else { continue }
                if start == bytes.count {
                    endsWithReturn = true
                } else if bytes[start] == .lineFeed {
                    start += 1
                }
            }
            rest.append(contentsOf: bytes[start...])
        }
    }

    /// Takes the line that has not ended; nil when there is none.
    mutating func takeRest() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        defer { rest = [] }
        return rest
    }
}

extension UInt8 {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
}

extension UnsafeRawBufferPointer {
    /// Where the next CR or LF is.
    ///
    /// Looks at eight bytes at a time: most are neither.
    fileprivate func endOfLine(from start: Int) -> Int? {
        var index = start
        while index + 8 <= count {
            let word = loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if word.hasByte(.lineFeed) || word.hasByte(.carriageReturn) { break }
            index += 8
        }
        while index < count {
            let byte = self[index]
            if byte == .lineFeed || byte == .carriageReturn { return index }
            // A word may only have looked as if it had one.
            index += 1
            if index & 7 == 0, index + 8 <= count { return endOfLine(from: index) }
        }
        return nil
    }
}

extension UInt64 {
    /// Whether one of its bytes has a value (the exact form of the well-known test for a zero byte).
    fileprivate func hasByte(_ value: UInt8) -> Bool {
        let difference = self ^ (UInt64(value) &* 0x0101_0101_0101_0101)
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080 != 0
    }
}
