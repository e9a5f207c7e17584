public import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What lets somebody in at a server, and how a request carries it.
///
/// ``BasicCredentials``, ``BearerCredentials``, ``APIKeyCredentials`` and ``Session`` are some; here is one of an app's
/// own:
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
/// Nothing of them shows in a description, a dump or a mirror, unless a type of your own says otherwise.
public protocol AuthenticatingCredentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The method that these credentials serve.
    static var method: AuthenticationMethod { get }

    /// The scheme of the challenges that they answer (RFC 9110 section 11.1); nil, the default, for any.
    static var scheme: String? { get }

    /// When they run out, where that is known; by default it is not.
    var expirationDate: Date? { get }

    /// Whose they are, if they say so: an id of the user, never a secret. By default they do not.
    var userID: String? { get }

    /// Puts them onto a request, each time that it is sent.
    ///
    /// Use ``HTTPRequestData/setCredential(_:for:)`` for header fields and
    /// ``HTTPRequestData/setCredential(_:forQueryItem:)`` for the query, so that no log and no other origin gets to see
    /// them.
    ///
    /// - Parameter request: The request.
    /// - Throws: ``NetworkingError`` when they cannot be sent as they are.
    func apply(to request: inout HTTPRequestData) throws
}

extension AuthenticatingCredentials {
    /// Any.
    public static var scheme: String? {
        nil
    }

    /// Not known.
    public var expirationDate: Date? {
        nil
    }

    /// Nobody in particular.
    public var userID: String? {
        nil
    }

    /// The type, and nothing of what is in it.
    public var description: String {
        "\(Self.self)(<redacted>)"
    }

    /// The same as the description.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }

    /// Whether they have run out, by the environment's clock.
    public var isExpired: Bool {
        expires(within: .zero)
    }

    func expires(within leeway: Duration) -> Bool {
        guard let expirationDate else { return false }
        return expirationDate.timeIntervalSince(NetworkEnvironment.current.clock.date) <= leeway / .seconds(1)
    }
}
