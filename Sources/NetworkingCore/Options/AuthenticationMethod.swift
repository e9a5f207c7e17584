/// The method by which a request is authenticated.
///
/// Only a modifier of the same method adds its credentials to the request.
///
/// ```swift
/// extension AuthenticationMethod {
///     static let spotify = AuthenticationMethod(rawValue: "spotify")
/// }
///
/// request.authenticationMethod = .spotify
/// ```
public struct AuthenticationMethod: RawRepresentable, Sendable, Hashable, Codable {
    /// The name of the method.
    public let rawValue: String

    /// Creates a method.
    ///
    /// - Parameter rawValue: The name of the method.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A user and a password (RFC 7617).
    public static let basic = AuthenticationMethod(rawValue: "basic")
    /// A bearer token (RFC 6750).
    public static let bearer = AuthenticationMethod(rawValue: "bearer")
    /// An API key.
    public static let apiKey = AuthenticationMethod(rawValue: "apiKey")
    /// No authentication: `authenticated` passes the request on as it is.
    public static let anonymous = AuthenticationMethod(rawValue: "anonymous")
}

extension HTTPRequestData {
    /// The authentication method; `nil` leaves it to the stack, and `.anonymous` sends the request without
    /// authentication.
    public var authenticationMethod: AuthenticationMethod? {
        get { self[.authenticationMethod] }
        set { self[.authenticationMethod] = newValue }
    }
}

extension RequestOptionKey {
    // A cache compares the principal and the credentials instead.
    /// ``HTTPRequestData/authenticationMethod``.
    public static let authenticationMethod = RequestOption<AuthenticationMethod?>(
        "authenticationMethod",
        default: nil,
        affects: .sending,
        stored: .always(ifDamaged: .anonymous)
    )
}
