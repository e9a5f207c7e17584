import FoundationForNetworking
import NetworkingCore

/// Splits bytes that arrive in chunks into lines, which end with CR LF, LF or CR.
///
/// It keeps the bytes of the incomplete line, and remembers whether a CR was the last byte, so that an LF at the start
/// of the next chunk belongs to it.
struct LineSplitter: Sendable {
    private(set) var rest: [UInt8] = []
    private var endsWithReturn = false

    /// Creates a splitter that starts with the given bytes of an incomplete line.
    init(after start: [UInt8] = []) {
        rest = start
    }

    /// Reads up to the end of a line, and passes the line without its line break to a closure.
    ///
    /// - Parameters:
    ///   - bytes: A chunk.
    ///   - position: The position to read from; afterwards the position of the next line.
    ///   - read: The closure that receives the line.
    /// - Returns: The result of the closure; `nil` if the chunk ends before the line does.
    /// - Throws: The error of the closure.
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
        let part = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end + 1
        if bytes[end] == .carriageReturn {
            if position == bytes.count {
                endsWithReturn = true
            } else if bytes[position] == .lineFeed {
                position += 1
            }
        }
        guard !rest.isEmpty else { return try read(part) }
        rest.append(contentsOf: part)
        let whole = rest
        rest = []
        return try whole.withBytes(read)
    }

    /// Takes the incomplete line; returns `nil` if there is none.
    mutating func takeRest() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        defer { rest = [] }
        return rest
    }
}

extension ContiguousBytes {
    /// Passes the bytes to a closure, and rethrows its errors with their type.
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
    /// Returns the position of the next CR or LF.
    ///
    /// Reads eight bytes at a time, because most bytes are neither.
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
            index += 1
        }
        return nil
    }
}

extension UInt64 {
    /// Returns whether one of its bytes has a value (the exact form of the well-known test for a zero byte).
    fileprivate func hasByte(_ value: UInt8) -> Bool {
        let difference = self ^ (UInt64(value) &* 0x0101_0101_0101_0101)
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080 != 0
    }
}
