public import HTTPTypes

/// What must not be read in a log, an error or a description, and what stands there instead.
///
/// ```swift
/// let redaction = Redaction.standard
///     .addingHeaderFields("X-Session")
///     .addingQueryItems("ticket")
/// let network = URLSession.shared.logged(redaction: redaction)
/// ```
///
/// Names are compared without regard to case. A header field whose `indexingStrategy` is `.disallow` is sensitive
/// whatever its name.
public struct Redaction: Sendable, Hashable {
    /// What stands in place of a secret.
    public static let placeholder = "<redacted>"

    private var headerFields: Set<String>
    private var queryItems: Set<String>
    private var bodyFields: Set<String>

    /// The default: credentials, cookies, API keys, signatures and tokens, by the names they commonly have.
    public static let standard = Redaction(
        headerFields: [
            "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key", "x-auth-token",
            "x-csrf-token", "x-xsrf-token", "x-amz-security-token", "x-goog-api-key", "authentication-info",
            "proxy-authentication-info", "dpop",
        ],
        queryItems: names.union([
            "awsaccesskeyid", "signature", "sig", "x-goog-signature", "x-amz-signature", "x-amz-credential",
            "x-amz-security-token", "key",
        ]),
        bodyFields: names
    )

    /// The fields that let someone in: they go over https or loopback only, and to one origin.
    static let credentials: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token",
        "x-amz-security-token", "x-goog-api-key",
    ]

    static func isCredential(_ field: HTTPField) -> Bool {
        field.indexingStrategy == .disallow || credentials.contains(field.name.canonicalName)
    }

    private static let names: Set<String> = [
        "access_token", "accesstoken", "api_key", "apikey", "api-key", "assertion", "auth", "authorization",
        "client_assertion", "client_secret", "clientsecret", "code", "code_verifier", "credential", "device_code",
        "id_token", "idtoken", "jwt", "pass", "passcode", "passphrase", "passwd", "password", "pin", "private_key",
        "privatekey", "refresh_token", "refreshtoken", "secret", "session", "session_id", "sessionid",
        "subject_token", "token",
    ]

    /// Hides further header fields.
    ///
    /// - Parameter names: Their names.
    /// - Returns: A redaction that hides them too.
    public func addingHeaderFields(_ names: String...) -> Redaction {
        var redaction = self
        redaction.headerFields.formUnion(names.map { $0.lowercased() })
        return redaction
    }

    /// Hides the values of further query items.
    ///
    /// - Parameter names: Their names.
    /// - Returns: A redaction that hides them too.
    public func addingQueryItems(_ names: String...) -> Redaction {
        var redaction = self
        redaction.queryItems.formUnion(names.map { $0.lowercased() })
        return redaction
    }

    /// Hides further fields of JSON and form bodies, at any depth.
    ///
    /// - Parameter names: Their names.
    /// - Returns: A redaction that hides them too.
    public func addingBodyFields(_ names: String...) -> Redaction {
        var redaction = self
        redaction.bodyFields.formUnion(names.map { $0.lowercased() })
        return redaction
    }

    /// Tells whether a header field is hidden.
    ///
    /// - Parameter field: The field.
    /// - Returns: Whether its value must not be shown.
    public func hides(_ field: HTTPField) -> Bool {
        field.indexingStrategy == .disallow || headerFields.contains(field.name.canonicalName)
    }

    func hidesBodyField(_ name: String) -> Bool {
        bodyFields.contains(name.lowercased())
    }

    /// This redaction with the query items of which a request knows that they are secrets.
    func hidingSecrets(of request: HTTPRequestData) -> Redaction {
        guard let names = request.box?.value.secretQueryItems, !names.isEmpty else { return self }
        var redaction = self
        redaction.queryItems.formUnion(names)
        return redaction
    }

    /// Method and URL of a request.
    func line(for request: HTTPRequestData) -> String {
        if let names = request.box?.value.secretQueryItems, !names.isSubset(of: queryItems) {
            return hidingSecrets(of: request).line(for: request)
        }
        let target = target(request.closedTarget)
        guard let authority = request.authority else { return Self.singleLine("\(request.method) \(target)") }
        let origin = "\(request.scheme ?? "https")://\(self.authority(authority))"
        return Self.singleLine("\(request.method) \(origin)\(target == "*" ? " *" : target)")
    }

    /// Header fields as lines, hidden values replaced.
    func lines(for fields: HTTPFields) -> [String] {
        fields.map { "\($0.name.rawName): \(hides($0) ? Self.placeholder : Self.singleLine(value(of: $0)))" }
    }

    /// The value of a field that is not hidden itself; a URL in it may have what is.
    func value(of field: HTTPField) -> String {
        switch field.name.canonicalName {
        case "location", "content-location", "referer": reference(field.value)
        default: field.value
        }
    }

    /// A URL, absolute or relative, with its userinfo and the hidden values of its query and fragment replaced.
    private func reference(_ text: String) -> String {
        let hash = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let fragment = pairs(text[hash...].dropFirst(), hiding: hidesQueryItem)
        var reference = target(String(text[..<hash]))
        if let slashes = reference.utf8.firstRange(of: "//".utf8) {
            let rest = reference[slashes.upperBound...].utf8
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            let range = slashes.upperBound..<end
            reference.replaceSubrange(range, with: authority(String(reference[range])))
        }
        return hash == text.endIndex ? reference : "\(reference)#\(fragment)"
    }

    /// Path and query, hidden values replaced and everything else to the byte.
    func target(_ target: String) -> String {
        let (path, query) = HTTPRequestData.split(target)
        guard let query else { return target }
        return "\(path)?\(pairs(query, hiding: hidesQueryItem))"
    }

    private func hidesQueryItem(_ name: String) -> Bool {
        queryItems.contains(name.lowercased())
    }

    /// Names and values as a query and a form have them, hidden values replaced.
    ///
    /// By bytes: a combining mark after an equals sign or an ampersand would make another character of it.
    func pairs(_ text: Substring, hiding isHidden: (String) -> Bool) -> String {
        text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { piece in
                let piece = Substring(piece)
                guard let equals = piece.utf8.firstIndex(of: UInt8(ascii: "=")) else { return piece }
                let name = piece[..<equals]
                return isHidden(PercentEncoding.decode(name)) ? "\(name)=\(Self.placeholder)" : piece
            }
            .joined(separator: "&")
    }

    /// An authority, userinfo replaced.
    func authority(_ authority: String) -> String {
        guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return authority }
        return "\(Self.placeholder)\(authority[at...])"
    }

    /// Text without the control characters that could forge a line of a log.
    static func singleLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 32 || $0 == 127 }) else { return text }
        return String(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : Character($0) })
    }
}
