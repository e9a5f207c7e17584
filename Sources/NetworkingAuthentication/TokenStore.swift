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
    private let delegate: (any AuthenticationDelegate<Credentials>)?
    private let leeway: Duration
    private let timeout: Duration
    private let limit: RefreshLimit
    private let storage: CredentialStorage<Credentials>?
    private let state: Mutex<State>
    /// Held while credentials are stored and published, so that storage and subscribers receive the changes in order.
    private let publishing = Mutex(Subscribers())

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - credentials: The credentials; `nil` if no user is signed in.
    ///   - delegate: The delegate that fetches and renews credentials. Without one, a refusal by the server is final.
    ///   - leeway: The time before expiry at which credentials are refreshed in the background; 30 seconds by default.
    ///     Credentials that are valid for less than that when they arrive are refreshed after they have expired.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: The maximum number of refreshes in a row whose credentials the server does not accept; five within 30
    ///     seconds by default.
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
        state = Mutex(State(credentials: credentials, principal: .of(credentials)))
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

    /// The principal that the credentials belong to; `nil` while there are none.
    var owner: Principal? {
        state.withLock { $0.credentials == nil ? nil : $0.principal }
    }

    /// Signs in: requests from now on are sent with these credentials.
    ///
    /// A refresh in progress is cancelled. Requests that wait for it continue with these credentials if they belong to
    /// the same user, and fail otherwise.
    ///
    /// - Parameter credentials: The credentials.
    public func set(_ credentials: Credentials) {
        change(.set(credentials), ending: .success(())) {
            $0.replace(with: credentials, of: .of(credentials), isSignIn: true)
        }
    }

    /// Signs in, unless the sign-in is no longer wanted when it takes effect.
    ///
    /// - Parameters:
    ///   - credentials: The credentials.
    ///   - isWanted: Returns whether they are still wanted. It is called while no other sign-in or sign-out can happen.
    package func set(_ credentials: Credentials, if isWanted: () -> Bool) {
        change(.set(credentials), ending: .success(()), if: isWanted) {
            $0.replace(with: credentials, of: .of(credentials), isSignIn: true)
        }
    }

    /// Replaces the credentials by newer ones of the same user that were renewed elsewhere.
    ///
    /// - Parameter credentials: The credentials.
    public func update(_ credentials: Credentials) {
        change(.refreshed(credentials), ending: .success(())) { state in
            state.replace(with: credentials, of: credentials.principal ?? state.principal, isSignIn: false)
        }
    }

    /// Signs out.
    ///
    /// A refresh in progress is cancelled, and requests that wait for it fail. Later requests ask the delegate to
    /// authorize them, and fail if it does not.
    public func remove() {
        _ = takeOut()
    }

    /// Signs out and returns the credentials that were removed; `nil` if there were none.
    package func takeOut() -> Credentials? {
        var former: Credentials?
        change(.removed, ending: .failure(RefreshFailure.delegate(SignedOut()))) { state in
            former = state.credentials
            return state.replace(with: nil, of: .of(Credentials?.none), isSignIn: true)
        }
        return former
    }

    /// Runs an operation whose requests are sent like those of a delegate.
    ///
    /// They pass `authenticated` without credentials of this store, and limiters without waiting.
    package func withoutCredentials<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        try await withEnvironment(environmentWithoutCredentials, operation)
    }

    private var environmentWithoutCredentials: NetworkEnvironment {
        var environment = NetworkEnvironment.current
        environment[RenewingStores.self].insert(ObjectIdentifier(self))
        // The requests that wait for the operation may hold all the permits.
        environment.isThrottled = false
        return environment
    }

    /// The changes of the credentials from now on, for any number of subscribers.
    ///
    /// Each subscriber receives every change, in order. The sequence does not end.
    public var changes: AsyncStream<CredentialChange<Credentials>> {
        AsyncStream { continuation in
            let id = publishing.withLock { $0.add(continuation) }
            continuation.onTermination = { [weak self] _ in
                self?.publishing.withLock { $0.remove(id) }
            }
        }
    }

    private func change(
        _ change: CredentialChange<Credentials>,
        ending result: Result<Void, any Error>,
        if isWanted: () -> Bool = { true },
        _ replace: (inout State) -> Renewal?
    ) {
        var renewal: Renewal?
        publish(change) {
            guard isWanted() else { return false }
            renewal = state.withLock { replace(&$0) }
            return true
        }
        renewal?.end(with: result)
    }

    /// Applies a change and, if it was made, passes it to the storage and the subscribers.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - isStored: Whether the storage has the change already, because another process made it.
    ///   - apply: Makes the change, and returns whether it did.
    private func publish(_ change: CredentialChange<Credentials>, isStored: Bool = false, _ apply: () -> Bool) {
        let failure = publishing.withLock { subscribers -> (any Error)? in
            let before = credentials
            guard apply() else { return nil }
            // Under the lock, which keeps the changes in order. Yielding only adds the change to a buffer.
            subscribers.tell(change)
            if isStored {
                storage?.shared?.takeOver(change)
                return nil
            }
            do {
                try storage?.store(change, before)
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            storage?.onFailure(failure)
        }
    }

    // MARK: Requests

    /// Credentials and the principal that they belong to.
    package struct Grant: Sendable {
        package let credentials: Credentials
        package let principal: Principal
        fileprivate let generation: UInt64
        /// The number of the sign-in that they come from; refreshes do not change it.
        fileprivate let signIn: UInt64
        /// Whether the request that has them took part in a refresh, which it does only once.
        fileprivate var isRenewal = false
        /// Whether refreshes count towards the limit until the server accepts these credentials.
        package let isUnproven: Bool

        fileprivate func isOfSameUser(as other: Grant) -> Bool {
            signIn == other.signIn || principal == other.principal
        }
    }

    /// Returns the credentials for a request, and waits for new ones if there are none that are valid.
    package func grant(for request: HTTPRequestData, over upstream: some NetworkingComponent) async throws -> Grant {
        let first = state.withLock { $0.grant }
        while true {
            try Task.checkCancellation()
            switch nextStep(for: nil) {
            case .go(let grant):
                // A request that started for one user must not be sent for another.
                guard first?.isOfSameUser(as: grant) ?? true else { throw request.isOfAnotherUser }
                return grant
            case .wait(let renewal, let waiter):
                try await request.waitForCredentials(explaining: nil) { try await renewal.value(for: waiter) }
            case .renew(let renewal, let old, let generation):
                request.emit(AuthenticationEvent.refreshing)
                start(renewal, from: old, generation, after: nil, for: request, over: upstream)
                try await request.waitForCredentials(explaining: nil) { try await renewal.valueForCreator() }
            case .renewAhead(let renewal, let old, let generation):
                request.emit(AuthenticationEvent.refreshing)
                // The request does not wait. It checks again, because the delegate may have returned already.
                start(renewal, from: old, generation, after: nil, for: request, over: upstream)
            case .impossible:
                throw request.hasNoCredentials
            case .tooOften(let refusal):
                throw request.refreshRefused(refusal, limit, after: nil)
            }
            guard first == nil || credentials != nil else { throw request.hasNoCredentials }
        }
    }

    /// Returns other credentials for a request whose credentials the server refused.
    ///
    /// - Returns: The credentials; `nil` if there are none for the same user.
    package func grant(
        after refused: Grant,
        _ response: HTTPResponseData,
        for request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) async throws -> Grant? {
        var isRenewal = true
        try Task.checkCancellation()
        switch nextStep(for: refused) {
        case .go:
            isRenewal = refused.isRenewal
        case .wait(let renewal, let waiter):
            try await request.waitForCredentials(explaining: response) { try await renewal.value(for: waiter) }
        case .renew(let renewal, let old, let generation):
            request.emit(AuthenticationEvent.refreshing)
            start(renewal, from: old, generation, after: response, for: request, over: upstream)
            try await request.waitForCredentials(explaining: response) { try await renewal.valueForCreator() }
        case .renewAhead, .impossible:
            return nil
        case .tooOften(let refusal):
            throw request.refreshRefused(refusal, limit, after: response)
        }
        return state.withLock { [isRenewal] state in
            guard var grant = state.grant, grant.generation != refused.generation, grant.isOfSameUser(as: refused)
            else { return nil }
            grant.isRenewal = isRenewal
            return grant
        }
    }

    /// Records that the server has accepted the current credentials, unless they have been replaced.
    ///
    /// - Parameter wereSent: Returns whether the request was sent with the given credentials.
    package func acceptCurrent(if wereSent: (Credentials) -> Bool) {
        // Called outside the lock, because it may run the app's code.
        guard let grant = state.withLock({ $0.grant }), grant.isUnproven, wereSent(grant.credentials) else { return }
        accept(grant)
    }

    /// Records that the server has accepted credentials.
    ///
    /// The refreshes that led to them no longer count towards the limit.
    package func accept(_ grant: Grant) {
        state.withLock { $0.refreshes.removeAll(upTo: grant.generation) }
    }

    /// A refresh that requests wait for, and that continues without them.
    private typealias Renewal = SharedOperation<Void>

    private enum Step {
        case go(Grant)
        case wait(Renewal, Renewal.Waiter)
        /// The renewal has to be started, from the credentials of a generation or from none.
        case renew(Renewal, Credentials?, generation: UInt64)
        /// The renewal has to be started while the current credentials are still used.
        case renewAhead(Renewal, Credentials?, generation: UInt64)
        case impossible
        case tooOften(RefreshTally.Refusal)
    }

    private func nextStep(for refused: Grant?) -> Step {
        while true {
            // Called outside the lock, because the credentials may run the app's code.
            let known = state.withLock { $0.grant }
            let isDue = known?.credentials.expires(within: leeway) ?? false
            let isExpired = known?.credentials.isExpired ?? false
            if let step = step(for: refused, known?.generation, isDue: isDue, isExpired: isExpired) { return step }
        }
    }

    /// Returns the next step; `nil` if the credentials have changed since they were read.
    private func step(for refused: Grant?, _ generation: UInt64?, isDue: Bool, isExpired: Bool) -> Step? {
        let now = NetworkEnvironment.current.clock.now
        return state.withLock { state in
            guard state.grant?.generation == generation else { return nil }
            if let refused {
                // Another request has renewed the credentials, or a user has signed in or out.
                guard let grant = state.grant, grant.isOfSameUser(as: refused) else { return .impossible }
                guard grant.generation == refused.generation else { return .go(grant) }
                // Without a delegate the refusal is final, and so is a refusal of credentials that were just renewed.
                guard delegate != nil, !refused.isRenewal else { return .impossible }
            } else if let grant = state.grant {
                let isGood =
                    switch state.usage {
                    case .inTime: !isDue
                    case .untilExpiry: !isExpired
                    case .untilRefused: true
                    }
                if isGood || delegate == nil { return .go(grant) }
                // Credentials that have not expired are used during their refresh.
                if !isExpired, state.renewal != nil { return .go(grant) }
            } else if delegate == nil {
                return .impossible
            }
            if let renewal = state.renewal, let waiter = renewal.join() { return .wait(renewal, waiter) }
            if let refusal = state.refreshes.refusal(under: limit, at: now) {
                if refused == nil, let grant = state.grant { return .go(grant) }
                return .tooOften(refusal)
            }
            state.refreshes.begin(from: state.generation, at: now)
            let renewal = Renewal(outlivesWaiters: true)
            state.renewal = renewal
            let isAhead = refused == nil && state.credentials != nil && !isExpired
            return isAhead
                ? .renewAhead(renewal, state.credentials, generation: state.generation)
                : .renew(renewal, state.credentials, generation: state.generation)
        }
    }

    private func start(
        _ renewal: Renewal,
        from old: Credentials?,
        _ generation: UInt64,
        after response: HTTPResponseData?,
        for request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) {
        guard let delegate else { return }
        renewal.start { [self, timeout] in
            do {
                let environment = NetworkEnvironment.current
                let clock = environment.clock
                let isLocking = LastValue(false)
                // A delegate may be slow, so requests do not wait for it longer than this.
                let alarm = clock.alarm(at: clock.now + timeout) { [self] in
                    // An alarm rings outside of the environment, whose date decides whether credentials have expired.
                    NetworkEnvironment.$current.withValue(environment) {
                        expire(renewal, with: isLocking.value == true ? .lockTimeout(timeout) : .timeout(timeout))
                    }
                }
                defer { alarm.cancel() }
                guard let old else {
                    let new = try await withoutCredentials { try await delegate.authorize(over: upstream) }
                    land(renewal, generation, new)
                    return
                }
                _ = isLocking.replace(with: true)
                let lock = try await lock(old)
                _ = isLocking.replace(with: false)
                defer { lock?.release() }
                switch await changeElsewhere(of: old) {
                case .removed:
                    throw removedElsewhere(renewal, generation)
                case .renewed(let new) where !new.isExpired:
                    land(renewal, generation, new, isStored: true)
                case .none:
                    try await renew(old)
                case .renewed(let newer):
                    try await renew(newer)
                }

                func renew(_ old: Credentials) async throws {
                    let new = try await withoutCredentials {
                        try await delegate.refresh(old, after: response, over: upstream)
                    }
                    // Saving the new credentials would sign the user in again.
                    if case .removed = await changeElsewhere(of: old) { throw removedElsewhere(renewal, generation) }
                    land(renewal, generation, new)
                }
            } catch let failure as RefreshFailure {
                throw failure
            } catch {
                let failure = RefreshFailure.delegate(error)
                if giveUp(renewal, failure) { throw failure }
            }
        }
    }

    /// Takes the lock that other processes respect when they refresh the credentials.
    ///
    /// - Returns: The lock, or `nil` if the storage has none or cannot be locked.
    /// - Throws: `CancellationError` if the refresh was cancelled.
    private func lock(_ credentials: Credentials) async throws -> SessionLock? {
        guard let storage, let shared = storage.shared else { return nil }
        do {
            let lock = try await shared.lock(credentials)
            try Task.checkCancellation()
            return lock
        } catch {
            try Task.checkCancellation()
            storage.onFailure(error)
            return nil
        }
    }

    /// Returns what other processes have done with the stored credentials.
    private func changeElsewhere(of old: Credentials) async -> SharedCredentials<Credentials>.Change {
        guard let storage, let shared = storage.shared else { return .none }
        do {
            return try await shared.change(old)
        } catch {
            storage.onFailure(error)
            return .none
        }
    }

    /// Signs out because another process has, and returns the error of the refresh.
    private func removedElsewhere(_ renewal: Renewal, _ generation: UInt64) -> RefreshFailure {
        publish(.removed, isStored: true) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return false }
                _ = state.replace(with: nil, of: .of(Credentials?.none), isSignIn: true)
                return true
            }
        }
        return .delegate(SignedOut())
    }

    /// Stores new credentials, unless others have been set or removed in the meantime.
    ///
    /// It does so even if no request is waiting any more, because the old credentials may no longer be valid. If
    /// another refresh has started, its result is used instead.
    private func land(_ renewal: Renewal, _ generation: UInt64, _ new: Credentials, isStored: Bool = false) {
        let new = new.inheriting(from: credentials)
        let (isExpired, isDue) = (new.isExpired, new.expires(within: leeway))
        publish(.refreshed(new), isStored: isStored) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return false }
                _ = state.replace(with: new, of: new.principal ?? state.principal, isSignIn: false)
                // If they have expired already, a clock is wrong, and only the server can decide when they are no
                // longer valid. If they are valid for less than the leeway, a refresh ahead of time would follow at
                // each request.
                state.usage = isExpired ? .untilRefused : isDue ? .untilExpiry : .inTime
                return true
            }
        }
    }

    /// Ends a refresh that exceeds its time limit.
    private func expire(_ renewal: Renewal, with failure: RefreshFailure) {
        if giveUp(renewal, failure) {
            renewal.end(with: .failure(failure))
        }
    }

    /// Ends a refresh that has failed.
    ///
    /// Credentials that have not expired are used until they expire.
    ///
    /// - Returns: `false` if the refresh was not the current one, because credentials were set or removed in the
    ///   meantime.
    private func giveUp(_ renewal: Renewal, _ failure: RefreshFailure) -> Bool {
        let isExpired = credentials?.isExpired ?? true
        return state.withLock { state in
            guard state.renewal === renewal else { return false }
            state.renewal = nil
            state.refreshes.end(with: failure)
            if !isExpired {
                state.usage = .untilExpiry
            }
            return true
        }
    }

    /// Whether the current task runs this store's own delegate.
    package var isRenewing: Bool {
        NetworkEnvironment.current[RenewingStores.self].contains(ObjectIdentifier(self))
    }

    /// The time for which credentials are used before they are renewed.
    private enum Usage {
        /// Until the leeway before they expire.
        case inTime
        /// Until they expire: a refresh failed, or they are valid for less than the leeway.
        case untilExpiry
        /// Until the server refuses them: they had expired when they arrived.
        case untilRefused
    }

    private struct State {
        private(set) var credentials: Credentials?
        private(set) var principal: Principal
        /// A number for the current credentials, to tell credentials that a server refused from those that have
        /// replaced them.
        private(set) var generation: UInt64 = 0
        private var signIn: UInt64 = 0
        var renewal: Renewal?
        var refreshes = RefreshTally()
        var usage = Usage.inTime

        init(credentials: Credentials?, principal: Principal) {
            self.credentials = credentials
            self.principal = principal
        }

        var grant: Grant? {
            credentials.map {
                Grant(
                    credentials: $0,
                    principal: principal,
                    generation: generation,
                    signIn: signIn,
                    isUnproven: !refreshes.isEmpty
                )
            }
        }

        /// Whether the result of a refresh is still wanted: no credentials were set or removed, and no other refresh
        /// has started.
        func isUnderWay(_ renewal: Renewal, _ generation: UInt64) -> Bool {
            self.renewal === renewal || self.renewal == nil && self.generation == generation
        }

        /// Replaces the credentials and returns the refresh that was in progress.
        mutating func replace(
            with credentials: Credentials?,
            of principal: Principal,
            isSignIn: Bool
        ) -> Renewal? {
            if isSignIn {
                signIn += 1
            }
            self.credentials = credentials
            self.principal = principal
            generation += 1
            usage = .inTime
            defer { renewal = nil }
            return renewal
        }
    }

    private struct Subscribers {
        private var continuations: [Int: AsyncStream<CredentialChange<Credentials>>.Continuation] = [:]
        private var last = 0

        mutating func add(_ continuation: AsyncStream<CredentialChange<Credentials>>.Continuation) -> Int {
            last += 1
            continuations[last] = continuation
            return last
        }

        mutating func remove(_ id: Int) {
            continuations[id] = nil
        }

        func tell(_ change: CredentialChange<Credentials>) {
            for continuation in continuations.values {
                continuation.yield(change)
            }
        }
    }
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

/// The stores whose delegates are running in this task.
private enum RenewingStores: NetworkEnvironmentKey {
    static let defaultValue: Set<ObjectIdentifier> = []
}

extension AuthenticatingCredentials {
    /// The principal that the credentials belong to, if they name a user.
    fileprivate var principal: Principal? {
        userID.flatMap { $0.isEmpty ? nil : Principal(userID: $0) }
    }

    /// Returns the same credentials, with the user of the old ones if they do not name one.
    fileprivate func inheriting(from old: Self?) -> Self {
        guard var session = self as? Session, session.userID == nil else { return self }
        session.userID = old?.userID
        return session as? Self ?? self
    }
}

extension Principal {
    /// Returns the principal of credentials: the user's id, or a random id for this sign-in.
    fileprivate static func of(_ credentials: (some AuthenticatingCredentials)?) -> Principal {
        if let principal = credentials?.principal { return principal }
        return Principal(id: NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal)
    }
}
