/// Rewrites a JSON document with some of its fields redacted.
///
/// It works token by token, so that the order of fields, repeated fields and every digit of a number are kept.
struct JSONRedactor {
    /// The layout of the document.
    enum Layout {
        /// No white space.
        case compact
        /// One field or element per line.
        case pretty
    }

    private var tokens: JSONTokenizer
    private let layout: Layout
    private let isRedacted: (String) -> Bool
    private let redactedText: (String) -> String?

    private var output: [UInt8] = []
    /// The number of containers around the value that is not written; `nil` if everything is written.
    private var silentDepth: Int?
    /// Whether the last token started a container.
    private var isAfterStart = false
    /// Whether a field has been redacted.
    private(set) var hasRedacted = false

    /// A deeper indentation would make a large text of a small document.
    private static let maximumIndentation = 16

    private init(
        _ source: [UInt8],
        layout: Layout,
        isRedacted: @escaping (String) -> Bool,
        redactedText: @escaping (String) -> String?
    ) {
        tokens = JSONTokenizer(source)
        self.layout = layout
        self.isRedacted = isRedacted
        self.redactedText = redactedText
    }

    /// Returns a document with its redacted fields replaced.
    ///
    /// - Parameters:
    ///   - source: The document.
    ///   - layout: The layout of the result.
    ///   - isRedacted: Returns whether the field with a name is redacted.
    ///   - redactedText: Returns the text of a string with the redacted values in it replaced; `nil` if it has none.
    /// - Returns: The document and whether anything was redacted; `nil` if the source is not JSON (RFC 8259) in UTF-8,
    ///   so that its fields are not known.
    static func redact(
        _ source: [UInt8],
        layout: Layout = .compact,
        isRedacted: (String) -> Bool,
        redactedText: (String) -> String? = { _ in nil }
    ) -> (text: String, hasRedacted: Bool)? {
        withoutActuallyEscaping(isRedacted) { isRedacted in
            withoutActuallyEscaping(redactedText) { redactedText in
                var redactor = JSONRedactor(
                    source,
                    layout: layout,
                    isRedacted: isRedacted,
                    redactedText: redactedText
                )
                guard redactor.run(), let text = String(validating: redactor.output, as: UTF8.self) else { return nil }
                // The redacted values are not in the text, but must be valid UTF-8 too.
                guard !redactor.hasRedacted || String(validating: source, as: UTF8.self) != nil else { return nil }
                return (text, redactor.hasRedacted)
            }
        }
    }

    /// Writes the document; `false` if it is malformed.
    private mutating func run() -> Bool {
        output.reserveCapacity(tokens.source.count)
        while let token = tokens.next() {
            let isFirst = isAfterStart
            isAfterStart = false
            switch token {
            case .documentEnd: return true
            case .comma:
                write(UInt8(ascii: ","))
                breakLine(depth: tokens.depth)
                continue
            case .start: if isFirst { breakLine(depth: tokens.depth - 1) }
            case .end: if !isFirst { breakLine(depth: tokens.depth) }
            case .name, .string, .number, .boolean, .null: if isFirst { breakLine(depth: tokens.depth) }
            }
            write(token)
        }
        return false
    }

    private mutating func write(_ token: JSONTokenizer.Token) {
        switch token {
        case .comma, .documentEnd: return
        case .start(let container):
            write(UInt8(ascii: container == .object ? "{" : "["))
            isAfterStart = true
            return
        case .name(let range):
            writeName(range)
            return
        case .end(let container): write(UInt8(ascii: container == .object ? "}" : "]"))
        case .string(let range): writeValue(range)
        case .number(let range): write(tokens.source[range])
        case .boolean(let value): write((value ? "true" : "false").utf8)
        case .null: write("null".utf8)
        }
        endValue()
    }

    /// Starts to write again after a redacted value.
    private mutating func endValue() {
        if silentDepth == tokens.depth { silentDepth = nil }
    }

    // MARK: Writing

    private mutating func write(_ byte: UInt8) {
        if silentDepth == nil { output.append(byte) }
    }

    private mutating func write(_ bytes: some Collection<UInt8>) {
        if silentDepth == nil { output += bytes }
    }

    /// Writes a name with its colon, and the placeholder if the field is redacted.
    private mutating func writeName(_ range: Range<Int>) {
        writeString(range)
        write(UInt8(ascii: ":"))
        if layout == .pretty { write(UInt8(ascii: " ")) }
        // A name that is not UTF-8 could be one to redact, so it is not shown, and neither is the rest of its document.
        guard silentDepth == nil, isRedacted(tokens.text(of: range)) else { return }
        hasRedacted = true
        output += "\"\(Redaction.placeholder)\"".utf8
        silentDepth = tokens.depth
    }

    /// Writes a string, which may itself contain a document or a form with redacted fields.
    private mutating func writeValue(_ range: Range<Int>) {
        // Each of the formats has a delimiter after a name; an escape may stand for one.
        guard silentDepth == nil, tokens.source[range].contains(where: { #"=:<\"#.utf8.contains($0) }),
            let redacted = redactedText(tokens.text(of: range))
        else {
            writeString(range)
            return
        }
        hasRedacted = true
        output.append(UInt8(ascii: "\""))
        for scalar in redacted.unicodeScalars {
            switch scalar {
            case "\"", "\\": output += [UInt8(ascii: "\\"), UInt8(truncatingIfNeeded: scalar.value)]
            default: write(printable: scalar)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Copies a string and escapes the unprintable characters in it.
    private mutating func writeString(_ range: Range<Int>) {
        guard silentDepth == nil else { return }
        let bytes = tokens.source[range]
        guard bytes.contains(where: { PrintableText.mayBeginUnprintable($0) }) else {
            output += bytes
            return
        }
        // `String(decoding:)` would repair invalid text.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            output += bytes
            return
        }
        for scalar in text.unicodeScalars {
            write(printable: scalar)
        }
    }

    private mutating func write(printable scalar: Unicode.Scalar) {
        if PrintableText.isUnprintable(scalar) {
            // All unprintable characters are below 2 to the power of 16.
            output += "\\u\(UInt16(truncatingIfNeeded: scalar.value).hexadecimal)".utf8
        } else {
            output += UTF8.encode(scalar)!
        }
    }

    private mutating func breakLine(depth: Int) {
        guard layout == .pretty, silentDepth == nil, depth <= Self.maximumIndentation else { return }
        output.append(UInt8(ascii: "\n"))
        output += repeatElement(UInt8(ascii: " "), count: 2 * depth)
    }
}
