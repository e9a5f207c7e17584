public import FoundationForNetworking
public import NetworkingCore

/// Credentials that a server accepts, and the way in which a request carries them.
///
/// The library includes ``BasicCredentials``, ``BearerCredentials``, ``APIKeyCredentials`` and ``Session``. An app can
/// define its own:
///
/// ```swift
/// extension AuthenticationMethod {
///     static let ticket = AuthenticationMethod(rawValue: "ticket")
/// }
///
/// struct Ticket: AuthenticatingCredentials {
///     static let method = AuthenticationMethod.ticket
///     let number: String
///
///     func apply(to request: inout HTTPRequestData) {
///         request.setCredential(number, for: HTTPField.Name("X-Ticket")!)
///     }
/// }
/// ```
///
/// Descriptions, dumps and mirrors show none of the values, unless your type overrides them.
public protocol AuthenticatingCredentials: Sendable, RedactedDescription {
    /// The method that these credentials are used for.
    static var method: AuthenticationMethod { get }

    /// The scheme of the challenges that these credentials respond to (RFC 9110 section 11.1).
    ///
    /// `nil`, the default, responds to any scheme.
    static var scheme: String? { get }

    /// The date at which the credentials expire; `nil`, the default, if it is unknown.
    var expirationDate: Date? { get }

    /// The id of the user, which must not be a secret; `nil`, the default, if it is unknown.
    var userID: String? { get }

    /// The time before ``expirationDate`` from which a ``TokenStore`` renews the credentials in the background.
    ///
    /// `nil`, the default, uses the leeway of the store.
    var refreshWindow: Duration? { get }

    /// Adds the credentials to a request, each time that it is sent.
    ///
    /// Use ``HTTPRequestData/setCredential(_:for:)`` for header fields and
    /// ``HTTPRequestData/setCredential(_:forQueryItem:)`` for the query. They keep the credentials out of logs and away
    /// from other origins.
    ///
    /// - Parameter request: The request.
    /// - Throws: ``NetworkingError`` if the credentials contain values that cannot be sent.
    func apply(to request: inout HTTPRequestData) throws
}

extension AuthenticatingCredentials {
    /// `nil`: any scheme.
    public static var scheme: String? {
        nil
    }

    /// `nil`: the date is unknown.
    public var expirationDate: Date? {
        nil
    }

    /// `nil`: the user is unknown.
    public var userID: String? {
        nil
    }

    /// `nil`: the leeway of the store applies.
    public var refreshWindow: Duration? {
        nil
    }

    /// Whether the credentials have expired, by the environment's clock.
    public var isExpired: Bool {
        expires(within: .zero)
    }

    /// Whether the credentials are within their refresh window.
    ///
    /// - Parameter leeway: The window of credentials that have none of their own.
    /// - Returns: `true` if they expire within the window, or have expired.
    func isDue(within leeway: Duration) -> Bool {
        expires(within: refreshWindow ?? leeway)
    }

    private func expires(within leeway: Duration) -> Bool {
        guard let expirationDate else { return false }
        return expirationDate.timeIntervalSince(NetworkEnvironment.current.clock.date) <= leeway / .seconds(1)
    }
}
