public import NetworkingCore
import Synchronization

/// Keeps credentials, and has them renewed once for all who need it.
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
/// The store refreshes the credentials once for all requests that need it. The refresh belongs to none of them and
/// continues when they are cancelled.
///
/// - **Before the credentials expire**, within the leeway, the first request starts a refresh in the background. It and
///   all others are sent with the credentials that are still valid, also if the refresh takes long or fails.
/// - **When the credentials have expired or were refused**, requests wait for the refresh. If it fails, they fail once,
///   and the next request tries again, as far as ``RefreshLimit`` allows.
///
/// Setting or removing credentials cancels a refresh in progress, and its result is ignored.
///
/// Several stacks may have the same store. Times are those of the environment's clock.
public final class TokenStore<Credentials: AuthenticatingCredentials>: Sendable {
    private let delegate: (any AuthenticationDelegate<Credentials>)?
    private let leeway: Duration
    private let timeout: Duration
    private let limit: RefreshLimit
    private let storage: CredentialStorage<Credentials>?
    private let state: Mutex<State>
    /// Held while credentials are stored and told of, so that storage and subscribers get to know them in order.
    private let publishing = Mutex(Subscribers())

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - credentials: The credentials; nil while nobody is signed in.
    ///   - delegate: Gets credentials and renews them; without one, what the server refuses stays refused.
    ///   - leeway: How long before credentials expire they are refreshed in the background; 30 seconds by default.
    ///     Credentials that are valid for less than that when they arrive are refreshed when they have expired.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: How many refreshes may follow each other without the server accepting their credentials; five within
    ///     30 seconds by default.
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

    // MARK: What is there

    /// The credentials; nil while nobody is signed in.
    public var credentials: Credentials? {
        state.withLock { $0.credentials }
    }

    /// Whose credentials they are: the user's id, or a random id that a sign-in and a sign-out renew, and a refresh
    /// does not.
    public var principal: Principal {
        state.withLock { $0.principal }
    }

    /// The principal that the credentials belong to; `nil` while there are none.
    var owner: Principal? {
        state.withLock { $0.credentials == nil ? nil : $0.principal }
    }

    /// Signs in: requests from now on are sent with these credentials.
    ///
    /// A refresh that is under way is given up. Requests that wait for it go on with these when they are of the same
    /// user, and fail when they are of another.
    ///
    /// - Parameter credentials: The credentials.
    public func set(_ credentials: Credentials) {
        change(.set(credentials), ending: .success(())) {
            $0.replace(with: credentials, of: .of(credentials), isSignIn: true)
        }
    }

    /// Signs in, unless that is not to be any more at the moment when it happens.
    ///
    /// - Parameters:
    ///   - credentials: The credentials.
    ///   - isWanted: Whether they are still wanted; asked where nobody can sign in or out meanwhile.
    package func set(_ credentials: Credentials, if isWanted: () -> Bool) {
        change(.set(credentials), ending: .success(()), if: isWanted) {
            $0.replace(with: credentials, of: .of(credentials), isSignIn: true)
        }
    }

    /// Puts other credentials of the same user into place, which were renewed elsewhere.
    ///
    /// - Parameter credentials: The credentials.
    public func update(_ credentials: Credentials) {
        change(.refreshed(credentials), ending: .success(())) { state in
            state.replace(with: credentials, of: credentials.principal ?? state.principal, isSignIn: false)
        }
    }

    /// Signs out.
    ///
    /// A refresh that is under way is given up, and requests that wait for it fail. Later ones ask the delegate to
    /// authorize them, and fail when it does not.
    public func remove() {
        _ = takeOut()
    }

    /// Signs out, and says what was there at that moment.
    package func takeOut() -> Credentials? {
        var former: Credentials?
        change(.removed, ending: .failure(RefreshFailure.delegate(SignedOut()))) { state in
            former = state.credentials
            return state.replace(with: nil, of: .of(Credentials?.none), isSignIn: true)
        }
        return former
    }

    /// Runs an operation whose requests pass `authenticated` without credentials of this store, and limiters without
    /// waiting, as those of a delegate do.
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

    /// What happens to the credentials from now on, for as many subscribers as there are.
    ///
    /// Each gets every change, in order. The sequence does not end.
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

    /// Changes what is there, and when it has, tells storage and subscribers of it.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - isStored: Whether the storage has the change already, because another process made it.
    ///   - apply: Makes the change, and returns whether it did.
    private func publish(_ change: CredentialChange<Credentials>, isStored: Bool = false, _ apply: () -> Bool) {
        let failure = publishing.withLock { subscribers -> (any Error)? in
            let before = credentials
            guard apply() else { return nil }
            // Under the lock, since that is what keeps them in order: yielding only puts the change into a buffer.
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

    // MARK: For requests

    /// Credentials, and whose they are.
    package struct Grant: Sendable {
        package let credentials: Credentials
        package let principal: Principal
        fileprivate let generation: UInt64
        /// Of which sign-in they are; refreshes do not change it.
        fileprivate let signIn: UInt64
        /// The request that has it took part in a refresh, which happens once.
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
                // Whoever came for one user is not sent on for another.
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
                // The request does not wait, and looks again: a delegate may have returned already.
                start(renewal, from: old, generation, after: nil, for: request, over: upstream)
            case .impossible:
                throw request.hasNoCredentials
            case .tooOften(let refusal):
                throw request.refreshRefused(refusal, limit, after: nil)
            }
            guard first == nil || credentials != nil else { throw request.hasNoCredentials }
        }
    }

    /// Gives a request other credentials than those that the server refused.
    ///
    /// - Returns: The credentials; nil when there are none for the same user.
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

    /// Notes that the server has accepted the current credentials, unless others have taken their place.
    ///
    /// - Parameter wereSent: Returns whether the request was sent with the given credentials.
    package func acceptCurrent(if wereSent: (Credentials) -> Bool) {
        // Asked outside the lock, like everything that belongs to the app.
        guard let grant = state.withLock({ $0.grant }), grant.isUnproven, wereSent(grant.credentials) else { return }
        accept(grant)
    }

    /// Notes that the server has accepted credentials, so that the refreshes up to them no longer count towards the
    /// limit.
    package func accept(_ grant: Grant) {
        state.withLock { $0.refreshes.removeAll(upTo: grant.generation) }
    }

    /// A refresh that requests wait for, and that goes on without them.
    private typealias Renewal = SharedOperation<Void>

    private enum Step {
        case go(Grant)
        case wait(Renewal, Renewal.Waiter)
        /// The renewal is to be started, from the credentials of a generation, or from none.
        case renew(Renewal, Credentials?, generation: UInt64)
        /// The same, while the credentials that are there are used.
        case renewAhead(Renewal, Credentials?, generation: UInt64)
        case impossible
        case tooOften(RefreshTally.Refusal)
    }

    private func nextStep(for refused: Grant?) -> Step {
        while true {
            // Asked outside the lock: what they say of themselves is the app's own code.
            let known = state.withLock { $0.grant }
            let isDue = known?.credentials.expires(within: leeway) ?? false
            let isExpired = known?.credentials.isExpired ?? false
            if let step = step(for: refused, known?.generation, isDue: isDue, isExpired: isExpired) { return step }
        }
    }

    /// What is to be done; nil when the credentials have changed since somebody looked at them.
    private func step(for refused: Grant?, _ generation: UInt64?, isDue: Bool, isExpired: Bool) -> Step? {
        let now = NetworkEnvironment.current.clock.now
        return state.withLock { state in
            guard state.grant?.generation == generation else { return nil }
            if let refused {
                // Somebody else has got new ones, or has signed in or out.
                guard let grant = state.grant, grant.isOfSameUser(as: refused) else { return .impossible }
                guard grant.generation == refused.generation else { return .go(grant) }
                // Credentials that nobody can renew are refused for good, and those that were just made too.
                guard delegate != nil, !refused.isRenewal else { return .impossible }
            } else if let grant = state.grant {
                let isGood =
                    switch state.usage {
                    case .inTime: !isDue
                    case .untilExpiry: !isExpired
                    case .untilRefused: true
                    }
                if isGood || delegate == nil { return .go(grant) }
                // Credentials that are valid for a while are used during their refresh.
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
                // A delegate need not be prompt, so nobody waits for it longer than this.
                let alarm = clock.alarm(at: clock.now + timeout) { [self] in
                    // An alarm rings outside of the environment, whose date tells whether credentials have expired.
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
                    // To save them would sign the user in again.
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
    /// - Throws: `CancellationError` if the refresh was given up.
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

    /// Puts new credentials into place, unless others have been set or removed meanwhile.
    ///
    /// Also when nobody waits any more, since what they take the place of may be spent; another refresh that has begun
    /// wins.
    private func land(_ renewal: Renewal, _ generation: UInt64, _ new: Credentials, isStored: Bool = false) {
        let new = new.inheriting(from: credentials)
        let (isExpired, isDue) = (new.isExpired, new.expires(within: leeway))
        publish(.refreshed(new), isStored: isStored) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return false }
                _ = state.replace(with: new, of: new.principal ?? state.principal, isSignIn: false)
                // If they have expired already, a clock is wrong, and only the server can tell when they are not valid.
                // If they are valid for less than the leeway, a refresh ahead of time would follow at each request.
                state.usage = isExpired ? .untilRefused : isDue ? .untilExpiry : .inTime
                return true
            }
        }
    }

    /// Ends a refresh that takes too long.
    private func expire(_ renewal: Renewal, with failure: RefreshFailure) {
        if giveUp(renewal, failure) {
            renewal.end(with: .failure(failure))
        }
    }

    /// Gives up a refresh that has failed.
    ///
    /// Credentials that have not expired are used until they have.
    ///
    /// - Returns: `false` if the refresh was not the current one, because credentials were set or removed meanwhile.
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

    /// Whether this is what its own delegate sends.
    package var isRenewing: Bool {
        NetworkEnvironment.current[RenewingStores.self].contains(ObjectIdentifier(self))
    }

    /// How long credentials are used before they are renewed.
    private enum Usage {
        /// Until some time before they run out.
        case inTime
        /// Until they run out: they could not be renewed in time, or are valid for less than that time.
        case untilExpiry
        /// Until the server refuses them: they had run out when they came.
        case untilRefused
    }

    private struct State {
        private(set) var credentials: Credentials?
        private(set) var principal: Principal
        /// Which credentials they are, to tell those that a server refused from those that have taken their place.
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

        /// Whether the result of a refresh is still wanted: no other was set, removed or is being made.
        func isUnderWay(_ renewal: Renewal, _ generation: UInt64) -> Bool {
            self.renewal === renewal || self.renewal == nil && self.generation == generation
        }

        /// Puts others into place, and answers the refresh that was under way.
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

/// What happened to the credentials of a ``TokenStore``.
public enum CredentialChange<Credentials: AuthenticatingCredentials>: Sendable {
    /// Somebody signed in.
    case set(Credentials)
    /// They were renewed.
    case refreshed(Credentials)
    /// Somebody signed out.
    case removed
}

extension TokenStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether there are credentials, and nothing of them.
    public var description: String {
        "TokenStore(\(Credentials.method.rawValue), \(credentials == nil ? "signed out" : "signed in"))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["method": Credentials.method.rawValue, "isSignedIn": credentials != nil])
    }
}

/// The stores whose delegates are at work in this task.
private enum RenewingStores: NetworkEnvironmentKey {
    static let defaultValue: Set<ObjectIdentifier> = []
}

extension AuthenticatingCredentials {
    /// Whose they are, if they say so.
    fileprivate var principal: Principal? {
        userID.flatMap { $0.isEmpty ? nil : Principal(userID: $0) }
    }

    /// The same, with the user of those that they take the place of, where they do not name one.
    fileprivate func inheriting(from old: Self?) -> Self {
        guard var session = self as? Session, session.userID == nil else { return self }
        session.userID = old?.userID
        return session as? Self ?? self
    }
}

extension Principal {
    /// Whose credentials they are, by the user's id or by one that stands for this sign-in.
    fileprivate static func of(_ credentials: (some AuthenticatingCredentials)?) -> Principal {
        if let principal = credentials?.principal { return principal }
        return Principal(id: NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal)
    }
}
