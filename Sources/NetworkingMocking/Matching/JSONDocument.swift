package import FoundationForNetworking
import NetworkingCore

/// A JSON document for comparison: names in any order, numbers by value, and strings by code points.
package enum JSONDocument: Sendable {
    case null
    case boolean(Bool)
    /// The number as written.
    case number(String)
    case string(String)
    case array([JSONDocument])
    case object([Name: JSONDocument])

    /// How to compare two documents.
    package enum Comparison: Sendable {
        case equal
        /// Objects may have additional names.
        case including
    }

    /// Parses a document; nil if it is not JSON (RFC 8259) or nested too deeply.
    package init?(_ data: Data) {
        var parser = JSONParser(Array(data))
        guard let document = parser.document() else { return nil }
        self = document
    }

    // MARK: Comparing

    /// Whether the document has the same content as another.
    func says(_ expected: JSONDocument, _ comparison: Comparison) -> Bool {
        switch (self, expected) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.number(let left), .number(let right)): Self.areEqual(left, right)
        case (.string(let left), .string(let right)): Self.areSame(left, right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.says($1, comparison) }
        case (.object(let left), .object(let right)):
            (comparison == .including || left.count == right.count)
                && right.allSatisfy { left[$0.key]?.says($0.value, comparison) ?? false }
        default: false
        }
    }

    /// Whether strings have the same code points, as servers compare them (RFC 8259 section 8.3).
    ///
    /// For `String`, an "é" of one code point equals one of two.
    fileprivate static func areSame(_ left: String, _ right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }

    private static func areEqual(_ left: String, _ right: String) -> Bool {
        left == right || JSONNumber(left) == JSONNumber(right)
    }

    /// The maximum number of reported differences; more would not help the reader.
    private static let maximumDifferences = 5

    /// The differences from an expected document, one sentence each, without redacted values.
    package func differences(
        from expected: JSONDocument,
        _ comparison: Comparison,
        isRedacted: (String) -> Bool
    ) -> [String] {
        var sentences: [String] = []
        compare(with: expected, comparison, at: "$", isRedacted, &sentences)
        return sentences
    }

    private func compare(
        with expected: JSONDocument,
        _ comparison: Comparison,
        at place: String,
        _ isRedacted: (String) -> Bool,
        _ sentences: inout [String]
    ) {
        guard sentences.count < Self.maximumDifferences, !says(expected, comparison) else { return }
        switch (self, expected) {
        case (.object(let left), .object(let right)):
            for name in right.keys.sorted() where sentences.count < Self.maximumDifferences {
                guard let value = right[name] else { continue }
                let inner = Self.place(name.text, in: place)
                guard let own = left[name] else {
                    let shown =
                        isRedacted(name.text) ? Redaction.placeholder : value.text(limit: 80, isRedacted: isRedacted)
                    sentences.append("\(inner) is missing; it should be \(shown).")
                    continue
                }
                if isRedacted(name.text) {
                    if !own.says(value, comparison) {
                        sentences.append("\(inner) has another value, which is not shown.")
                    }
                } else {
                    own.compare(with: value, comparison, at: inner, isRedacted, &sentences)
                }
            }
            guard comparison == .equal else { return }
            for name in left.keys.sorted() where right[name] == nil && sentences.count < Self.maximumDifferences {
                sentences.append("\(Self.place(name.text, in: place)) is not expected.")
            }
        case (.array(let left), .array(let right)):
            if left.count != right.count {
                let count = left.count == 1 ? "1 element" : "\(left.count) elements"
                sentences.append("\(place) has \(count), not \(right.count).")
            }
            for (index, (own, value)) in zip(left, right).enumerated() {
                own.compare(with: value, comparison, at: "\(place)[\(index)]", isRedacted, &sentences)
            }
        default:
            let shown = text(limit: 80, isRedacted: isRedacted)
            let other = expected.text(limit: 80, isRedacted: isRedacted)
            sentences.append(
                shown == other
                    ? "\(place) is \(shown), and differs in a part that is not shown."
                    : "\(place) is \(shown), not \(other)."
            )
        }
    }

    private static func place(_ name: String, in place: String) -> String {
        let isPlain = !name.isEmpty && name.utf8.allSatisfy { PercentEncoding.unreserved.allows($0) && $0 != 0x2E }
        return isPlain
            ? "\(place).\(name)" : "\(place)[\"\(PrintableText.cut(PrintableText.singleLine(name), to: 80))\"]"
    }

    // MARK: Showing

    /// The document on one line, redacted and cut to a number of bytes.
    func text(limit: Int, isRedacted: (String) -> Bool) -> String {
        var text = ""
        write(to: &text, limit, isRedacted)
        return PrintableText.cut(text, to: limit)
    }

    private func write(to text: inout String, _ limit: Int, _ isRedacted: (String) -> Bool) {
        // Text after the limit is cut off anyway.
        guard text.utf8.count <= limit else { return }
        switch self {
        case .null: text += "null"
        case .boolean(let value): text += "\(value)"
        case .number(let number): text += number
        case .string(let string): text += Self.quoted(string)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() where text.utf8.count <= limit {
                if index > 0 { text += "," }
                element.write(to: &text, limit, isRedacted)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated()
            where text.utf8.count <= limit {
                text += "\(index > 0 ? "," : "")\(Self.quoted(member.key.text)):"
                if isRedacted(member.key.text) {
                    text += Self.quoted(Redaction.placeholder)
                } else {
                    member.value.write(to: &text, limit, isRedacted)
                }
            }
            text += "}"
        }
    }

    private static func quoted(_ string: String) -> String {
        "\"\(PrintableText.escapedLine(string.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")))\""
    }
}

extension JSONDocument {
    /// The name of a member.
    package struct Name: Sendable, Hashable, Comparable {
        let text: String

        package static func == (lhs: Name, rhs: Name) -> Bool {
            JSONDocument.areSame(lhs.text, rhs.text)
        }

        package static func < (lhs: Name, rhs: Name) -> Bool {
            lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8)
        }

        package func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

/// The value of a number, regardless of its notation and number of digits.
private struct JSONNumber: Equatable {
    private let isNegative: Bool
    private let digits: [UInt8]
    private let exponent: Int

    init(_ text: String) {
        var bytes = Array(text.utf8)[...]
        let hasMinus = bytes.first == UInt8(ascii: "-")
        if hasMinus { bytes = bytes.dropFirst() }
        let mark = bytes.firstIndex { $0 | 0x20 == UInt8(ascii: "e") } ?? bytes.endIndex
        var exponent = Self.exponent(bytes[mark...].dropFirst())
        let mantissa = bytes[..<mark]
        let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.endIndex
        let fraction = mantissa[point...].dropFirst()
        var digits = Array(mantissa[..<point] + fraction)
        exponent -= fraction.count
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent
        isNegative = hasMinus && !digits.isEmpty
    }

    /// Parses an exponent and clamps it to bounds that no document can reach, so that it cannot overflow.
    private static func exponent(_ digits: ArraySlice<UInt8>) -> Int {
        guard let first = digits.first else { return 0 }
        let bound = 1 << 60
        let value = Int(String(decoding: digits, as: UTF8.self)) ?? (first == UInt8(ascii: "-") ? -bound : bound)
        return max(-bound, min(bound, value))
    }
}
