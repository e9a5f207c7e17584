/// Reads a JSON document (RFC 8259) that is in UTF-8.
struct JSONParser {
    /// Deeper ones are refused, so that none can overflow the call stack.
    private static let deepest = 256

    private let source: [UInt8]
    private var position = 0

    init(_ source: [UInt8]) {
        self.source = source
        if source.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The document; nil for what is none.
    mutating func document() -> JSONDocument? {
        guard let value = value(depth: 0) else { return nil }
        skipSpace()
        return position == source.count ? value : nil
    }

    private mutating func value(depth: Int) -> JSONDocument? {
        skipSpace()
        guard depth < Self.deepest, position < source.count else { return nil }
        switch source[position] {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return skip("true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): return skip("false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): return skip("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> JSONDocument? {
        position += 1
        var members: [JSONDocument.Name: JSONDocument] = [:]
        if skipsToEnd(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard let name = string() else { return nil }
            skipSpace()
            guard skip(UInt8(ascii: ":")), let member = value(depth: depth + 1) else { return nil }
            members[JSONDocument.Name(text: name)] = member
            if skipsToEnd(UInt8(ascii: "}")) { return .object(members) }
            guard skip(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func array(depth: Int) -> JSONDocument? {
        position += 1
        var elements: [JSONDocument] = []
        if skipsToEnd(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            guard let element = value(depth: depth + 1) else { return nil }
            elements.append(element)
            if skipsToEnd(UInt8(ascii: "]")) { return .array(elements) }
            guard skip(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func number() -> JSONDocument? {
        let start = position
        skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")), !skipDigits() { return nil }
        if skip(UInt8(ascii: ".")), !skipDigits() { return nil }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard skipDigits() else { return nil }
        }
        return .number(String(decoding: source[start..<position], as: UTF8.self))
    }

    private mutating func string() -> String? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        let start = position
        while position < source.count {
            switch source[position] {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                return String(validating: source[start..<position], as: UTF8.self)
            case UInt8(ascii: "\\"): return escapedString(from: start)
            case ..<32: return nil
            default: position += 1
            }
        }
        return nil
    }

    /// The rest of a string from its first escape on; escapes are in UTF-16.
    private mutating func escapedString(from start: Int) -> String? {
        var units: [UInt16] = []
        var plain = start
        while position < source.count {
            let byte = source[position]
            guard byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\"") else {
                guard byte >= 32 else { return nil }
                position += 1
                continue
            }
            guard let text = String(validating: source[plain..<position], as: UTF8.self) else { return nil }
            units += text.utf16
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: units, as: UTF16.self) }
            guard let unit = escape() else { return nil }
            units.append(unit)
            plain = position
        }
        return nil
    }

    private mutating func escape() -> UInt16? {
        guard position < source.count else { return nil }
        defer { position += 1 }
        switch source[position] {
        case UInt8(ascii: "n"): return 10
        case UInt8(ascii: "r"): return 13
        case UInt8(ascii: "t"): return 9
        case UInt8(ascii: "b"): return 8
        case UInt8(ascii: "f"): return 12
        case UInt8(ascii: "u"):
            guard position + 4 < source.count else { return nil }
            var unit: UInt16 = 0
            for _ in 0..<4 {
                position += 1
                guard let digit = Hexadecimal.value(of: source[position]) else { return nil }
                unit = unit << 4 | UInt16(digit)
            }
            return unit
        case let byte where "\"\\/".utf8.contains(byte): return UInt16(byte)
        default: return nil
        }
    }

    // MARK: Bytes

    private mutating func skipSpace() {
        while position < source.count {
            switch source[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func skipsToEnd(_ byte: UInt8) -> Bool {
        skipSpace()
        return skip(byte)
    }

    private mutating func skip(_ word: String) -> Bool {
        guard source[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
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
        while position < source.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(source[position]) {
            position += 1
        }
        return position > start
    }
}
