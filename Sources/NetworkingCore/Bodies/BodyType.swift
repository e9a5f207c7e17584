/// The media type, charset and boundary of a body, read from its Content-Type.
package struct BodyType {
    /// The media type in lower case, without its parameters; empty if there is no Content-Type.
    package let essence: String
    private let parameters: Substring

    package init(_ contentType: String?) {
        let text = (contentType ?? "")[...]
        let end = text.utf8.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
        essence = String(text[..<end].filter { $0 != " " && $0 != "\t" }).lowercased()
        parameters = text[end...]
    }

    enum Shape {
        case json, jsonLines, form, multipart, events, text, bytes
    }

    var shape: Shape {
        switch essence {
        case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
            "application/json-seq", "application/stream+json", "application/x-json-stream":
            .jsonLines
        case "application/x-www-form-urlencoded": .form
        case "text/event-stream": .events
        case _ where essence.contains("json"): .json
        case _ where essence.hasPrefix("multipart/"): .multipart
        case _ where essence.hasPrefix("text/") || essence.contains("xml") || essence.contains("javascript"): .text
        default: .bytes
        }
    }

    var boundary: String? {
        Self.parameter("boundary", in: parameters)
    }

    /// The charset as written; `nil` if there is none.
    package var charset: String? {
        Self.parameter("charset", in: parameters)
    }

    /// Returns the bytes as text; `nil` if they are invalid in their charset or the charset is not supported.
    ///
    /// A byte order mark takes precedence over the charset, as in browsers (WHATWG Encoding Standard, section 6.1).
    package func text(of bytes: some Collection<UInt8>) -> String? {
        guard let encoding = Encoding(markOf: bytes) ?? Encoding(charset) else { return nil }
        switch encoding {
        case .utf8:
            let isMarked = bytes.starts(with: Encoding.utf8Mark)
            return String(validating: bytes.dropFirst(isMarked ? Encoding.utf8Mark.count : 0), as: UTF8.self)
        case .windowsLatin:
            var text = String.UnicodeScalarView()
            text.append(contentsOf: bytes.lazy.map { WindowsLatin.scalar(of: $0) })
            return String(text)
        case .utf16(let isLittle):
            return WideText.text(of: bytes, isLittle: isLittle)
        }
    }

    private enum Encoding {
        case utf8, windowsLatin
        case utf16(isLittle: Bool)

        static let utf8Mark: [UInt8] = [0xEF, 0xBB, 0xBF]

        /// The encoding of a charset; `nil` if the charset is not supported.
        init?(_ charset: String?) {
            switch charset?.lowercased() {
            case nil, "utf-8", "utf8", "us-ascii", "ascii", "": self = .utf8
            // As browsers decode it: servers that name ISO 8859-1 mean windows-1252, which has characters for the
            // control codes.
            case "iso-8859-1", "latin1", "iso_8859-1", "windows-1252": self = .windowsLatin
            case "utf-16", "utf-16be": self = .utf16(isLittle: false)
            case "utf-16le": self = .utf16(isLittle: true)
            default: return nil
            }
        }

        /// The encoding of a byte order mark; `nil` if there is none.
        init?(markOf bytes: some Collection<UInt8>) {
            if bytes.starts(with: Self.utf8Mark) {
                self = .utf8
            } else if bytes.starts(with: [0xFF, 0xFE]) {
                self = .utf16(isLittle: true)
            } else if bytes.starts(with: [0xFE, 0xFF]) {
                self = .utf16(isLittle: false)
            } else {
                return nil
            }
        }
    }

    /// Returns a parameter of `Content-Type` or `Content-Disposition`: `; name=token` or `; name="a \"string\""`.
    ///
    /// White space around the equals sign is ignored, and a value without quotation marks may contain white space,
    /// because servers write both.
    ///
    /// - Parameters:
    ///   - name: The name of the parameter in lower case.
    ///   - text: The value of the field.
    /// - Returns: The value without quotation marks; `nil` if there is no such parameter.
    package static func parameter(_ name: String, in text: Substring) -> String? {
        var rest = text.utf8[...]
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[semicolon...].dropFirst()
            guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }) else {
                return nil
            }
            let found = String(Substring(rest[..<end].trimmed)).lowercased()
            rest = rest[end...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            let value = takeValue(&rest)
            if found == name { return value }
        }
        return nil
    }

    private static func takeValue(_ rest: inout Substring.UTF8View) -> String {
        rest = rest.dropFirst().drop(while: isBlank)
        guard rest.first == UInt8(ascii: "\"") else {
            let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.endIndex
            defer { rest = rest[end...] }
            return String(Substring(rest[..<end].trimmed))
        }
        rest = rest.dropFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: value, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
