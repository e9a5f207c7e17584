#if TestServer
import HTTPTypes
import Networking

extension RecordedRequest: CustomStringConvertible {
    /// The method, the target, and what arrived on which connection, in one line:
    /// `POST /users?page=2, 14 bytes (connection 1, request 3)`.
    ///
    /// The values of query items that sound like secrets are not shown.
    public var description: String {
        var text = "\(method) \(path)"
        if let query { text += "?" + query.withoutSecrets }
        if bodyByteCount > 0 { text += ", \(bodyByteCount) bytes" }
        if !isComplete { text += ", incomplete" }
        return text + " (connection \(connection), request \(numberOnConnection))"
    }
}

extension RecordedRequest: CustomDebugStringConvertible {
    /// The description with the fields, a line each; the values of those that carry secrets, such as `Authorization`,
    /// are not shown.
    public var debugDescription: String {
        let lines = (Array(headerFields) + Array(trailerFields))
            .map { field in
                "\(field.name.rawName): \(field.name.isSecret ? "<redacted>" : field.value)"
            }
        return ([description] + lines).joined(separator: "\n")
    }
}

extension RecordedRequest: CustomReflectable {
    /// Nothing but the description: a test that fails shows what it compared, part by part, secrets included.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: [debugDescription])
    }
}

extension HTTPField.Name {
    /// Whether the values of the field must not be shown.
    var isSecret: Bool {
        canonicalName.soundsSecret
    }
}

extension String {
    /// Parts of names behind which there are secrets; a false alarm hides what nobody misses.
    private static let secretWords = [
        "api-key", "api_key", "apikey", "assertion", "auth", "code", "cookie", "credential", "passw", "secret",
        "session", "sig",
        "token",
    ]

    fileprivate var soundsSecret: Bool {
        let name = lowercased()
        return Self.secretWords.contains { name.contains($0) }
    }

    /// A query whose secret items have no values.
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
