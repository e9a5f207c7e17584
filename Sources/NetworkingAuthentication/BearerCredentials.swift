public import FoundationForNetworking
public import NetworkingCore

/// A token, for `Authorization: Bearer` (RFC 6750).
public struct BearerCredentials: AuthenticatingCredentials, Hashable, Codable {
    /// The token.
    public let token: String
    /// The date at which the token expires; `nil` if it is unknown.
    public let expirationDate: Date?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - expirationDate: The date at which the token expires, if it is known. ``JSONWebToken/expirationDate(of:)``
    ///     reads it from a JSON Web Token.
    public init(token: String, expirationDate: Date? = nil) {
        self.token = token
        self.expirationDate = expirationDate
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
        request.setCredential("Bearer \(token)", for: .authorization)
    }
}
