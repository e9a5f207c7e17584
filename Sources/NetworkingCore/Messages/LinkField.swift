package import HTTPTypes

/// A link of a `Link` header field (RFC 8288 section 3).
package struct LinkField: Sendable, Hashable {
    /// The reference between the angle brackets, which may be relative.
    let target: String
    /// The relation types, in lower case.
    let relations: [String]
    /// Whether the link has an `anchor` parameter, so that it is a link of another resource than the response's.
    let hasAnchor: Bool

    /// The maximum length of all `Link` fields of a response, in bytes.
    package static let maximumBytes = 65_536

    /// Returns the target of the first link with a relation.
    ///
    /// - Parameters:
    ///   - relation: The relation type, in lower case.
    ///   - fields: The header fields of the response.
    /// - Returns: The target, which may be relative; `nil` if there is no such link.
    /// - Throws: `TooLong` if the fields exceed the maximum length.
    package static func target(of relation: String, in fields: HTTPFields) throws(TooLong) -> String? {
        let values = fields.filter { $0.name.canonicalName == "link" }.map(\.value)
        guard values.reduce(0, { $0 + $1.utf8.count }) <= maximumBytes else { throw TooLong() }
        for value in values {
            // A link with an anchor is about another resource, so it says nothing about this list.
            let link = parse(value).first { $0.relations.contains(relation) && !$0.hasAnchor }
            if let link { return link.target }
        }
        return nil
    }

    /// Returns the links in the value of a field; malformed ones are skipped.
    ///
    /// The time to parse a value grows linearly with its length.
    static func parse(_ value: String) -> [LinkField] {
        var parser = LinkParser(value)
        return parser.links()
    }

    /// The `Link` fields of a response are longer than the limit.
    package struct TooLong: Error {}
}

/// Parses the links of a field from its bytes, by the algorithm of RFC 8288 appendix B.
private struct LinkParser {
    private let bytes: [UInt8]
    private var position = 0

    init(_ value: String) {
        bytes = Array(value.utf8)
    }

    mutating func links() -> [LinkField] {
        var links: [LinkField] = []
        while position < bytes.count {
            if let link = link() {
                links.append(link)
            }
            skipRest()
        }
        return links
    }

    /// Reads a link; returns `nil` if there is none at this position.
    private mutating func link() -> LinkField? {
        skipBlanks()
        guard take(UInt8(ascii: "<")) else { return nil }
        guard let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else {
            position = bytes.count
            return nil
        }
        let target = text(position..<end)
        position = end + 1
        var relations: [String]?
        var hasAnchor = false
        skipBlanks()
        while take(UInt8(ascii: ";")) {
            let (name, value) = parameter()
            // Only the first `rel` counts (RFC 8288 section 3.3).
            if name == "rel", relations == nil {
                relations = value.lowercased().split { $0 == " " || $0 == "\t" }.map { String($0) }
            }
            hasAnchor = hasAnchor || name == "anchor"
            skipBlanks()
        }
        return LinkField(target: target, relations: relations ?? [], hasAnchor: hasAnchor)
    }

    /// Reads a parameter: a name in lower case, and a value, which is empty if there is none.
    private mutating func parameter() -> (name: String, value: String) {
        skipBlanks()
        let name = token(endingBefore: [UInt8(ascii: "=")]).lowercased()
        skipBlanks()
        guard take(UInt8(ascii: "=")) else { return (name, "") }
        skipBlanks()
        return (name, take(UInt8(ascii: "\"")) ? quotedText() : token(endingBefore: []))
    }

    /// Reads up to a blank, a semicolon, a comma or one of the given bytes.
    private mutating func token(endingBefore others: [UInt8]) -> String {
        let start = position
        while position < bytes.count, !isBlank(bytes[position]), bytes[position] != UInt8(ascii: ";"),
            bytes[position] != UInt8(ascii: ","), !others.contains(bytes[position])
        {
            position += 1
        }
        return text(start..<position)
    }

    /// Reads the rest of a quoted text; without a closing quote, it ends with the field.
    private mutating func quotedText() -> String {
        var content: [UInt8] = []
        while position < bytes.count {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                byte = bytes[position]
                position += 1
            }
            content.append(byte)
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// Skips the rest of a link, and the comma after it.
    private mutating func skipRest() {
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: ",") { return }
            if byte == UInt8(ascii: "\"") { _ = quotedText() }
        }
    }

    private mutating func skipBlanks() {
        while position < bytes.count, isBlank(bytes[position]) {
            position += 1
        }
    }

    /// Moves past a byte; returns `false` if another byte follows.
    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private func text(_ range: Range<Int>) -> String {
        String(String(decoding: bytes[range], as: UTF8.self).trimmed)
    }
}
