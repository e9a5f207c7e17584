/// A parser of a multipart body in memory (RFC 2046 section 5.1), for redaction.
struct MultipartParser {
    struct Part {
        var name: String?
        var fileName: String?
        var contentType: String?
        let bytes: ArraySlice<UInt8>
    }

    private let source: [UInt8]
    private let delimiter: [UInt8]

    /// Returns the parts; `nil` if the body is not complete from its first boundary to its last.
    static func parts(of source: [UInt8], boundary: String) -> [Part]? {
        guard !boundary.isEmpty else { return nil }
        return MultipartParser(source: source, delimiter: Array("--\(boundary)".utf8)).parts()
    }

    private func parts() -> [Part]? {
        guard var delimiter = nextDelimiter(from: 0) else { return nil }
        var parts: [Part] = []
        while true {
            let start = delimiter + self.delimiter.count
            if isLast(start) { return parts }
            guard let lineEnd = source[start...].firstIndex(of: 10), let next = nextDelimiter(from: lineEnd),
                let part = part(source[(lineEnd + 1)..<max(lineEnd + 1, bodyEnd(before: next))])
            else { return nil }
            parts.append(part)
            delimiter = next
        }
    }

    /// Returns the end of a part, without the line break before a boundary, which belongs to the boundary.
    private func bodyEnd(before delimiter: Int) -> Int {
        let end = delimiter - 1
        return end > 0 && source[end - 1] == 13 ? end - 1 : end
    }

    /// Returns the position of the next boundary at the start of a line.
    private func nextDelimiter(from start: Int) -> Int? {
        var position = start
        while position < source.count {
            if source[position...].starts(with: delimiter), isRestOfDelimiter(position + delimiter.count) {
                return position
            }
            guard let lineEnd = source[position...].firstIndex(of: 10) else { return nil }
            position = lineEnd + 1
        }
        return nil
    }

    private func isLast(_ position: Int) -> Bool {
        source[position...].starts(with: "--".utf8)
    }

    /// Whether the rest of the line contains only the end of the last boundary and white space.
    private func isRestOfDelimiter(_ position: Int) -> Bool {
        let rest = source[position...].dropFirst(isLast(position) ? 2 : 0)
        return rest.prefix { $0 != 10 }.allSatisfy { $0 == 32 || $0 == 9 || $0 == 13 }
    }

    private func part(_ bytes: ArraySlice<UInt8>) -> Part? {
        var rest = bytes
        var head: [Substring] = []
        while let lineEnd = rest.firstIndex(of: 10) {
            var line = rest[..<lineEnd]
            if line.last == 13 { line = line.dropLast() }
            rest = rest[(lineEnd + 1)...]
            if line.isEmpty {
                var part = Part(bytes: rest)
                for field in head {
                    part.read(field)
                }
                return part
            }
            head.append(String(decoding: line, as: UTF8.self)[...])
        }
        return nil
    }
}

extension MultipartParser.Part {
    fileprivate mutating func read(_ field: Substring) {
        guard let colon = field.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = field[field.utf8.index(after: colon)...]
        switch field[..<colon].lowercased() {
        case "content-disposition":
            name = BodyType.parameter("name", in: value)
            fileName = BodyType.parameter("filename", in: value)
        case "content-type":
            contentType = String(value.drop { $0 == " " })
        default:
            break
        }
    }
}
