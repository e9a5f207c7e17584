public import NetworkingCore

// A delegate with a wrong signature is a compile-time error with a message that says so. Without the default of the
// associated type, the compiler crashes at the place that uses the delegate.

/// The credentials of a delegate whose methods do not have the signatures of ``AuthenticationDelegate``.
///
/// The compiler infers this type if neither method matches, for example because of another parameter type. A
/// ``TokenStore`` and `authenticated` do not accept such a delegate, and the compiler's error says so.
public enum UnresolvedCredentials: AuthenticatingCredentials {
    /// `unresolved`.
    public static var method: AuthenticationMethod {
        AuthenticationMethod(rawValue: "unresolved")
    }

    /// Is never called, because the type has no values.
    public func apply(to request: inout HTTPRequestData) {}
}

extension TokenStore {
    /// Not available, because no method of the delegate has the signature of the protocol.
    @available(*, unavailable, message: "neither refresh nor authorize has the signature of AuthenticationDelegate")
    public convenience init<Delegate: AuthenticationDelegate>(
        _ credentials: Credentials? = nil,
        delegate: Delegate,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard
    ) where Delegate.Credentials == UnresolvedCredentials {
        unavailable()
    }
}

extension TokenStore where Credentials == UnresolvedCredentials {
    /// Not available, because no method of the delegate has the signature of the protocol.
    @available(*, unavailable, message: "neither refresh nor authorize has the signature of AuthenticationDelegate")
    public convenience init(
        delegate: some AuthenticationDelegate<UnresolvedCredentials>,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard
    ) {
        unavailable()
    }
}

extension TokenStore<Session> {
    /// Not available, because no method of the delegate has the signature of the protocol.
    @available(*, unavailable, message: "neither refresh nor authorize has the signature of AuthenticationDelegate")
    public convenience init<Delegate: AuthenticationDelegate>(
        _ session: Session?,
        in storage: any SessionStorage,
        delegate: Delegate,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) where Delegate.Credentials == UnresolvedCredentials {
        unavailable()
    }

    /// Not available, because no method of the delegate has the signature of the protocol.
    @available(*, unavailable, message: "neither refresh nor authorize has the signature of AuthenticationDelegate")
    public convenience init<Delegate: AuthenticationDelegate>(
        for userID: String,
        in storage: any SessionStorage,
        delegate: Delegate,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) where Delegate.Credentials == UnresolvedCredentials {
        unavailable()
    }
}

extension NetworkingComponent {
    /// Not available, because no method of the delegate has the signature of the protocol.
    @available(*, unavailable, message: "neither refresh nor authorize has the signature of AuthenticationDelegate")
    public func authenticated<Delegate: AuthenticationDelegate>(
        with delegate: Delegate,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent where Delegate.Credentials == UnresolvedCredentials {
        self
    }
}

private func unavailable() -> Never {
    fatalError("The method is not available, so nothing calls it.")
}
