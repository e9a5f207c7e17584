/// Reads the tokens of a JSON document (RFC 8259) in UTF-8, and checks their order.
///
/// It does not copy, convert or compare text: a token contains the range of its bytes. The nesting is stored in an
/// array and not on the call stack, so no document can cause a stack overflow.
package struct JSONTokenizer {
    package enum Container {
        case object, array
    }

    package enum Token: Equatable {
        case start(Container)
        case end(Container)
        /// The separator of members or elements.
        case comma
        /// The name of a member, with its quotation marks; the colon has been read.
        case name(Range<Int>)
        /// A string, with its quotation marks.
        case string(Range<Int>)
        case number(Range<Int>)
        case boolean(Bool)
        case null
        /// The end of a whole document.
        case documentEnd
    }

    private enum Expectation {
        case value, valueOrEnd, name, nameOrEnd, commaOrEnd, nothing
    }

    package let source: [UInt8]
    /// The index of the next byte; after a failure, the index of the first byte that is not JSON.
    private(set) var position = 0
    private var containers: [Container] = []
    private var expectation = Expectation.value

    /// Creates a tokenizer for a document, which may start with a byte order mark.
    package init(_ source: [UInt8]) {
        self.source = source
        if source.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Returns the index of the first byte that is not valid in a JSON document; `nil` if the document is valid.
    package static func fault(in source: [UInt8]) -> Int? {
        var tokens = JSONTokenizer(source)
        while let token = tokens.next() {
            if token == .documentEnd { return nil }
        }
        return tokens.position
    }

    /// The number of containers around the position.
    package var depth: Int {
        containers.count
    }

    /// Whether a byte is white space between tokens.
    package static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Reads the next token; `nil` if the document is malformed.
    package mutating func next() -> Token? {
        skipSpace()
        guard position < source.count else { return expectation == .nothing ? .documentEnd : nil }
        let byte = source[position]
        switch expectation {
        case .nothing: return nil
        case .nameOrEnd where byte == UInt8(ascii: "}"): return end(.object)
        case .valueOrEnd where byte == UInt8(ascii: "]"): return end(.array)
        case .commaOrEnd: return commaOrEnd(byte)
        case .name, .nameOrEnd:
            guard let range = string() else { return nil }
            skipSpace()
            guard skip(UInt8(ascii: ":")) else { return nil }
            expectation = .value
            return .name(range)
        case .value, .valueOrEnd: return value(byte)
        }
    }

    /// Returns the decoded text of a name or a string.
    ///
    /// Bytes that are not UTF-8, and unpaired surrogates, become replacement characters.
    package func text(of string: Range<Int>) -> String {
        var rest = source[(string.lowerBound + 1)..<(string.upperBound - 1)]
        guard rest.contains(UInt8(ascii: "\\")) else { return String(decoding: rest, as: UTF8.self) }
        // Escapes are in UTF-16.
        var units: [UInt16] = []
        while !rest.isEmpty {
            let plain = rest.prefix { $0 != UInt8(ascii: "\\") }
            units += String(decoding: plain, as: UTF8.self).utf16
            rest = rest[plain.endIndex...]
            guard let escape = JSONEscape(in: rest, at: rest.startIndex) else { break }
            units.append(escape.unit)
            rest = rest.dropFirst(escape.byteCount)
        }
        return String(decoding: units, as: UTF16.self)
    }

    // MARK: Structure

    private mutating func end(_ container: Container) -> Token {
        position += 1
        containers.removeLast()
        expectValueEnd()
        return .end(container)
    }

    private mutating func commaOrEnd(_ byte: UInt8) -> Token? {
        switch (byte, containers.last) {
        case (UInt8(ascii: ","), .object):
            position += 1
            expectation = .name
            return .comma
        case (UInt8(ascii: ","), .array):
            position += 1
            expectation = .value
            return .comma
        case (UInt8(ascii: "}"), .object): return end(.object)
        case (UInt8(ascii: "]"), .array): return end(.array)
        default: return nil
        }
    }

    private mutating func value(_ byte: UInt8) -> Token? {
        let token: Token
        switch byte {
        case UInt8(ascii: "{"):
            position += 1
            containers.append(.object)
            expectation = .nameOrEnd
            return .start(.object)
        case UInt8(ascii: "["):
            position += 1
            containers.append(.array)
            expectation = .valueOrEnd
            return .start(.array)
        case UInt8(ascii: "\""):
            guard let range = string() else { return nil }
            token = .string(range)
        case UInt8(ascii: "t"):
            guard skip("true") else { return nil }
            token = .boolean(true)
        case UInt8(ascii: "f"):
            guard skip("false") else { return nil }
            token = .boolean(false)
        case UInt8(ascii: "n"):
            guard skip("null") else { return nil }
            token = .null
        default:
            guard let range = number() else { return nil }
            token = .number(range)
        }
        expectValueEnd()
        return token
    }

    private mutating func expectValueEnd() {
        expectation = containers.isEmpty ? .nothing : .commaOrEnd
    }

    // MARK: Bytes

    private mutating func skipSpace() {
        while position < source.count, Self.isSpace(source[position]) {
            position += 1
        }
    }

    private mutating func string() -> Range<Int>? {
        let start = position
        guard skip(UInt8(ascii: "\"")) else { return nil }
        while position < source.count {
            switch source[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position
            case UInt8(ascii: "\\"):
                guard let escape = JSONEscape(in: source, at: position) else { return nil }
                position += escape.byteCount
            case ..<32: return nil
            default: position += 1
            }
        }
        return nil
    }

    /// Reads a number (RFC 8259 section 6).
    private mutating func number() -> Range<Int>? {
        let start = position
        skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")), !skipDigits() { return nil }
        if skip(UInt8(ascii: ".")), !skipDigits() { return nil }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard skipDigits() else { return nil }
        }
        return start..<position
    }

    private mutating func skip(_ word: StaticString) -> Bool {
        let bytes = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard source[position...].starts(with: bytes) else { return false }
        position += bytes.count
        return true
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < source.count, source[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = position
        while position < source.count, DecimalDigits.contains(source[position]) {
            position += 1
        }
        return position > start
    }
}

/// An escape in a JSON string: a backslash and the characters after it.
struct JSONEscape: Equatable {
    /// The code unit that the escape represents.
    let unit: UInt16
    /// The number of bytes of the escape, with its backslash.
    let byteCount: Int

    /// Reads the escape at an index; `nil` if there is none or it is malformed.
    init?<Bytes: RandomAccessCollection<UInt8>>(in bytes: Bytes, at index: Int) where Bytes.Index == Int {
        guard index + 1 < bytes.endIndex, bytes[index] == UInt8(ascii: "\\") else { return nil }
        byteCount = bytes[index + 1] == UInt8(ascii: "u") ? 6 : 2
        switch bytes[index + 1] {
        case UInt8(ascii: "n"): unit = 10
        case UInt8(ascii: "r"): unit = 13
        case UInt8(ascii: "t"): unit = 9
        case UInt8(ascii: "b"): unit = 8
        case UInt8(ascii: "f"): unit = 12
        case UInt8(ascii: "u"):
            guard index + 6 <= bytes.endIndex, let number = Hexadecimal.number(bytes[(index + 2)..<(index + 6)]) else {
                return nil
            }
            unit = UInt16(truncatingIfNeeded: number)
        case let byte where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
            unit = UInt16(byte)
        default: return nil
        }
    }
}
