import FoundationForNetworking

/// A member of a structured field, or the whole field: its value and its parameters (RFC 9651 section 3).
package struct StructuredItem: Hashable, Sendable {
    package enum Value: Hashable, Sendable {
        case boolean(Bool)
        case integer(Int64)
        case decimal(Double)
        case string(String)
        case token(String)
        case bytes([UInt8])
        /// The seconds since 1970.
        case date(Int64)
        case displayString(String)
        case innerList([StructuredItem])
    }

    package let value: Value
    /// The parameters; the last value of a repeated one applies.
    package let parameters: [String: Value]

    package init(_ value: Value, parameters: [String: Value] = [:]) {
        (self.value, self.parameters) = (value, parameters)
    }

    /// Reads a field that is a list.
    ///
    /// - Parameter field: The value of the field; several lines are joined with a comma.
    /// - Returns: The members, or `nil` if any part of the field is malformed.
    package static func list(_ field: String) -> [StructuredItem]? {
        var parser = StructuredFieldParser(field)
        return parser.list()
    }

    /// Reads a field that is a dictionary.
    ///
    /// - Parameter field: The value of the field; several lines are joined with a comma.
    /// - Returns: The members, the last one of each name, or `nil` if any part of the field is malformed.
    package static func dictionary(_ field: String) -> [String: StructuredItem]? {
        var parser = StructuredFieldParser(field)
        return parser.dictionary()
    }

    /// Reads a field that is one item.
    ///
    /// - Parameter field: The value of the field.
    /// - Returns: The item, or `nil` if any part of the field is malformed.
    package static func item(_ field: String) -> StructuredItem? {
        var parser = StructuredFieldParser(field)
        return parser.item()
    }
}

/// The strict parser of RFC 9651 section 4.2.
///
/// It neither recurses nor allocates more than the members, so a field of any length is harmless.
private struct StructuredFieldParser {
    typealias Value = StructuredItem.Value

    var rest: ArraySlice<UInt8>

    init(_ field: String) {
        rest = Array(field.utf8)[...]
    }

    mutating func list() -> [StructuredItem]? {
        var members: [StructuredItem] = []
        return eachMember { parser in
            guard let member = parser.member() else { return false }
            members.append(member)
            return true
        } ? members : nil
    }

    mutating func dictionary() -> [String: StructuredItem]? {
        var members: [String: StructuredItem] = [:]
        return eachMember { parser in
            guard let key = parser.key() else { return false }
            if parser.skipped("=") {
                guard let member = parser.member() else { return false }
                members[key] = member
            } else {
                guard let parameters = parser.parameters() else { return false }
                members[key] = StructuredItem(.boolean(true), parameters: parameters)
            }
            return true
        } ? members : nil
    }

    mutating func item() -> StructuredItem? {
        skip { $0 == .space }
        guard let value = value(), let parameters = parameters() else { return nil }
        skip { $0 == .space }
        return rest.isEmpty ? StructuredItem(value, parameters: parameters) : nil
    }

    /// Reads members between commas to the end; `false` if one is malformed or a comma ends the field.
    private mutating func eachMember(_ read: (inout StructuredFieldParser) -> Bool) -> Bool {
        skip { $0 == .space }
        while !rest.isEmpty {
            guard read(&self) else { return false }
            skip { $0 == .space || $0 == .tab }
            guard !rest.isEmpty else { break }
            guard skipped(",") else { return false }
            skip { $0 == .space || $0 == .tab }
            guard !rest.isEmpty else { return false }
        }
        return true
    }

    private mutating func member() -> StructuredItem? {
        guard let value = rest.first == UInt8(ascii: "(") ? innerList() : value() else { return nil }
        return parameters().map { StructuredItem(value, parameters: $0) }
    }

    private mutating func innerList() -> Value? {
        guard skipped("(") else { return nil }
        var items: [StructuredItem] = []
        while true {
            skip { $0 == .space }
            if skipped(")") { return .innerList(items) }
            guard let value = value(), let parameters = parameters(),
                rest.first == .space || rest.first == UInt8(ascii: ")")
            else { return nil }
            items.append(StructuredItem(value, parameters: parameters))
        }
    }

    private mutating func parameters() -> [String: Value]? {
        var parameters: [String: Value] = [:]
        while skipped(";") {
            skip { $0 == .space }
            guard let key = key() else { return nil }
            if skipped("=") {
                guard let value = value() else { return nil }
                parameters[key] = value
            } else {
                parameters[key] = .boolean(true)
            }
        }
        return parameters
    }

    private mutating func key() -> String? {
        guard let first = rest.first, first == UInt8(ascii: "*") || 0x61...0x7A ~= first else { return nil }
        return prefix { $0.isLowercaseAlphanumeric || "_-.*".utf8.contains($0) }
    }

    private mutating func value() -> Value? {
        switch rest.first {
        case UInt8(ascii: "\""): string().map { .string($0) }
        case UInt8(ascii: ":"): bytes()
        case UInt8(ascii: "?"): boolean()
        case UInt8(ascii: "@"): date()
        case UInt8(ascii: "%"): displayString()
        case UInt8(ascii: "*"): token()
        case let first? where first == UInt8(ascii: "-") || 0x30...0x39 ~= first: number()
        case let first? where first.isLetter: token()
        default: nil
        }
    }

    private mutating func number() -> Value? {
        let isNegative = skipped("-")
        let whole = prefix { 0x30...0x39 ~= $0 }
        guard (1...15).contains(whole.utf8.count), let number = Int64(whole) else { return nil }
        guard skipped(".") else { return .integer(isNegative ? -number : number) }
        let fraction = prefix { 0x30...0x39 ~= $0 }
        guard whole.utf8.count <= 12, (1...3).contains(fraction.utf8.count) else { return nil }
        return Double("\(isNegative ? "-" : "")\(whole).\(fraction)").map { .decimal($0) }
    }

    private mutating func date() -> Value? {
        guard skipped("@"), case .integer(let seconds)? = number() else { return nil }
        return .date(seconds)
    }

    private mutating func boolean() -> Value? {
        guard skipped("?") else { return nil }
        if skipped("1") { return .boolean(true) }
        return skipped("0") ? .boolean(false) : nil
    }

    private mutating func token() -> Value? {
        let characters = "!#$%&'*+-.^_`|~:/".utf8
        return .token(prefix { $0.isLetter || 0x30...0x39 ~= $0 || characters.contains($0) })
    }

    private mutating func string() -> String? {
        guard skipped("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                else { return nil }
                text.append(escaped)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func bytes() -> Value? {
        guard skipped(":") else { return nil }
        let data = prefix { $0.isLetter || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
        // Missing padding is accepted, as the specification recommends.
        let padding = prefix { $0 == UInt8(ascii: "=") }
        guard skipped(":"), data.utf8.count % 4 != 1, padding.isEmpty || (data + padding).utf8.count.isMultiple(of: 4),
            padding.utf8.count <= 2,
            let bytes = Data(base64Encoded: data + String(repeating: "=", count: -data.utf8.count & 3))
        else { return nil }
        return .bytes(Array(bytes))
    }

    private mutating func displayString() -> Value? {
        guard skipped("%"), skipped("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self).map { .displayString($0) }
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.lowercaseHexDigit, let low = rest.popFirst()?.lowercaseHexDigit else {
                    return nil
                }
                text.append(high << 4 | low)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    // MARK: Bytes

    private mutating func skip(while condition: (UInt8) -> Bool) {
        rest = rest.drop(while: condition)
    }

    private mutating func skipped(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func prefix(while condition: (UInt8) -> Bool) -> String {
        let prefix = rest.prefix(while: condition)
        rest = rest[prefix.endIndex...]
        return String(decoding: prefix, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate static let space = UInt8(ascii: " ")
    fileprivate static let tab = UInt8(ascii: "\t")

    fileprivate var isLetter: Bool {
        0x41...0x5A ~= self || 0x61...0x7A ~= self
    }

    fileprivate var isLowercaseAlphanumeric: Bool {
        0x61...0x7A ~= self || 0x30...0x39 ~= self
    }

    fileprivate var lowercaseHexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
