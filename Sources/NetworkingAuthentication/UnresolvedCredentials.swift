public import NetworkingCore

// Without this default of the associated type, the compiler crashes at the place that uses the delegate.

/// The credentials of a delegate whose methods do not have the signatures of ``AuthenticationDelegate``.
///
/// The compiler infers this type if neither method matches, for example because of another parameter type, and refuses
/// the delegate with a message that says so.
public enum UnresolvedCredentials {}

@available(*, unavailable, message: "neither refresh nor authorize has the signature of AuthenticationDelegate")
extension UnresolvedCredentials: AuthenticatingCredentials {
    /// Not available.
    public static var method: AuthenticationMethod {
        AuthenticationMethod(rawValue: "unresolved")
    }

    /// Not available.
    public func apply(to request: inout HTTPRequestData) {}
}
