public import HTTPTypes

extension HTTPField {
    /// Whether the field is a credential: a password, a token, an API key or a cookie.
    ///
    /// A field is a credential if its name indicates it (``Redaction/standard`` lists the names), or if its
    /// `indexingStrategy` is `.disallow`, as ``HTTPRequestData/setCredential(_:for:)`` sets it (RFC 7541 section
    /// 7.1.3). The whole library uses this definition. A credential is redacted in logs and errors. It is sent only
    /// over https or to the loopback address. A credential that a modifier adds is sent only to the server that the
    /// nearest `server` modifier names. A redirect to another origin removes it, and it separates users in a cache.
    ///
    /// ```swift
    /// HTTPField(name: .authorization, value: "Bearer token-1").isCredential   // true
    /// HTTPField(name: .accept, value: "text/html").isCredential               // false
    /// ```
    public var isCredential: Bool {
        indexingStrategy == .disallow || name.isCredential
    }
}

extension HTTPField.Name {
    /// Whether fields with this name are credentials.
    package var isCredential: Bool {
        CredentialNames.headerFields.redacts(lowercased: canonicalName)
    }
}

/// The names of credentials, which ``Redaction/standard`` redacts and which are sent only to the stack's server.
enum CredentialNames {
    /// The names of header fields.
    ///
    /// Frequent names that are not credentials are listed, so that one lookup finds them without matching the patterns.
    static let headerFields: NameRules = {
        var rules = NameRules(redacting: ["x-auth*"], showing: ["x-author", "x-authors", "x-author-*"])
        // They are added later, so that an author's token is redacted.
        rules.set(credentials, isRedacted: true)
        rules.set(frequentFields, isRedacted: false)
        return rules
    }()

    private static let credentials = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2", "x-api-key", "api-key",
        "x-amz-security-token", "x-goog-api-key", "authentication-info", "proxy-authentication-info", "dpop",
        "*token", "*secret*", "*password*", "*passphrase*", "*passwd*", "*passcode*", "*credential*", "*jwt*",
        "*authorization", "*api-key", "*apikey", "*access-key", "*accesskey", "*private-key*", "*auth-key",
        "*authkey", "*subscription-key", "*functions-key", "*cookie", "*session-id", "*sessionid",
    ]

    private static let frequentFields = [
        "accept", "accept-charset", "accept-encoding", "accept-language", "age", "cache-control", "connection",
        "content-encoding", "content-length", "content-type", "date", "etag", "expires", "host", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified", "location",
        "origin", "pragma", "range", "referer", "server", "traceparent", "tracestate", "user-agent", "vary",
    ]

    /// The names of query items.
    static let queryItems = NameRules(
        redacting: values + ["awsaccesskeyid", "sig", "x-amz-credential", "key", "*signature"],
        showing: harmlessValues
    )

    /// The names of fields in JSON and form bodies, and of parts of multipart bodies.
    static let bodyFields = NameRules(redacting: values, showing: harmlessValues)

    private static let values = [
        "access_token", "accesstoken", "api_key", "apikey", "api-key", "assertion", "auth", "authorization",
        "client_assertion", "client_secret", "clientsecret", "code", "code_verifier", "codeverifier", "credential",
        "device_code", "id_token", "idtoken", "jwt", "otp", "pass", "passcode", "passphrase", "passwd", "password",
        "pin", "private_key", "privatekey", "refresh_token", "refreshtoken", "secret", "session", "session_id",
        "sessionid", "subject_token", "token", "totp",
        "*token", "*secret*", "*password*", "*passwd*", "*passphrase*", "*passcode*", "*credential*",
        "*api_key", "*api-key", "*apikey", "*private_key*", "*private-key*", "*privatekey*",
        "*session_id", "*session-id", "*sessionid", "*jwt", "*cookie", "*authorization", "*access_key*", "*accesskey*",
        "tokens",
    ]

    /// Names that match the patterns although they are not secrets.
    private static let harmlessValues = [
        "*page_token", "*page-token", "*pagetoken", "secretary", "secretaries", "secretariat",
    ]
}
