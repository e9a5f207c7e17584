public import NetworkingCore
import Synchronization

/// Stores credentials and renews them once for all requests that need them.
///
/// ```swift
/// let tokens = TokenStore(session, delegate: Login())
/// let network = URLSession.shared
///     .authenticated(with: tokens)
///     .server(authority: "api.example.com")
///
/// tokens.set(session)   // sign in
/// tokens.remove()       // sign out
/// ```
///
/// A refresh does not belong to any of the requests that wait for it, and continues when they are cancelled.
///
/// - **Before the credentials expire**, within the leeway, the first request starts a refresh in the background. It and
///   all others are sent with the credentials that are still valid, even if the refresh takes long or fails.
/// - **When the credentials have expired or were refused**, requests wait for the refresh. If it fails, they fail once,
///   and the next request tries again, within the ``RefreshLimit``.
///
/// Setting or removing credentials cancels a refresh in progress, and its result is ignored.
///
/// Several stacks may share one store. Times are measured on the environment's clock.
public final class TokenStore<Credentials: AuthenticatingCredentials>: Sendable {
    let signedIn: SignedInUser
    let delegate: (any AuthenticationDelegate<Credentials>)?
    let leeway: Duration
    let timeout: Duration
    let limit: RefreshLimit
    let storage: CredentialStorage<Credentials>?
    let state: Mutex<State>
    /// Passes the changes to the storage, in order.
    let storing = JobQueue()
    private let published = Broadcast<CredentialChange<Credentials>>()

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - credentials: The credentials; `nil` if no user is signed in.
    ///   - delegate: The delegate that fetches and renews credentials. Without one, a refusal by the server is final.
    ///   - leeway: The time before expiry at which credentials are refreshed in the background, unless they have a
    ///     ``AuthenticatingCredentials/refreshWindow``; 30 seconds by default. If a refresh returns credentials that
    ///     are valid for less than that, they are used until they expire.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    public convenience init(
        _ credentials: Credentials? = nil,
        delegate: (any AuthenticationDelegate<Credentials>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard
    ) {
        self.init(credentials, delegate: delegate, leeway: leeway, timeout: timeout, limit: limit, storage: nil)
    }

    init(
        _ credentials: Credentials?,
        delegate: (any AuthenticationDelegate<Credentials>)?,
        leeway: Duration,
        timeout: Duration,
        limit: RefreshLimit,
        storage: CredentialStorage<Credentials>?
    ) {
        self.delegate = delegate
        self.leeway = leeway
        self.timeout = timeout
        self.limit = limit
        self.storage = storage
        let user = StoreUser(of: credentials)
        signedIn = SignedInUser(user.principal)
        state = Mutex(State(credentials: credentials, user: user, signedIn: signedIn))
    }

    // MARK: Credentials

    /// The credentials; `nil` if no user is signed in.
    public var credentials: Credentials? {
        state.withLock { $0.credentials }
    }

    /// The principal that the credentials belong to.
    ///
    /// It is the user's id or, if that is unknown, a random id. A sign-in or a sign-out changes the random id; a
    /// refresh does not.
    public var principal: Principal {
        state.withLock { $0.principal }
    }

    /// Signs in: requests from now on are sent with these credentials.
    ///
    /// A refresh in progress is cancelled. Requests that wait for it continue with these credentials if they belong to
    /// the same user, and fail otherwise.
    ///
    /// - Parameter credentials: The credentials.
    public func set(_ credentials: Credentials) {
        set(credentials, if: { true })
    }

    /// Signs in, unless the sign-in is no longer wanted when it takes effect.
    ///
    /// - Parameters:
    ///   - credentials: The credentials.
    ///   - isWanted: Returns whether they are still wanted. It is called while no other sign-in or sign-out can happen.
    package func set(_ credentials: Credentials, if isWanted: () -> Bool) {
        // Determined outside the lock, because both may run the app's code.
        let credentials = credentials.signingIn()
        let (user, usage) = (StoreUser(of: credentials), usage(of: credentials))
        change(ending: .success(()), if: isWanted) {
            (.set(credentials), $0.signIn(credentials, of: user, usage: usage))
        }
    }

    /// Replaces the credentials with newer ones of the same user that were renewed elsewhere.
    ///
    /// A refresh in progress is cancelled, and requests that wait for it continue with these credentials. A ``Session``
    /// without a user id or a refresh window gets those of the session that it replaces, as after a refresh.
    ///
    /// - Parameter credentials: The credentials.
    public func update(_ credentials: Credentials) {
        var isMade = false
        while !isMade {
            let (former, generation) = state.withLock { ($0.credentials, $0.generation) }
            // Determined outside the lock, because both may run the app's code.
            let new = credentials.inheriting(from: former)
            let (principal, usage) = (new.principal, usage(of: new))
            change(ending: .success(())) { state in
                isMade = state.generation == generation
                guard isMade else { return nil }
                return (.refreshed(new), state.renew(with: new, of: principal, usage: usage))
            }
        }
    }

    /// Signs out.
    ///
    /// A refresh in progress is cancelled, and requests that wait for it fail. The next request asks the delegate for
    /// credentials (``AuthenticationDelegate/authorize(over:)``), and fails if the delegate throws or there is none.
    public func remove() {
        _ = takeOut()
    }

    /// Signs out and returns the credentials that were removed; `nil` if there were none.
    package func takeOut() -> Credentials? {
        var former: Credentials?
        // Determined outside the lock, because the source of random bytes may be the app's.
        let user = StoreUser(of: Credentials?.none)
        change(ending: .failure(RefreshFailure.delegate(SignedOut()))) { state in
            former = state.credentials
            return (.removed, state.signIn(nil, of: user, usage: .untilLeeway))
        }
        return former
    }

    /// Waits until the storage has received every change so far.
    ///
    /// It returns at once if there is no storage, or if `set` and `remove` wait for it themselves. Errors are passed to
    /// `onStorageFailure`.
    ///
    /// - Throws: `CancellationError` as soon as the caller is cancelled. The changes are stored nevertheless.
    public func flush() async throws {
        try await storage?.shared?.background?.changes.settle()
    }

    /// Runs an operation and sends its requests like those of a delegate.
    ///
    /// They pass `authenticated` without credentials of this store, and limiters without waiting, until the operation
    /// returns.
    package func withoutCredentials<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        let change: (inout NetworkEnvironment, EnvironmentScope) -> Void = { environment, scope in
            environment[RenewingStores.self].insert(self, during: scope)
            // The requests that wait for the operation may hold all the permits.
            environment.exemptFromLimits(during: scope)
        }
        return try await EnvironmentScope.run(change, operation)
    }

    /// Whether the current task runs this store's own delegate, which has not returned.
    package var isRenewing: Bool {
        NetworkEnvironment.current[RenewingStores.self].contains(self)
    }

    /// The changes of the credentials from now on, for any number of subscribers.
    ///
    /// Each subscriber receives every change, in order. The sequence ends only if the task that iterates it is
    /// cancelled.
    public var changes: AsyncStream<CredentialChange<Credentials>> {
        published.elements()
    }

    private func change(
        ending result: Result<Void, any Error>,
        if isWanted: () -> Bool = { true },
        _ replace: (inout State) -> (CredentialChange<Credentials>, Renewal?)?
    ) {
        var renewal: Renewal?
        publish {
            guard isWanted(), let (change, former) = state.withLock({ replace(&$0) }) else { return nil }
            renewal = former
            return change
        }
        renewal?.end(with: result)
    }

    /// Applies a change and, if it was made, passes it to the subscribers and the storage.
    ///
    /// If another thread is storing a change, that thread also stores this one.
    ///
    /// - Parameters:
    ///   - storing: Whether the storage has to receive the change.
    ///   - apply: Makes the change and returns it, or returns `nil` if it makes none.
    func publish(_ storing: Storing = .necessary, _ apply: () -> CredentialChange<Credentials>?) {
        self.storing.add {
            let before = credentials
            guard let change = apply() else { return nil }
            // Under the lock, which keeps the changes in order.
            published.publish(change)
            guard let storage else { return nil }
            let environment = NetworkEnvironment.current
            return {
                switch storing {
                case .done: storage.shared?.takeOver(change)
                case .postponed: break
                case .necessary:
                    // The thread may belong to another caller, with another logger.
                    NetworkEnvironment.$current.withValue(environment) {
                        do {
                            try storage.store(change, before)
                        } catch {
                            storage.onFailure(error)
                        }
                    }
                }
            }
        }
    }

    /// Whether the storage has to receive a change.
    enum Storing {
        case necessary
        /// The storage has the change already.
        case done
        /// The storage cannot receive it now.
        case postponed
    }
}

/// The stores with delegates that run in this task.
private enum RenewingStores: NetworkEnvironmentKey {
    static let defaultValue = ActiveObjects()
    // The principal of a request says whether it has the credentials of a store.
    static let affectsResponses = false
}

/// A change to the credentials of a ``TokenStore``.
public enum CredentialChange<Credentials: AuthenticatingCredentials>: Sendable {
    /// A user signed in.
    case set(Credentials)
    /// The credentials were renewed.
    case refreshed(Credentials)
    /// The user signed out.
    case removed
}

extension TokenStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and whether a user is signed in, without secrets.
    public var description: String {
        "TokenStore(\(Credentials.method.rawValue), \(credentials == nil ? "signed out" : "signed in"))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// The mirror for `dump`, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["method": Credentials.method.rawValue, "isSignedIn": credentials != nil])
    }
}
