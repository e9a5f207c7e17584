/// Writes a JSON document down again with some of its fields hidden: token by token, so that the order of fields, fields that
/// occur twice and every digit of a number stay.
///
/// It keeps its place in an array and not on the call stack, so that no depth of nesting can overflow that.
package struct JSONRedactor {
    /// How the document is written.
    enum Layout {
        /// Without any space.
        case compact
        /// A field and an element a line.
        case pretty
    }

    private let source: [UInt8]
    private let layout: Layout
    private let isHidden: (String) -> Bool

    private var position = 0
    private var output: [UInt8] = []
    /// What encloses the position, outermost first.
    private var containers: [Container] = []
    /// How many containers enclose the value that is not written; nil while all is.
    private var silentDepth: Int?
    /// Whether a field was hidden.
    private(set) var hasHidden = false

    private enum Container {
        case object, array
    }

    private enum Expectation {
        case value, valueOrEnd, name, nameOrEnd, separatorOrEnd, nothing
    }

    /// More of them would make a small document a large text.
    private static let deepestIndentation = 16

    private init(_ source: [UInt8], layout: Layout, isHidden: @escaping (String) -> Bool) {
        self.source = source
        self.layout = layout
        self.isHidden = isHidden
    }

    /// A document with its hidden fields replaced.
    ///
    /// - Parameters:
    ///   - source: The document.
    ///   - layout: How to write it.
    ///   - isHidden: Tells whether the field of a name is hidden.
    /// - Returns: The document and whether any field was hidden; nil for what is no JSON (RFC 8259) in UTF-8, of which nobody knows
    ///   what is in it.
    static func redact(
        _ source: [UInt8],
        layout: Layout = .compact,
        isHidden: (String) -> Bool
    ) -> (text: String, hasHidden: Bool)? {
        withoutActuallyEscaping(isHidden) { isHidden in
            var redactor = JSONRedactor(source, layout: layout, isHidden: isHidden)
            guard redactor.run(), let text = String(validating: redactor.output, as: UTF8.self) else { return nil }
            // What is hidden is not in the text, and has to be text too.
            guard !redactor.hasHidden || String(validating: source, as: UTF8.self) != nil else { return nil }
            return (text, redactor.hasHidden)
        }
    }

    /// The place of the first byte that makes a text no JSON document; nil for one.
    package static func fault(in source: [UInt8]) -> Int? {
        var redactor = JSONRedactor(source, layout: .compact) { _ in false }
        return redactor.run() ? nil : min(redactor.position, source.count)
    }

    // MARK: The document

    private mutating func run() -> Bool {
        output.reserveCapacity(source.count)
        if source.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        var expectation = Expectation.value
        while true {
            skipSpace()
            guard position < source.count else { return expectation == .nothing }
            let byte = source[position]
            switch expectation {
            case .nothing:
                return false
            case .nameOrEnd where byte == UInt8(ascii: "}"), .valueOrEnd where byte == UInt8(ascii: "]"):
                position += 1
                containers.removeLast()
                write(byte)
                expectation = afterValue()
            case .separatorOrEnd:
                guard let next = separatorOrEnd(byte) else { return false }
                expectation = next
            case .name, .nameOrEnd:
                if expectation == .nameOrEnd { breakLine() }
                guard name() else { return false }
                expectation = .value
            case .value, .valueOrEnd:
                if expectation == .valueOrEnd { breakLine() }
                guard let next = value(byte) else { return false }
                expectation = next
            }
        }
    }

    /// A comma, or the end of what encloses it.
    private mutating func separatorOrEnd(_ byte: UInt8) -> Expectation? {
        guard let container = containers.last else { return nil }
        position += 1
        switch (byte, container) {
        case (UInt8(ascii: ","), .object):
            write(byte)
            breakLine()
            return .name
        case (UInt8(ascii: ","), .array):
            write(byte)
            breakLine()
            return .value
        case (UInt8(ascii: "}"), .object), (UInt8(ascii: "]"), .array):
            containers.removeLast()
            breakLine()
            write(byte)
            return afterValue()
        default:
            // It is this byte that is the fault.
            position -= 1
            return nil
        }
    }

    /// A name and its colon.
    private mutating func name() -> Bool {
        guard let range = string() else { return false }
        writeString(range)
        skipSpace()
        guard position < source.count, source[position] == UInt8(ascii: ":") else { return false }
        position += 1
        write(UInt8(ascii: ":"))
        if layout == .pretty { write(UInt8(ascii: " ")) }
        if silentDepth == nil, isHidden(decoded(range)) {
            hasHidden = true
            output += "\"\(Redaction.placeholder)\"".utf8
            silentDepth = containers.count
        }
        return true
    }

    /// A value, or the beginning of one that has others in it.
    private mutating func value(_ byte: UInt8) -> Expectation? {
        switch byte {
        case UInt8(ascii: "{"):
            position += 1
            write(byte)
            containers.append(.object)
            return .nameOrEnd
        case UInt8(ascii: "["):
            position += 1
            write(byte)
            containers.append(.array)
            return .valueOrEnd
        case UInt8(ascii: "\""):
            guard let range = string() else { return nil }
            writeString(range)
        case UInt8(ascii: "t"):
            guard word("true") else { return nil }
        case UInt8(ascii: "f"):
            guard word("false") else { return nil }
        case UInt8(ascii: "n"):
            guard word("null") else { return nil }
        default:
            guard number() else { return nil }
        }
        return afterValue()
    }

    private mutating func afterValue() -> Expectation {
        if silentDepth == containers.count { silentDepth = nil }
        return containers.isEmpty ? .nothing : .separatorOrEnd
    }

    // MARK: Tokens

    private mutating func skipSpace() {
        while position < source.count {
            switch source[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Passes a string, and answers where it stands, with its quotation marks.
    private mutating func string() -> Range<Int>? {
        guard source[position] == UInt8(ascii: "\"") else { return nil }
        let start = position
        position += 1
        while position < source.count {
            switch source[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position
            case UInt8(ascii: "\\"):
                guard position + 1 < source.count else { return nil }
                switch source[position + 1] {
                case UInt8(ascii: "u"):
                    guard position + 6 <= source.count,
                        source[(position + 2)..<(position + 6)].allSatisfy({ Hexadecimal.value(of: $0) != nil })
                    else { return nil }
                    position += 6
                case let byte where "\"\\/bfnrt".utf8.contains(byte):
                    position += 2
                default:
                    return nil
                }
            case ..<32:
                return nil
            default:
                position += 1
            }
        }
        return nil
    }

    private mutating func word(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        let bytes = UnsafeBufferPointer(start: word.utf8Start, count: count)
        guard source[position...].starts(with: bytes) else { return false }
        if silentDepth == nil { output += bytes }
        position += count
        return true
    }

    /// RFC 8259 section 6.
    private mutating func number() -> Bool {
        let start = position
        skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")), !skipDigits() { return false }
        if skip(UInt8(ascii: ".")), !skipDigits() { return false }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard skipDigits() else { return false }
        }
        if silentDepth == nil { output += source[start..<position] }
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

    /// What a string says; what is no text in it is never hidden by name, and makes the document unfit besides.
    private func decoded(_ range: Range<Int>) -> String {
        let bytes = source[(range.lowerBound + 1)..<(range.upperBound - 1)]
        guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
        var units: [UInt16] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                // As far as the next escape, since a character may have several bytes.
                let end = rest.firstIndex(of: UInt8(ascii: "\\")) ?? rest.endIndex
                units += String(decoding: source[(rest.startIndex - 1)..<end], as: UTF8.self).utf16
                rest = rest[end...]
                continue
            }
            switch escaped {
            case UInt8(ascii: "u"):
                units.append(rest.prefix(4).reduce(0) { $0 << 4 | UInt16(Hexadecimal.value(of: $1) ?? 0) })
                rest = rest.dropFirst(4)
            case UInt8(ascii: "n"): units.append(10)
            case UInt8(ascii: "r"): units.append(13)
            case UInt8(ascii: "t"): units.append(9)
            case UInt8(ascii: "b"): units.append(8)
            case UInt8(ascii: "f"): units.append(12)
            default: units.append(UInt16(escaped))
            }
        }
        return String(decoding: units, as: UTF16.self)
    }

    // MARK: Writing

    private mutating func write(_ byte: UInt8) {
        if silentDepth == nil { output.append(byte) }
    }

    /// Copies a string, and escapes what is in it and does not show.
    private mutating func writeString(_ range: Range<Int>) {
        guard silentDepth == nil else { return }
        let bytes = source[range]
        guard bytes.contains(where: { Redaction.mayBeginUnprintable($0) }) else {
            output += bytes
            return
        }
        // Not by `String(decoding:)`, which would make valid what is not.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            output += bytes
            return
        }
        for scalar in text.unicodeScalars {
            if Redaction.isUnprintable(scalar) {
                // Those that do not show are all below 2 to the power of 16.
                output += "\\u\(UInt16(truncatingIfNeeded: scalar.value).hexadecimal)".utf8
            } else {
                output += UTF8.encode(scalar)!
            }
        }
    }

    private mutating func breakLine() {
        guard layout == .pretty, silentDepth == nil, containers.count <= Self.deepestIndentation else { return }
        output.append(UInt8(ascii: "\n"))
        output += repeatElement(UInt8(ascii: " "), count: 2 * containers.count)
    }
}
