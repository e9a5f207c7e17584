extension HTTPRequestData {
    /// Redacts a text wherever it occurs in descriptions, logs, commands and errors of this request.
    ///
    /// ```swift
    /// var request = HTTPRequestData(path: "reset/\(token)")
    /// request.markSecret(token)
    /// print(request)   // GET /reset/<redacted>
    /// ```
    ///
    /// Redaction works by names, and a path has no names. A marked text is redacted in the path, the query, the values
    /// of header fields, bodies and the reasons of errors, for the request and for its response. It is also found if it
    /// is percent-encoded or has JSON escapes. Mark only texts that are long enough to be unique. The mark belongs to
    /// the request: a `query` or `headerFields` value that was copied from it and is printed separately is not
    /// redacted.
    ///
    /// - Parameter value: The text before any encoding; an empty text changes nothing.
    public mutating func markSecret(_ value: String) {
        guard !value.isEmpty else { return }
        settings.secretValues.insert(value)
    }

    /// Redacts the values of the query items with a name, in addition to those of the rules.
    package mutating func markSecret(queryItem name: String) {
        settings.secretQueryItems.insert(name.lowercased())
    }

    /// The names, in lower case, of the query items that were marked on this request.
    package var secretQueryItems: Set<String> {
        box?.value.secretQueryItems ?? []
    }

    /// Whether texts were marked on this request.
    package var hasSecrets: Bool {
        box?.value.secretValues.isEmpty == false
    }

    /// Returns a text in which the texts that were marked on this request are redacted.
    package func redactingMarkedSecrets(in text: String) -> String {
        guard let box, !box.value.secretValues.isEmpty else { return text }
        return box.value.secretValues.redacted(in: text)
    }
}

extension Redaction {
    /// Returns this redaction with the secrets of a request.
    package func redactingSecrets(of request: HTTPRequestData) -> Redaction {
        // Field by field, because reading the settings as a whole would copy them.
        guard let box = request.box, !box.value.secretQueryItems.isEmpty || !box.value.secretValues.isEmpty else {
            return self
        }
        return redacting(queryItems: box.value.secretQueryItems, values: box.value.secretValues)
    }

    /// Returns the method and the URL of a request as a log shows them.
    ///
    /// Query items are redacted by name, and the values that the request marks as secret are redacted everywhere.
    ///
    /// - Parameter request: The request.
    /// - Returns: One line of limited length: `GET https://api.example.com/users?token=<redacted>`.
    public func line(for request: HTTPRequestData) -> String {
        let (open, query) = target(of: request)
        return open + query
    }

    /// Returns the method and the URL up to the path, and separately the query with its question mark.
    package func target(of request: HTTPRequestData) -> (open: String, query: String) {
        let redaction = redactingSecrets(of: request)
        let (path, query) = RequestTarget.split(request.closedTarget)
        var open = "\(request.method) "
        if let authority = request.authority {
            open += "\(request.scheme ?? "https")://\(redaction.authority(authority))\(path == "*" ? " " : "")"
        }
        open += path
        let shown = query.map { "?\(redaction.pairs($0, redacting: redaction.redactsQueryItem))" } ?? ""
        return (
            PrintableText.cut(PrintableText.singleLine(redaction.redactingValues(in: open)), to: Self.maximumValue),
            PrintableText.cut(PrintableText.singleLine(redaction.redactingValues(in: shown)), to: Self.maximumValue)
        )
    }
}
