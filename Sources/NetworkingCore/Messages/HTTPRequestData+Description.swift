import HTTPTypes

extension HTTPRequestData: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL: `POST https://my-server.com/message?greeting=Hello%20World`.
    ///
    /// Userinfo and the values of sensitive query items are redacted, here and in every other form a request prints in.
    public var description: String {
        Redaction.standard.line(for: self)
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id,
                "request": description,
                "headerFields": printable(headerFields.httpFields),
                "body": hidingMarkedSecrets(in: body.map { $0.description } ?? "none"),
            ]
        )
    }
}

extension HTTPRequestData {
    /// Header fields of this request or of what answers it, without secrets.
    func printable(_ fields: HTTPFields) -> [String] {
        Redaction.standard.hidingSecrets(of: self).lines(for: fields)
    }
}
