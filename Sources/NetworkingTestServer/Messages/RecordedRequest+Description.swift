#if TestServer
import HTTPTypes
import NetworkingCore

extension RecordedRequest: CustomStringConvertible {
    /// The method, the target, the size of the body and the connection, on one line:
    /// `POST /users?page=2, 14 bytes (connection 1, request 3)`.
    ///
    /// The values of query items are redacted if their names suggest secrets.
    public var description: String {
        var text = "\(method) \(path)"
        if let query { text += "?" + query.withoutSecrets }
        if bodyByteCount > 0 { text += ", \(bodyByteCount) bytes" }
        if !isComplete { text += ", incomplete" }
        return text + " (connection \(connection), request \(numberOnConnection))"
    }
}

extension RecordedRequest: CustomDebugStringConvertible {
    /// The description followed by the fields, one per line.
    ///
    /// The values of secret fields, such as `Authorization`, are redacted.
    public var debugDescription: String {
        let lines = (Array(headerFields) + Array(trailerFields))
            .map { field in
                "\(field.name.rawName): \(field.name.isSecret ? "<redacted>" : field.value)"
            }
        return ([description] + lines).joined(separator: "\n")
    }
}

extension RecordedRequest: CustomReflectable {
    /// A mirror with the debug description as its only child.
    ///
    /// A failed test would otherwise print each property of a request, including secrets.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: [debugDescription])
    }
}

extension HTTPField.Name {
    /// Whether the values of the field are redacted.
    var isSecret: Bool {
        canonicalName.soundsSecret
    }
}

extension String {
    /// Parts of names that suggest a secret.
    ///
    /// Redacting a harmless value is acceptable.
    private static let secretWords = [
        "api-key", "api_key", "apikey", "assertion", "auth", "code", "cookie", "credential", "passw", "secret",
        "session", "sig",
        "token",
    ]

    fileprivate var soundsSecret: Bool {
        let name = lowercased()
        return Self.secretWords.contains { name.contains($0) }
    }

    /// The query with the values of secret items redacted.
    fileprivate var withoutSecrets: String {
        split(separator: "&", omittingEmptySubsequences: false)
            .map { item in
                guard let name = item.split(separator: "=", maxSplits: 1).first, name.count < item.count else {
                    return String(item)
                }
                return PercentEncoding.decode(name).soundsSecret ? "\(name)=<redacted>" : String(item)
            }
            .joined(separator: "&")
    }
}
#endif
