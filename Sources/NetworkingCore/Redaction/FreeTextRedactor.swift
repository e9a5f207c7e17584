/// Redacts named values in text of no known format: `password=…`, `"password": …` and `<password>…</password>`.
///
/// Such a text may be truncated, malformed or a mixture of formats, so it is scanned and not parsed. A value whose end
/// is not certain extends to the end of its line or of the text.
struct FreeTextRedactor {
    private let source: [UInt8]
    /// The placeholder, escaped for a text that is XML and stays XML.
    private let placeholder: [UInt8]
    private let redaction: Redaction

    private var position = 0
    private var output: [UInt8] = []
    /// The end of the part of the source that has been written.
    private var copied = 0
    /// The start of the text after the last delimiter, which a name cannot extend before.
    private var nameStart = 0
    /// Whether the next element contains the value for a name: `<key>password</key><string>…</string>`.
    private var isNextElementRedacted = false

    /// The maximum number of bytes of a name.
    private static let maximumName = 1_024

    private init(_ source: [UInt8], isMarkup: Bool, _ redaction: Redaction) {
        self.source = source
        self.redaction = redaction
        placeholder = Array((isMarkup ? "&lt;redacted&gt;" : Redaction.placeholder).utf8)
    }

    /// Returns a text with its redacted values replaced.
    ///
    /// - Parameters:
    ///   - source: The text, in UTF-8.
    ///   - isSendable: Whether markup must stay well-formed.
    ///   - redaction: The names of the redacted values: fields of bodies, and query items in URLs.
    /// - Returns: The redacted text; `nil` if nothing is redacted.
    static func redact(_ source: [UInt8], isSendable: Bool = false, by redaction: Redaction) -> [UInt8]? {
        let isMarkup = isSendable && source.first { !JSONTokenizer.isSpace($0) } == UInt8(ascii: "<")
        var redactor = FreeTextRedactor(source, isMarkup: isMarkup, redaction)
        return redactor.run()
    }

    private mutating func run() -> [UInt8]? {
        while position < source.count {
            let index = position
            position += 1
            switch source[index] {
            case UInt8(ascii: "="): readPair(at: index)
            case UInt8(ascii: ":"): readMember(at: index)
            case UInt8(ascii: "<"): readElement(at: index)
            default: continue
            }
            nameStart = position
        }
        guard copied > 0 else { return nil }
        return output + source[copied...]
    }

    /// Replaces a part of the text, and continues after it.
    private mutating func redact(_ range: Range<Int>) {
        output += source[copied..<range.lowerBound]
        output += placeholder
        copied = range.upperBound
        position = max(position, range.upperBound)
    }

    // MARK: Pairs and members

    /// Redacts the value of `name=value`.
    private mutating func readPair(at delimiter: Int) {
        guard redacts(name(before: delimiter)) else { return }
        let start = skip(" \t", from: delimiter + 1)
        let quote = skip("\\", from: start)
        if quote < source.count, Self.isQuote(source[quote]) {
            redact((quote + 1)..<endOfQuotation(from: quote + 1, like: source[quote], hasEscapes: quote == start))
        } else {
            redact(start..<end(from: start) { $0 == UInt8(ascii: "&") || Self.isLineBreak($0) })
        }
    }

    /// Redacts the value of `"name": value`, and that of `name: value` at the start of a line.
    private mutating func readMember(at delimiter: Int) {
        let name = name(before: delimiter)
        guard name.isQuoted || name.isFirstInLine, redacts(name) else { return }
        let start = skip(" \t", from: delimiter + 1)
        guard start < source.count else { return }
        // Only a parser finds the end of a quoted value and of one on several lines.
        let isLine = !name.isQuoted && !Self.isLineBreak(source[start]) && !"\"'{[|>".utf8.contains(source[start])
        redact(start..<(isLine ? end(from: start, where: Self.isLineBreak) : source.count))
    }

    private struct Name {
        var text: String
        var isQuoted = false
        var isFirstInLine = false
        var isQueryItem = false
    }

    /// Returns the name that ends before a delimiter; an empty one if there is none.
    private func name(before delimiter: Int) -> Name {
        var end = delimiter
        while end > nameStart, JSONTokenizer.isSpace(source[end - 1]) { end -= 1 }
        guard end > nameStart else { return Name(text: "") }
        if Self.isQuote(source[end - 1]) {
            let quote = source[end - 1]
            end -= 1
            while end > nameStart, source[end - 1] == UInt8(ascii: "\\") { end -= 1 }
            var start = end
            while start > nameStart, source[start - 1] != quote { start -= 1 }
            return Name(text: unescaped(source[start..<end]), isQuoted: true)
        }
        var start = end
        while start > nameStart, !Self.separators.contains(source[start - 1]) { start -= 1 }
        var before = start
        while before > nameStart, " \t-".utf8.contains(source[before - 1]) { before -= 1 }
        let isFirst = before == 0 || before > nameStart && Self.isLineBreak(source[before - 1])
        return Name(
            text: PercentEncoding.decode(text(of: start..<end)),
            isFirstInLine: isFirst,
            isQueryItem: start > 0 && "?&#".utf8.contains(source[start - 1])
        )
    }

    /// The bytes that are not part of a name without quotation marks.
    private static let separators = Set(" \t\r\n&?;#,{}()<>\"'`/|=:".utf8)

    /// Returns a name without its escapes, also in JSON within a string of JSON.
    private func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var name = Array(bytes.suffix(Self.maximumName + 1))
        for _ in 0..<3 where name.contains(UInt8(ascii: "\\")) {
            let quoted = [UInt8(ascii: "\"")] + name + [UInt8(ascii: "\"")]
            name = Array(JSONTokenizer(quoted).text(of: 0..<quoted.count).utf8)
        }
        return String(decoding: name, as: UTF8.self)
    }

    private func text(of range: Range<Int>) -> Substring {
        Substring(decoding: source[range].suffix(Self.maximumName + 1), as: UTF8.self)
    }

    private func redacts(_ name: Name) -> Bool {
        guard !name.text.isEmpty, name.text.utf8.count <= Self.maximumName else { return false }
        return redaction.redactsBodyField(name.text) || name.isQueryItem && redaction.redactsQueryItem(name.text)
    }

    // MARK: Elements

    /// Redacts the content and the attributes of an element with a redacted name.
    private mutating func readElement(at start: Int) {
        let nameEnd = end(from: start + 1) { !Self.isNameByte($0) }
        let tag = source[(start + 1)..<nameEnd]
        // End tags, declarations and sections are no elements.
        guard let first = tag.first, !"!?".utf8.contains(first) else { return }
        let attributes = nameEnd..<endOfTag(from: nameEnd)
        let prefixEnd = tag.lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? tag.startIndex
        let localName = Name(text: String(text(of: prefixEnd..<nameEnd)))
        if isNextElementRedacted || redacts(localName) || namesSecret(attributes) {
            isNextElementRedacted = false
            redactElement(tag, attributes)
        } else if ["key", "name"].contains(localName.text.lowercased()), attributes.upperBound < source.count {
            let content = attributes.upperBound + 1
            let name = text(of: content..<end(from: content) { $0 == UInt8(ascii: "<") })
            isNextElementRedacted = redacts(Name(text: name.filter { !$0.isWhitespace }))
        }
    }

    private mutating func redactElement(_ tag: ArraySlice<UInt8>, _ attributes: Range<Int>) {
        let values = values(of: attributes)
        for (_, value) in values {
            redact(value)
        }
        let isVoid = Self.voidElements.contains(String(decoding: tag, as: UTF8.self).lowercased())
        let isClosed = source[attributes.upperBound - 1] == UInt8(ascii: "/")
        guard attributes.upperBound < source.count, !isVoid, !isClosed else { return }
        redact((attributes.upperBound + 1)..<endOfContent(of: tag, from: attributes.upperBound + 1))
    }

    /// The elements of HTML that may name a value and have no end tag.
    private static let voidElements: Set<String> = ["input", "meta", "param", "link", "img", "br", "hr"]

    /// Whether an attribute `name` or `key` is the name of a secret: `<input name="password" value="…">`.
    private func namesSecret(_ attributes: Range<Int>) -> Bool {
        values(of: attributes)
            .contains { name, value in
                ["name", "key"].contains(name.lowercased()) && redacts(Name(text: String(text(of: value))))
            }
    }

    /// Returns the attributes of a tag: their names and the places of their values, without quotation marks.
    private func values(of attributes: Range<Int>) -> [(name: String, value: Range<Int>)] {
        var values: [(String, Range<Int>)] = []
        var index = attributes.lowerBound
        while let equals = source[index..<attributes.upperBound].firstIndex(of: UInt8(ascii: "=")) {
            let name = text(of: index..<equals).split { $0.isWhitespace || $0 == "\"" || $0 == "'" }.last ?? ""
            let start = min(skip(" \t\r\n", from: equals + 1), attributes.upperBound)
            let isQuoted = start < attributes.upperBound && Self.isQuote(source[start])
            let value =
                isQuoted
                ? (start + 1)..<endOfQuotation(from: start + 1, like: source[start])
                : start..<end(from: start) { JSONTokenizer.isSpace($0) || "<>".utf8.contains($0) }
            values.append((String(name), value.clamped(to: attributes)))
            index = min(max(value.upperBound, equals + 1), attributes.upperBound)
        }
        return values
    }

    /// Returns the index of the byte that ends a tag, normally its `>`; the end of the text if none does.
    private func endOfTag(from start: Int) -> Int {
        var index = start
        // A tag without an end must not be read again by each tag within it.
        while index < source.count, source[index] != UInt8(ascii: ">"), source[index] != UInt8(ascii: "<") {
            index = Self.isQuote(source[index]) ? endOfQuotation(from: index + 1, like: source[index]) + 1 : index + 1
        }
        return min(index, source.count)
    }

    /// Returns the index of the end tag of an element, which may contain elements of the same name.
    private func endOfContent(of tag: ArraySlice<UInt8>, from start: Int) -> Int {
        var depth = 1
        var index = start
        while index < source.count {
            let rest = source[index...]
            guard rest.first == UInt8(ascii: "<") else {
                index += 1
                continue
            }
            if rest.starts(with: "<![CDATA[".utf8) {
                index = endOfSection("]]>", from: index)
            } else if rest.starts(with: "<!--".utf8) {
                index = endOfSection("-->", from: index)
            } else if rest.starts(with: "</".utf8), starts(tag, at: index + 2) {
                depth -= 1
                if depth == 0 { return index }
                index += 2
            } else {
                if starts(tag, at: index + 1) { depth += 1 }
                index += 1
            }
        }
        return source.count
    }

    private func starts(_ tag: ArraySlice<UInt8>, at index: Int) -> Bool {
        guard index < source.count, source[index...].starts(with: tag) else { return false }
        let next = index + tag.count
        return next == source.count || !Self.isNameByte(source[next])
    }

    private func endOfSection(_ mark: StaticString, from start: Int) -> Int {
        let mark = UnsafeBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
        return source[start...].firstRange(of: mark)?.upperBound ?? source.count
    }

    // MARK: Bytes

    private static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool {
        byte == 10 || byte == 13
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        !JSONTokenizer.isSpace(byte) && !"<>/".utf8.contains(byte)
    }

    private func skip(_ bytes: StaticString, from start: Int) -> Int {
        let bytes = UnsafeBufferPointer(start: bytes.utf8Start, count: bytes.utf8CodeUnitCount)
        return end(from: start) { !bytes.contains($0) }
    }

    /// Returns the index of the quotation mark that ends a quotation; the end of the text if none does.
    private func endOfQuotation(from start: Int, like quote: UInt8, hasEscapes: Bool = false) -> Int {
        var index = start
        while index < source.count, source[index] != quote {
            index += hasEscapes && source[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index, source.count)
    }

    private func end(from start: Int, where isEnd: (UInt8) -> Bool) -> Int {
        var index = start
        while index < source.count, !isEnd(source[index]) { index += 1 }
        return min(index, source.count)
    }
}
