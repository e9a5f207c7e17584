public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A token, for `Authorization: Bearer` (RFC 6750).
public struct BearerCredentials: AuthenticatingCredentials, Hashable, Codable {
    /// The token.
    public let token: String
    /// When it runs out; nil when that is not known.
    public let expirationDate: Date?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - expirationDate: When it runs out, if that is known. ``JSONWebToken/expirationDate(of:)`` reads it from one
    ///     that says so.
    public init(token: String, expirationDate: Date? = nil) {
        self.token = token
        self.expirationDate = expirationDate
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
        request.setCredential("Bearer \(token)", for: .authorization)
    }
}
