public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A user who is signed in: with a token that lets the user in, and one that renews it.
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
    /// Lets the user in.
    public var accessToken: String
    /// Renews the session; nil when it cannot be renewed that way.
    public var refreshToken: String?
    /// When the access token runs out; nil when that is not known.
    public var expirationDate: Date?
    /// What the access token is good for, in OAuth's words with spaces between; nil when that is not known.
    public var scope: String?
    /// What an OpenID provider says of the user, as a JSON Web Token for the app to check; nil when there is none.
    public var idToken: String?

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - userID: The id of the user.
    ///   - accessToken: Lets the user in.
    ///   - refreshToken: Renews the session.
    ///   - expirationDate: When the access token runs out; nil for what the token says if it is a JSON Web Token.
    ///   - scope: What the access token is good for.
    ///   - idToken: What an OpenID provider says of the user.
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

    /// The session as a server has renewed it.
    ///
    /// - Parameters:
    ///   - accessToken: The new access token.
    ///   - refreshToken: The new refresh token; nil for the one there is, since not every server makes a new one.
    ///   - expirationDate: When the access token runs out; nil for what the token says.
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

    /// Whether the access token runs out within half a minute, or has, and can be renewed.
    public var shouldRefresh: Bool {
        refreshToken != nil && expires(within: .seconds(30))
    }

    /// ``AuthenticationMethod/bearer``.
    public static var method: AuthenticationMethod {
        .bearer
    }

    /// Bearer.
    public static var scheme: String? {
        "Bearer"
    }

    /// Sets the Authorization field.
    public func apply(to request: inout HTTPRequestData) {
        request.setCredential("Bearer \(accessToken)", for: .authorization)
    }
}
