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
                "headerFields": headerFields,
                "body": body.map { $0.description } ?? "none",
            ]
        )
    }
}
