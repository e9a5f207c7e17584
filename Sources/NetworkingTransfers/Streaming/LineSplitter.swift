import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Splits bytes that come in chunks into lines, which end with CR LF, LF or CR.
///
/// It holds the bytes of the line that has not ended, and knows whether a CR was the last byte, so that an LF in the
/// next chunk belongs to it.
struct LineSplitter: Sendable {
    private(set) var rest: [UInt8] = []
    private var endsWithReturn = false

    /// Creates a splitter, before whose bytes some others have come.
    init(after start: [UInt8] = []) {
        rest = start
    }

    /// Reads up to the end of a line, and gives the line without its end to a closure.
    ///
    /// - Parameters:
    ///   - bytes: A chunk.
    ///   - position: Where to read from, and afterwards where the next line begins.
    ///   - read: What to make of the line.
    /// - Returns: What the closure returns; nil when the chunk ends before the line does.
    /// - Throws: What the closure throws.
    mutating func next<Result, Failure>(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int,
        _ read: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        if endsWithReturn, position < bytes.count {
            endsWithReturn = false
            if bytes[position] == .lineFeed {
                position += 1
            }
        }
        guard let end = bytes.endOfLine(from: position) else {
            rest.append(contentsOf: bytes[position...])
            position = bytes.count
            return nil
        }
        let piece = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end + 1
        if bytes[end] == .carriageReturn {
            if position == bytes.count {
                endsWithReturn = true
            } else if bytes[position] == .lineFeed {
                position += 1
            }
        }
        guard !rest.isEmpty else { return try read(piece) }
        rest.append(contentsOf: piece)
        let whole = rest
        rest = []
        return try whole.withBytes(read)
    }

    /// Takes the line that has not ended; nil when there is none.
    mutating func takeRest() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        defer { rest = [] }
        return rest
    }
}

extension ContiguousBytes {
    /// The bytes for a closure, with the type of what it throws.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = withUnsafeBytes { bytes -> Swift.Result<Result, Failure> in
            do throws(Failure) {
                return .success(try body(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
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
