import HTTPTypes

extension HTTPRequestData: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL: `POST https://my-server.com/message?greeting=Hello%20World`.
    ///
    /// Userinfo and the values of sensitive query items are redacted, here and in every other printed form of a
    /// request.
    public var description: String {
        Redaction.standard.line(for: self)
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id,
                "request": description,
                "headerFields": printable(headerFields.httpFields),
                "body": redactingMarkedSecrets(in: body.map { $0.description } ?? "none"),
            ]
        )
    }
}

extension HTTPRequestData {
    /// Returns the header fields of this request or of its response as lines, without secrets.
    func printable(_ fields: HTTPFields) -> [String] {
        Redaction.standard.redactingSecrets(of: self).lines(for: fields)
    }
}
