import FoundationForNetworking
import NetworkingCore

extension Session: Codable {
    /// Decodes a stored session, or a server's response to a sign-in.
    ///
    /// ```swift
    /// let session = try await network.request(login, as: Session.self)
    /// tokens.set(session)
    /// ```
    ///
    /// | Property | Keys of the response |
    /// |---|---|
    /// | ``accessToken`` | `accessToken`, `access_token` |
    /// | ``refreshToken`` | `refreshToken`, `refresh_token` |
    /// | ``userID`` | `userID`, `userId`, `user_id`, `id`; a string or a whole number |
    /// | ``expirationDate`` | `expirationDate`; or `expires_in`, `expiresIn`, in seconds from now, number or string |
    /// | ``scope`` | `scope`; a string, or a list of strings |
    /// | ``idToken`` | `idToken`, `id_token` |
    ///
    /// If the response has no key for the expiration date and the access token is a JSON Web Token, the date is that of
    /// the token. "Now" is the time of the current ``NetworkEnvironment``. An `id`, a scope or a lifetime of another
    /// type is ignored.
    ///
    /// A session that was encoded by this type decodes to an equal one. One that an earlier version encoded without an
    /// expiration date gets the date of its JSON Web Token.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError` if there is no access token, or if a value has the wrong type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let accessToken = try values.first(of: .accessToken, .accessTokenInSnakeCase) else {
            let context = DecodingError.Context(
                codingPath: values.codingPath,
                debugDescription: "A session needs an access token."
            )
            throw DecodingError.keyNotFound(CodingKeys.accessToken, context)
        }
        let expirationDate = try values.decodeExpirationDate()
        self.init(
            userID: try values.decodeUserID(),
            accessToken: accessToken,
            refreshToken: try values.first(of: .refreshToken, .refreshTokenInSnakeCase),
            expirationDate: expirationDate,
            scope: values.decodeScope(),
            idToken: try values.first(of: .idToken, .idTokenInSnakeCase),
            refreshWindow: values.decodeRefreshWindow()
        )
        // An encoded session without a date stores null, so the date of its token must not be read.
        if expirationDate == nil, values.contains(.expirationDate) {
            self.expirationDate = nil
        }
        if let key = try? values.decode(String.self, forKey: .boundKey) {
            // Without its key, the token would be sent as a bearer token, so a damaged key is kept as an unusable one.
            boundKey = BoundKey(representation: Data(base64Encoded: key) ?? Data())
        }
        // A value of another type is not from this library.
        signIn.id = try? values.decode(String.self, forKey: .signIn)
    }

    /// Encodes the session with its tokens.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(userID, forKey: .userID)
        try values.encode(accessToken, forKey: .accessToken)
        try values.encodeIfPresent(refreshToken, forKey: .refreshToken)
        // Null is encoded too, because a session without a date differs from a response that states the date in its
        // token.
        try values.encode(expirationDate, forKey: .expirationDate)
        try values.encodeIfPresent(scope, forKey: .scope)
        try values.encodeIfPresent(idToken, forKey: .idToken)
        // Two whole numbers, because a number of seconds would not be exact.
        try values.encodeIfPresent(
            refreshWindow.map { [$0.components.seconds, $0.components.attoseconds] },
            forKey: .refreshWindow
        )
        try values.encodeIfPresent(boundKey?.representation.base64EncodedString(), forKey: .boundKey)
        try values.encodeIfPresent(signIn.id, forKey: .signIn)
    }

    /// The keys of an encoded session, and the keys that servers use.
    ///
    /// A decoder that converts from snake case asks for the keys in camel case.
    fileprivate enum CodingKeys: String, CodingKey {
        case userID, accessToken, refreshToken, expirationDate, scope, idToken, refreshWindow
        // Names that the response of a server is unlikely to have.
        case signIn = "networkingSignIn"
        // Logs redact it in bodies, because the name contains `privateKey`.
        case boundKey = "networkingPrivateKey"
        case userId, id
        case userIDInSnakeCase = "user_id"
        case accessTokenInSnakeCase = "access_token"
        case refreshTokenInSnakeCase = "refresh_token"
        case idTokenInSnakeCase = "id_token"
        case lifetime = "expiresIn"
        case lifetimeInSnakeCase = "expires_in"
    }
}

extension KeyedDecodingContainer<Session.CodingKeys> {
    /// Returns the string for the first of the keys that has a value.
    fileprivate func first(of keys: Key...) throws -> String? {
        for key in keys {
            if let text = try decodeIfPresent(String.self, forKey: key) { return text }
        }
        return nil
    }

    fileprivate func decodeUserID() throws -> String? {
        for key in [Key.userID, .userId, .userIDInSnakeCase, .id] {
            if let text = try? decode(String.self, forKey: key) { return text }
            if let number = try? decode(Int64.self, forKey: key) { return String(number) }
            if let number = try? decode(UInt64.self, forKey: key) { return String(number) }
        }
        // Under the key of an encoded session, a value of any other type is an error. Under the other keys it is
        // ignored, because `id` may belong to something else.
        return try decodeIfPresent(String.self, forKey: .userID)
    }

    /// Returns the scope, which some servers send as a list.
    fileprivate func decodeScope() -> String? {
        (try? decode(String.self, forKey: .scope))
            ?? (try? decode([String].self, forKey: .scope))?.joined(separator: " ")
    }

    /// Returns the window of an encoded session; a value of another format under the same key is ignored.
    fileprivate func decodeRefreshWindow() -> Duration? {
        // A server may send any numbers under this key. With a fraction of a second or more, the sum may have no parts,
        // which ends the process when the session is stored.
        guard let parts = try? decode([Int64].self, forKey: .refreshWindow), parts.count == 2,
            parts[1].magnitude < 1_000_000_000_000_000_000
        else { return nil }
        return Duration(secondsComponent: parts[0], attosecondsComponent: parts[1])
    }

    fileprivate func decodeExpirationDate() throws -> Date? {
        if let date = try decodeIfPresent(Date.self, forKey: .expirationDate) { return date }
        for key in [Key.lifetime, .lifetimeInSnakeCase] {
            let number = try? decode(Double.self, forKey: key)
            let seconds = number ?? (try? decode(String.self, forKey: key)).flatMap { Double($0) }
            // A value that cannot be a lifetime is ignored.
            guard let seconds, seconds >= 0, seconds < 1e10 else { continue }
            return NetworkEnvironment.current.clock.date.addingTimeInterval(seconds)
        }
        return nil
    }
}
