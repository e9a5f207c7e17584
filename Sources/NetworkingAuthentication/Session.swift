public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The tokens of a signed-in user: an access token, and a refresh token that renews it.
///
/// ```swift
/// let session = Session(userID: "emily", accessToken: access, refreshToken: refresh, expirationDate: expiry)
/// ```
///
/// It is sent as `Authorization: Bearer`. A session that has expired keeps its refresh token. The response of a login
/// decodes to a session (``init(from:)``). Encode a session only to store it, because the encoded form holds the
/// tokens.
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
    /// The claims of an OpenID provider about the user, as a JSON Web Token for the app to check; `nil` if there are
    /// none.
    public var idToken: String?

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
    public init(
        userID: String? = nil,
        accessToken: String,
        refreshToken: String? = nil,
        expirationDate: Date? = nil,
        scope: String? = nil,
        idToken: String? = nil
    ) {
        self.userID = userID
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expirationDate = expirationDate ?? JSONWebToken.expirationDate(of: accessToken)
        self.scope = scope
        self.idToken = idToken
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
        Session(
            userID: userID,
            accessToken: accessToken,
            refreshToken: refreshToken ?? self.refreshToken,
            expirationDate: expirationDate,
            scope: scope,
            idToken: idToken
        )
    }

    /// Whether the access token has expired or will expire within half a minute, and the session can be renewed.
    public var shouldRefresh: Bool {
        refreshToken != nil && expires(within: .seconds(30))
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
    public func apply(to request: inout HTTPRequestData) {
        request.setCredential("Bearer \(accessToken)", for: .authorization)
    }
}
