extension Redaction {
    /// The default: redacts credentials, cookies, API keys, signatures, tokens and passwords by their usual names.
    ///
    /// In addition to single names, such as `Authorization`, `code` and `session`, it redacts these:
    ///
    /// - header fields: `*token`, `*secret*`, `*password*`, `*authorization`, `*api-key`, `*apikey`, `*access-key`,
    ///   `*accesskey`, `*subscription-key`, `*functions-key`, `x-auth*`, `*cookie`, `*session-id`, `*sessionid`,
    ///   `*credential*`, `*passphrase*`, `*passwd*`, `*passcode*`, `*private-key*`, `*auth-key`, `*authkey`, `*jwt*`;
    /// - query items and the fields of bodies: `*token`, `*secret*`, `*password*`, `*passwd*`, `*passphrase*`,
    ///   `*passcode*`, `*credential*`, `*api_key` and `*private_key*` in their spellings, `*session_id`, `*sessionid`,
    ///   `*jwt`, `*cookie`, `*authorization`, `*access_key*`;
    /// - query items: `*signature`.
    ///
    /// In the body of a response of 4xx or 5xx, `code` names the error and is shown, unless
    /// ``Redaction/addingBodyFields(_:)`` names it.
    ///
    /// Similar names that hold no secret are shown: `max_tokens`, `token_type`, `X-RateLimit-Remaining-Tokens`,
    /// `nextPageToken`, `secretary`, `X-Author`.
    ///
    /// The header fields are the library's definition of a credential (``HTTPTypes/HTTPField/isCredential``).
    public static let standard = Redaction(
        headerFields: CredentialNames.headerFields,
        queryItems: CredentialNames.queryItems,
        bodyFields: CredentialNames.bodyFields
    )
}
