package import FoundationForNetworking

extension Redaction {
    /// The style of bodies in a log: the maximum number of bytes, and whether a body may have several lines.
    package struct BodyStyle {
        var limit: Int
        var isPretty: Bool

        package init(limit: Int, isPretty: Bool = false) {
            self.limit = limit
            self.isPretty = isPretty
        }

        /// Structured text is parsed completely or not shown: an excerpt could end in the middle of a secret's name.
        var parsingLimit: Int {
            max(limit, 1 << 20)
        }
    }

    /// Returns the body of a request as text for a log; a description of the body if it is not in memory.
    package func text(for body: RequestBody, contentType: String?, style: BodyStyle) -> String {
        if let data = body.data { return text(for: data, contentType: contentType, style: style) }
        guard let parts = body.parts else { return PrintableText.singleLine(redactingValues(in: body.description)) }
        let texts = parts.prefix(Self.maximumParts)
            .map { part in
                summary(
                    name: part.name,
                    fileName: part.fileName,
                    data: part.body.data,
                    count: part.body.length.map { "\($0) bytes" } ?? "unknown length",
                    contentType: part.contentType,
                    style: style
                )
            }
        return PrintableText.cut(listed(texts, of: parts.count), to: style.limit)
    }

    /// Returns a body as text for a log, limited to a number of bytes.
    ///
    /// Redacted fields of JSON, forms and other text are replaced. Parts of a multipart body are listed with their
    /// names. Only the length of any other body is shown.
    package func text(for data: Data, contentType: String?, style: BodyStyle) -> String {
        if data.isEmpty { return "empty" }
        if let mask { return "\(mask) (\(data.count) bytes)" }
        let type = BodyType(contentType)
        return shown(data, type, style)
            ?? "\(data.count) bytes\(contentType.map { " of \(described($0))" } ?? "")"
    }

    /// Returns the text to show for a body; `nil` if only its length is shown.
    private func shown(_ data: Data, _ type: BodyType, _ style: BodyStyle) -> String? {
        if type.shape == .text { return plainText(data, type, style) }
        guard type.shape != .bytes, data.count <= style.parsingLimit else { return nil }
        let text: String? =
            switch type.shape {
            case .json: type.text(of: data).flatMap { json($0, isPretty: style.isPretty) }
            case .jsonLines: type.text(of: data).map { jsonLines($0, isPretty: style.isPretty) }
            case .form:
                type.text(of: data).map { PrintableText.singleLine(pairs($0[...], redacting: redactsBodyField)) }
            case .events: type.text(of: data).map { events($0, isPretty: style.isPretty) }
            case .multipart: multipart(data, type, style)
            case .text, .bytes: nil
            }
        return text.map { PrintableText.cut(redactingValues(in: $0), to: style.limit, of: data.count) }
    }

    private func described(_ contentType: String) -> String {
        PrintableText.cut(PrintableText.singleLine(redactingValues(in: contentType.lowercased())), to: 256)
    }

    // MARK: JSON

    private func json(_ text: String, isPretty: Bool) -> String? {
        document(Array(text.utf8), layout: isPretty ? .pretty : .compact)?.text
    }

    /// Returns one document per line; a record separator may precede a document (RFC 7464).
    private func jsonLines(_ text: String, isPretty: Bool) -> String {
        text.utf8.split { $0 == 10 || $0 == 13 || $0 == 0x1E }
            .compactMap { line in
                let line = String(Substring(line))
                guard line.utf8.contains(where: { $0 != 32 && $0 != 9 }) else { return nil }
                return json(line, isPretty: isPretty) ?? "\(line.utf8.count) bytes"
            }
            .joined(separator: isPretty ? "\n" : " ")
    }

    // MARK: Text

    private func plainText(_ data: Data, _ type: BodyType, _ style: BodyStyle) -> String? {
        if Self.mayBeJSON(data) {
            // An excerpt of a document that is not parsed to its end could contain any of its secrets.
            guard data.count <= style.parsingLimit, let text = type.text(of: data),
                let json = document(Array(text.utf8), layout: style.isPretty ? .pretty : .compact)
            else { return nil }
            if json.hasRedacted {
                return PrintableText.cut(redactingValues(in: json.text), to: style.limit, of: data.count)
            }
        }
        // Only the excerpt is decoded, unless there are marked secrets, which could begin in it and end after it.
        var bytes = data[...]
        if secretValues.isEmpty, bytes.count > style.limit {
            bytes = bytes.prefix(style.limit)
            // Whole characters only: at most three bytes at the end belong to an incomplete one.
            for _ in 0..<3 where type.text(of: bytes) == nil {
                bytes = bytes.dropLast()
            }
        }
        guard !bytes.contains(0), let text = type.text(of: bytes) else { return nil }
        let shown = redactingValues(in: Self.mayBeJSON(data) ? text : redactedText(text) ?? text)
        let line = style.isPretty ? PrintableText.indentedLines(shown) : PrintableText.escapedLine(shown)
        guard bytes.count < data.count else { return PrintableText.cut(line, to: style.limit, of: data.count) }
        return "\(line)… (\(data.count) bytes)"
    }

    // MARK: Parts

    /// The maximum number of parts that are shown; further parts are only counted.
    private static let maximumParts = 100

    private func multipart(_ data: Data, _ type: BodyType, _ style: BodyStyle) -> String? {
        guard let boundary = type.boundary, let parts = MultipartParser.parts(of: Array(data), boundary: boundary)
        else {
            return nil
        }
        let texts = parts.prefix(Self.maximumParts)
            .map { part in
                summary(
                    name: part.name,
                    fileName: part.fileName,
                    data: Data(part.bytes),
                    count: "\(part.bytes.count) bytes",
                    contentType: part.contentType,
                    style: style
                )
            }
        return listed(texts, of: parts.count)
    }

    private func listed(_ texts: [String], of count: Int) -> String {
        (texts + (count > texts.count ? ["… (\(count) parts)"] : [])).joined(separator: "; ")
    }

    /// Returns the name and size of a part, and its content if it is not a file and not redacted.
    private func summary(
        name: String?,
        fileName: String?,
        data: Data?,
        count: String,
        contentType: String?,
        style: BodyStyle
    ) -> String {
        // Without a name, the part could be a redacted one.
        guard let name else { return "a part: \(count)\(contentType.map { " of \(described($0))" } ?? "")" }
        let label = PrintableText.cut(PrintableText.singleLine(redactingValues(in: name)), to: 256)
        if redactsBodyField(name) { return "\(label): \(Self.placeholder) (\(count))" }
        if let mask { return "\(label): \(mask) (\(count))" }
        if let fileName {
            let file = PrintableText.cut(PrintableText.singleLine(redactingValues(in: fileName)), to: 256)
            return "\(label) \"\(file)\": \(count)\(contentType.map { " of \(described($0))" } ?? "")"
        }
        let type = BodyType(contentType ?? "text/plain")
        // A part may itself have parts, and a body from outside decides how deep, so nested parts are not shown.
        guard let data, type.shape != .multipart, let text = shown(data, type, style) else {
            return "\(label): \(count)\(contentType.map { " of \(described($0))" } ?? "")"
        }
        return "\(label): \(text)"
    }

    // MARK: Bodies that are sent

    /// Returns a body that can still be sent, with its values redacted; unchanged if it has nothing to redact.
    ///
    /// Returns `nil` for a body of a type with redacted fields that cannot be parsed, because its content is not known.
    package func body(_ data: Data, contentType: String?) -> Data? {
        let type = BodyType(contentType)
        let body: Data? =
            switch type.shape {
            case .json: type.text(of: data).flatMap { sendableJSON($0, data) }
            case .jsonLines: sendableLines(data, type)
            case .form: type.text(of: data).map { Data(pairs($0[...], redacting: redactsBodyField).utf8) }
            case .multipart: hasRedactedPart(data, type) ? nil : data
            case .events: sendableEvents(data, type)
            case .bytes, .text: sendableText(data, type)
            }
        guard let body, !secretValues.isEmpty else { return body }
        return secretValues.redacted(in: Array(body)).map { Data($0) } ?? body
    }

    /// Returns a body of a type without fields, which may still contain JSON, a form or markup.
    private func sendableText(_ data: Data, _ type: BodyType) -> Data? {
        let text = type.text(of: data)
        guard !Self.mayBeJSON(data) else { return text.flatMap { sendableJSON($0, data) } }
        guard let text else { return data }
        return FreeTextRedactor.redact(Array(text.utf8), isSendable: true, by: self).map { Data($0) } ?? data
    }

    private func sendableJSON(_ text: String, _ data: Data) -> Data? {
        guard let json = document(Array(text.utf8)) else { return nil }
        return json.hasRedacted ? Data(json.text.utf8) : data
    }

    private func sendableLines(_ data: Data, _ type: BodyType) -> Data? {
        guard let text = type.text(of: data) else { return nil }
        var lines: [String] = []
        for bytes in text.utf8.split(separator: 10, omittingEmptySubsequences: false) {
            let line = String(Substring(bytes))
            guard line.contains(where: { !$0.isWhitespace }) else {
                lines.append(line)
                continue
            }
            guard let json = document(Array(bytes)) else { return nil }
            lines.append(json.hasRedacted ? json.text : line)
        }
        return Data(lines.joined(separator: "\n").utf8)
    }

    private func hasRedactedPart(_ data: Data, _ type: BodyType) -> Bool {
        guard let boundary = type.boundary, let parts = MultipartParser.parts(of: Array(data), boundary: boundary)
        else {
            return true
        }
        return parts.contains { part in
            // A part without a readable name could be a redacted one.
            guard let name = part.name, !redactsBodyField(name) else { return true }
            // A document in a part has redacted fields like any other. Parts within a part are not parsed.
            let type = part.contentType ?? "text/plain"
            guard BodyType(type).shape != .multipart else { return true }
            return body(Data(part.bytes), contentType: type) != Data(part.bytes)
        }
    }
}
