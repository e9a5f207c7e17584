import HTTPTypes

extension HTTPRequestData {
    /// The request as text for a developer: method and URL, header fields, and the body, with JSON broken into lines.
    ///
    /// Secrets are redacted as in logs, and at most 64 KiB of the body are shown.
    public var prettyPrinted: String {
        let redaction = Redaction.standard.redactingSecrets(of: self)
        let text = body.map { body in
            redaction.text(for: body, contentType: headerFields[.contentType] ?? body.contentType, style: .pretty)
        }
        return Redaction.joined(head: description, fields: printable(headerFields.httpFields), body: text)
    }
}

extension HTTPResponseData {
    /// The response as text for a developer: status, header fields, and the body, with JSON broken into lines.
    ///
    /// ```swift
    /// print(response.prettyPrinted)
    /// ```
    ///
    /// Secrets are redacted as in logs, and at most 64 KiB of the body are shown.
    public var prettyPrinted: String {
        let redaction = Redaction.standard.redactingSecrets(of: sentRequest).forBody(ofStatus: status.code)
        let text = body.data.map { redaction.text(for: $0, contentType: headerFields[.contentType], style: .pretty) }
        return Redaction.joined(
            head: sentRequest.redactingMarkedSecrets(in: status.text),
            fields: sentRequest.printable(headerFields),
            body: text ?? body.description
        )
    }
}

extension Redaction {
    fileprivate static func joined(head: String, fields: [String], body: String?) -> String {
        ([head] + fields + (body.map { ["", $0] } ?? [])).joined(separator: "\n")
    }
}

extension Redaction.BodyStyle {
    fileprivate static let pretty = Redaction.BodyStyle(limit: 64 << 10, isPretty: true)
}
