import NetworkingCore

/// Targeted directives form a Dictionary Structured Field (RFC 9213 section 2.1, RFC 9651 section 3.2). It is parsed
/// strictly: a malformed field is ignored as a whole.
///
/// Only integers and booleans are meaningful values here, so the parser keeps no other values.
extension CacheControl {
    /// Reads the fields of a targeted Cache-Control; `nil` if there are none or they are malformed.
    ///
    /// - Parameter values: The values of the fields.
    init?(structured values: [String]) {
        var parser = StructuredDictionary(values.joined(separator: ","))
        guard !values.isEmpty, let members = parser.members(), !members.isEmpty else { return nil }
        self.init([])
        for (name, value) in members {
            guard let directive = Directives.named[name] else { continue }
            // If a name occurs several times, the last one counts.
            remove(directive)
            switch (value, directive) {
            case (.integer(let number), .maxAge), (.integer(let number), .sMaxAge),
                (.integer(let number), .staleIfError), (.integer(let number), .staleWhileRevalidate):
                insert(directive, seconds: max(0, min(Double(number), 2_147_483_648)))
            case (.flag(true), .noCache), (.flag(true), .private):
                insert(directive)
            case (.flag(true), _) where directive.isFlag:
                insert(directive)
            // A value of the wrong type is ignored.
            default: break
            }
        }
    }
}

/// A parser for Dictionary Structured Fields.
private struct StructuredDictionary {
    enum Value {
        case integer(Int)
        case flag(Bool)
        /// A well-formed value without a meaning here.
        case other
    }

    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
    }

    mutating func members() -> [(String, Value)]? {
        var members: [(String, Value)] = []
        skip(" ")
        while !rest.isEmpty {
            guard let name = key() else { return nil }
            var value = Value.flag(true)
            if take("=") {
                guard let found = take("(") ? list() : item() else { return nil }
                value = found
            }
            guard skipParameters() else { return nil }
            members.append((name, value))
            skip(" \t")
            if rest.isEmpty { return members }
            guard take(",") else { return nil }
            skip(" \t")
            // After a comma, another member must follow.
            if rest.isEmpty { return nil }
        }
        return members
    }

    private mutating func key() -> String? {
        guard let first = rest.first, Self.isLowercase(first) || first == UInt8(ascii: "*") else { return nil }
        return take { Self.isLowercase($0) || DecimalDigits.contains($0) || "_-.*".utf8.contains($0) }
    }

    /// The items of an inner list, after its parenthesis.
    private mutating func list() -> Value? {
        while true {
            skip(" ")
            if take(")") { return .other }
            guard item() != nil, skipParameters() else { return nil }
            guard let next = rest.first, next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else { return nil }
        }
    }

    private mutating func skipParameters() -> Bool {
        while take(";") {
            skip(" ")
            guard key() != nil else { return false }
            if take("="), item() == nil { return false }
        }
        return true
    }

    private mutating func item() -> Value? {
        guard let first = rest.first else { return nil }
        switch first {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
        case UInt8(ascii: "\""): return string() ? .other : nil
        case UInt8(ascii: ":"): return bytes() ? .other : nil
        case UInt8(ascii: "%"): return displayString() ? .other : nil
        case UInt8(ascii: "?"):
            rest.removeFirst()
            if take("1") { return .flag(true) }
            return take("0") ? .flag(false) : nil
        case UInt8(ascii: "@"):
            rest.removeFirst()
            if case .integer = number() { return .other }
            return nil
        case UInt8(ascii: "*"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
            _ = take {
                DecimalDigits.contains($0) || Self.isLowercase($0 | 0x20) || "!#$%&'*+-.^_`|~:/".utf8.contains($0)
            }
            return .other
        default: return nil
        }
    }

    private mutating func number() -> Value? {
        let isNegative = take("-")
        let whole = take { DecimalDigits.contains($0) }
        guard !whole.isEmpty, whole.utf8.count <= 15 else { return nil }
        guard take(".") else { return Int(whole).map { .integer(isNegative ? -$0 : $0) } }
        let fraction = take { DecimalDigits.contains($0) }
        return 1...3 ~= fraction.utf8.count && whole.utf8.count <= 12 ? .other : nil
    }

    private mutating func string() -> Bool {
        rest.removeFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), "\"\\".utf8.contains(escaped) else { return false }
            case 0x20...0x7e: break
            default: return false
            }
        }
        return false
    }

    /// Reads a display string (RFC 9651 section 4.2.10): its escaped bytes must be UTF-8.
    private mutating func displayString() -> Bool {
        rest.removeFirst()
        guard take("\"") else { return false }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self) != nil
            case UInt8(ascii: "%"):
                // Letters must be in lower case.
                guard let high = rest.popFirst().flatMap({ Hexadecimal.lowercaseValue(of: $0) }),
                    let low = rest.popFirst().flatMap({ Hexadecimal.lowercaseValue(of: $0) })
                else { return false }
                text.append(high << 4 | low)
            case 0x20...0x7e: text.append(byte)
            default: return false
            }
        }
        return false
    }

    private mutating func bytes() -> Bool {
        rest.removeFirst()
        _ = take { DecimalDigits.contains($0) || Self.isLowercase($0 | 0x20) || "+/=".utf8.contains($0) }
        return take(":")
    }

    private mutating func skip(_ blanks: String) {
        rest = rest.drop { blanks.utf8.contains($0) }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func take(while isPart: (UInt8) -> Bool) -> String {
        let token = rest.prefix(while: isPart)
        rest = rest[token.endIndex...]
        return String(Substring(token))
    }

    private static func isLowercase(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }
}
