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

    /// Method and URL of a request.
    func line(for request: HTTPRequestData) -> String {
        let target = target(request.closedTarget)
        guard let authority = request.authority else { return "\(request.method) \(target)" }
        return "\(request.method) \(request.scheme ?? "https")://\(self.authority(authority))\(target)"
    }

    /// Header fields as lines, hidden values replaced.
    func lines(for fields: HTTPFields) -> [String] {
        fields.map { field in
            let value =
                if hides(field) {
                    Self.placeholder
                } else if Self.isURL(field.name) {
                    Self.singleLine(url(field.value))
                } else {
                    Self.singleLine(field.value)
                }
            return "\(field.name.rawName): \(value)"
        }
    }

    /// The fields whose value is a URL, which may carry the codes and tokens of a sign-in.
    private static func isURL(_ name: HTTPField.Name) -> Bool {
        switch name.canonicalName {
        case "location", "content-location", "referer": true
        default: false
        }
    }

    /// A URL, hidden values of its query replaced and all of its fragment: that is where an implicit grant puts a token.
    private func url(_ url: String) -> String {
        guard let hash = url.firstIndex(of: "#") else { return target(url) }
        return "\(target(String(url[..<hash])))#\(Self.placeholder)"
    }

    /// Path and query, hidden values replaced and everything else to the byte.
    func target(_ target: String) -> String {
        let (path, query) = HTTPRequestData.split(target)
        guard let query else { return target }
        let pieces = query.split(separator: "&", omittingEmptySubsequences: false)
            .map { piece -> Substring in
                guard let equals = piece.firstIndex(of: "=") else { return piece }
                let name = PercentEncoding.decode(piece[..<equals]).lowercased()
                return queryItems.contains(name) ? "\(piece[...equals])\(Self.placeholder)" : piece
            }
        return "\(path)?\(pieces.joined(separator: "&"))"
    }

    /// An authority, userinfo replaced.
    func authority(_ authority: String) -> String {
        guard let at = authority.lastIndex(of: "@") else { return authority }
        return "\(Self.placeholder)\(authority[at...])"
    }

    /// Text without the control characters that could forge a line of a log.
    static func singleLine(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 32 || $0 == 127 }) else { return text }
        return String(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : Character($0) })
    }
}
