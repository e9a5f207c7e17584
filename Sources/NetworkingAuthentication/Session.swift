public import FoundationForNetworking
public import NetworkingCore

/// The tokens of a signed-in user: an access token, and a refresh token that renews it.
///
/// ```swift
/// let session = Session(userID: "emily", accessToken: access, refreshToken: refresh, expirationDate: expiry)
/// ```
///
/// The access token is sent as `Authorization: Bearer`. After it has expired, the refresh token can still renew the
/// session. The response to a login decodes to a session (``init(from:)``). Encode a session only to store it, because
/// the encoded form contains the tokens.
public struct Session: AuthenticatingCredentials, Hashable {
    /// The id of the user, which is not a secret and stays the same for as long as the user exists.
    public var userID: String?
    /// The token that requests are sent with.
    public var accessToken: String
    /// The token that renews the session; `nil` if it has none.
    public var refreshToken: String?
    /// The date at which the access token expires; `nil` if it is unknown.
    public var expirationDate: Date?
    /// The scope of the access token as in OAuth, separated by spaces; `nil` if it is unknown.
    public var scope: String?
    /// The claims of an OpenID provider about the user, as a JSON Web Token; `nil` if there are none.
    ///
    /// The library does not verify the token.
    public var idToken: String?
    /// The time before expiry from which the session is renewed; `nil` for the ``TokenStore``'s leeway.
    ///
    /// A ``TokenStore`` refreshes the session in the background within this window. If a delegate returns a session
    /// without a window, the store keeps the window of the session that it replaces.
    public var refreshWindow: Duration?
    /// The private key that the tokens are bound to (RFC 9449); `nil` for bearer tokens.
    package var boundKey: BoundKey?
    /// The sign-in that the session belongs to.
    var signIn = SignIn()

    /// A private key, which is stored together with the tokens of its session.
    package struct BoundKey: Sendable, Hashable, RedactedDescription {
        /// The bytes of the key; empty if the stored key was damaged.
        package let representation: Data

        package init(representation: Data) {
            self.representation = representation
        }
    }

    /// A sign-in, which other processes recognize by its id.
    ///
    /// All sign-ins are equal, because two sessions with the same tokens are equal.
    struct SignIn: Hashable, Sendable {
        /// A random id, which the session keeps when it is renewed; `nil` if no ``TokenStore`` has set it.
        var id: String?

        static func == (lhs: Self, rhs: Self) -> Bool {
            true
        }

        func hash(into hasher: inout Hasher) {}
    }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - userID: The id of the user.
    ///   - accessToken: The token that requests are sent with.
    ///   - refreshToken: The token that renews the session.
    ///   - expirationDate: The date at which the access token expires. If it is `nil` and the token is a JSON Web
    ///     Token, the date is read from the token.
    ///   - scope: The scope of the access token.
    ///   - idToken: The claims of an OpenID provider about the user.
    ///   - refreshWindow: The time before expiry from which the session is renewed; `nil` for the leeway of its
    ///     ``TokenStore``.
    public init(
        userID: String? = nil,
        accessToken: String,
        refreshToken: String? = nil,
        expirationDate: Date? = nil,
        scope: String? = nil,
        idToken: String? = nil,
        refreshWindow: Duration? = nil
    ) {
        self.userID = userID
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expirationDate = expirationDate ?? JSONWebToken.expirationDate(of: accessToken)
        self.scope = scope
        self.idToken = idToken
        self.refreshWindow = refreshWindow
    }

    /// Returns the session with tokens that a server has renewed.
    ///
    /// - Parameters:
    ///   - accessToken: The new access token.
    ///   - refreshToken: The new refresh token; `nil` keeps the current one, because not every server issues a new one.
    ///   - expirationDate: The date at which the access token expires; `nil` reads it from the token.
    /// - Returns: The session, of the same user.
    public func renewed(
        accessToken: String,
        refreshToken: String? = nil,
        expirationDate: Date? = nil
    ) -> Session {
        var session = Session(
            userID: userID,
            accessToken: accessToken,
            refreshToken: refreshToken ?? self.refreshToken,
            expirationDate: expirationDate,
            scope: scope,
            idToken: idToken,
            refreshWindow: refreshWindow
        )
        session.boundKey = boundKey
        session.signIn = signIn
        return session
    }

    /// Whether the session can be renewed, and its access token has expired or is within the ``refreshWindow``.
    ///
    /// Without a ``refreshWindow``, the session uses 30 seconds, which is the standard leeway of a ``TokenStore``.
    public var shouldRefresh: Bool {
        refreshToken != nil && isDue(within: .seconds(30))
    }

    /// Whether the tokens are bound to a private key, so that each request needs a proof of that key (RFC 9449).
    ///
    /// Such a session comes from an OAuth client and is sent by that client only.
    public var isBoundToKey: Bool {
        boundKey != nil
    }

    /// ``AuthenticationMethod/bearer``.
    public static var method: AuthenticationMethod {
        .bearer
    }

    /// `Bearer`.
    public static var scheme: String? {
        "Bearer"
    }

    /// Sets the Authorization field.
    ///
    /// - Parameter request: The request.
    /// - Throws: ``NetworkingError`` of kind ``NetworkingError/Kind/invalidRequest`` if the tokens are bound to a key.
    public func apply(to request: inout HTTPRequestData) throws {
        guard !isBoundToKey else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The access token is bound to a key, and this stack sends no proofs of the key. Send the "
                    + "request with authenticated(oauth:) and a system whose dpop is not disabled."
            )
        }
        request.setCredential("Bearer \(accessToken)", for: .authorization)
    }
}
