import FoundationForNetworking
import HTTPTypes

extension HTTPRequestData {
    /// Returns a `curl` command that sends the same request from a shell.
    ///
    /// ```swift
    /// print(network.resolved(request).curl())
    /// // curl --request PUT \
    /// //     --header 'Authorization: <redacted>' \
    /// //     --header 'Content-Type: application/json' \
    /// //     --data-raw '{"name":"Emily"}' \
    /// //     'https://api.example.com/users/7'
    /// ```
    ///
    /// A stack completes a request on its way, so use ``NetworkingComponent/resolved(_:)`` for the complete request.
    /// Missing parts of the URL default to `https`, `localhost` and `/`. Any POSIX shell accepts the command, which
    /// sends the same method, URL, header fields and body. If the request has no `User-Agent` or `Accept`, curl adds
    /// its own, and it applies its own rules for redirects, proxies and cookies.
    ///
    /// A text body is part of the command, other bytes are created with `printf`, and a file is referenced by its path.
    /// A body that is longer than 64 KiB, or that comes from a stream, is not included: a comment before the command
    /// says where to put it.
    ///
    /// - Parameter redaction: The secrets to redact, in addition to texts that ``markSecret(_:)`` marks;
    ///   ``Redaction/standard`` by default. With `nil`, the command contains all secrets.
    /// - Returns: The command.
    public func curl(redaction: Redaction? = .standard) -> String {
        CURLCommand(request: self, redaction: redaction?.redactingSecrets(of: self)).text
    }
}

private struct CURLCommand {
    let request: HTTPRequestData
    let redaction: Redaction?

    /// The maximum size of a body in a command, in bytes; a longer one is impractical to paste.
    private static let maximumBody = 64 << 10

    var text: String {
        let body = self.body
        var parts: [String] = []
        switch (request.method, request.body == nil) {
        case (.get, true): break
        case (.head, true): parts.append("--head")
        default: parts.append("--request \(quoted(request.method.rawValue))")
        }
        parts += options
        parts += fields.map { "--header \(quoted($0))" }
        if let option = body.option { parts.append(option) }
        parts.append(quoted(url))
        return "\(body.preface)curl " + parts.joined(separator: " \\\n    ")
    }

    // MARK: URL

    private var url: String {
        let target = request.closedTarget
        let authority = request.authority ?? "localhost"
        let shown = redaction.map { ($0.authority(authority), $0.target(target)) } ?? (authority, target)
        return "\(request.scheme ?? "https")://\(shown.0)\(target == "*" ? "" : shown.1)"
    }

    /// Options that keep curl from interpreting the URL as a pattern or rewriting it.
    private var options: [String] {
        var options: [String] = []
        if url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { options.append("--globoff") }
        if request.closedTarget.contains("/.") { options.append("--path-as-is") }
        if request.closedTarget == "*" { options.append("--request-target '*'") }
        return options
    }

    // MARK: Header fields

    private var fields: [String] {
        var fields = request.headerFields.httpFields
        fields.joinCookies()
        var lines: [String] = []
        for field in fields {
            let value = redaction.map { $0.redacts(field) ? Redaction.placeholder : $0.value(of: field) } ?? field.value
            // With a colon and no value, curl would remove the field.
            lines.append(value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(value)")
        }
        if let body = request.body, !fields.contains(.contentType) {
            // Otherwise, curl adds the content type of a form.
            let type = body.contentType.map { redaction?.redactingValues(in: $0) ?? $0 }
            lines.append(type.map { "Content-Type: \($0)" } ?? "Content-Type:")
        }
        return lines
    }

    // MARK: The body

    private var body: (preface: String, option: String?) {
        guard let body = request.body else { return ("", nil) }
        if let file = body.fileURL {
            let path = redaction?.redactingValues(in: file.path) ?? file.path
            return ("", "--data-binary \(quoted("@\(path)"))")
        }
        let elsewhere = "--data-binary @body"
        guard let data = body.data else {
            return ("# The body comes from a stream: save it in a file named body.\n", elsewhere)
        }
        let type = request.headerFields[.contentType] ?? body.contentType
        guard data.count <= Self.maximumBody,
            let shown = redaction.map({ $0.body(data, contentType: type) }) ?? .some(data)
        else { return ("# The body has \(data.count) bytes: save it in a file named body.\n", elsewhere) }
        // Control characters could move the cursor in the reader's terminal, so such a body is not written as text
        // either.
        if !shown.contains(where: { $0 < 32 && $0 != 9 && $0 != 10 || $0 == 127 }),
            let text = String(validating: shown, as: UTF8.self)
        {
            return ("", "--data-raw \(quoted(text))")
        }
        let bytes = shown.map { byte in
            let octal = String(byte, radix: 8)
            return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
        }
        return ("printf '\(bytes.joined())' | ", "--data-binary @-")
    }

    /// Returns a text quoted as a literal word of a POSIX shell.
    ///
    /// Works on bytes: in a `String`, a quote with a combining mark is a different character, but to a shell it is a
    /// quote.
    private func quoted(_ text: String) -> String {
        let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'\(parts.map { String(Substring($0)) }.joined(separator: "'\\''"))'"
    }
}
