extension Redaction {
    /// The default: credentials, cookies, API keys, signatures, tokens and passwords, by the names that they commonly have.
    ///
    /// Besides single names, such as `Authorization`, `code` and `session`, these are hidden wherever they stand:
    ///
    /// - header fields: `*token`, `*secret*`, `*password*`, `*authorization`, `*api-key`, `*apikey`, `*cookie`,
    ///   `*session-id`, `*credential*`, `*passphrase*`, `*passwd*`, `*passcode*`, `*private-key*`, `*auth-key`, `*jwt*`;
    /// - query items and the fields of bodies: `*token`, `*secret*`, `*password*`, `*passwd*`, `*passphrase*`,
    ///   `*passcode*`, `*credential*`, `*api_key` and `*private_key*` in their spellings, `*session_id`, `*sessionid`, `*jwt`, `*cookie`,
    ///   `*authorization`, `*access_key*`;
    /// - query items: `*signature`.
    ///
    /// What only sounds like them stays: `max_tokens`, `token_type`, `X-RateLimit-Remaining-Tokens`, `nextPageToken`,
    /// `secretary`.
    public static let standard = Redaction(
        headerFields: NameRules(
            hiding: [
                "authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2", "x-api-key", "api-key",
                "x-auth-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token", "x-goog-api-key",
                "authentication-info", "proxy-authentication-info", "dpop", "*token", "*secret*", "*password*",
                "*authorization", "*api-key", "*apikey", "*cookie", "*session-id", "*sessionid", "*jwt*",
                "*credential*",
                "*passphrase*", "*passwd*", "*passcode*", "*private-key*", "*auth-key",
            ]
        ),
        queryItems: NameRules(
            hiding: names + ["awsaccesskeyid", "sig", "x-amz-credential", "key", "*signature"],
            showing: innocentNames
        ),
        bodyFields: NameRules(hiding: names, showing: innocentNames)
    )

    private static let names = [
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

    /// What the patterns would hide for its sound.
    private static let innocentNames = ["*page_token", "*page-token", "*pagetoken", "secretar*"]

    /// The fields that let someone in: they go over https or loopback only, and to one origin.
    static let credentials: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token",
        "x-amz-security-token", "x-goog-api-key",
    ]
}
