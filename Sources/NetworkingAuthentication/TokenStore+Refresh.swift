import NetworkingCore
import Synchronization

extension TokenStore {
    /// Starts a refresh, from the old credentials or from none.
    func start(
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
                let lock = RefreshLock()
                // A delegate may be slow, so requests do not wait for it longer than this, nor do other processes.
                let alarm = clock.alarm(at: clock.now + timeout) { [self] in
                    // An alarm fires outside of the environment, but the date of the environment decides about expiry.
                    NetworkEnvironment.$current.withValue(environment) {
                        let isLocking = lock.isAwaited
                        expire(renewal, with: isLocking ? .lockTimeout(timeout) : .timeout(timeout))
                    }
                    // Not here, because a release may access the disk, and an alarm must not block.
                    _ = OwnedTask.detached { [self] in release(lock) }
                }
                defer {
                    alarm.cancel()
                    release(lock)
                }
                guard let old else {
                    let new = try await withoutCredentials { try await delegate.authorize(over: upstream) }
                    land(renewal, generation, new)
                    return
                }
                try await take(lock, for: old)
                switch await changeElsewhere(of: old) {
                case nil:
                    try await renew(old)
                case .renewed(let newer)? where newer.isExpired:
                    try await renew(newer)
                case let change?:
                    try adopt(change, renewal, generation)
                }

                func renew(_ old: Credentials) async throws {
                    let new = try await withoutCredentials {
                        try await delegate.refresh(old, after: response, over: upstream)
                    }
                    // Saving the new credentials would undo the change of the other process.
                    if let change = await changeElsewhere(of: old) {
                        try adopt(change, renewal, generation)
                    } else {
                        land(renewal, generation, new)
                    }
                }
            } catch let failure as RefreshFailure {
                throw failure
            } catch {
                let failure = RefreshFailure.delegate(error)
                if endFailed(renewal, failure) { throw failure }
            }
        }
    }

    /// Takes the lock that other processes respect when they refresh the credentials, if the storage has one.
    ///
    /// A storage that cannot be locked reports that, and the refresh continues without a lock.
    ///
    /// - Throws: `CancellationError` if the refresh was cancelled or has reached its time limit.
    private func take(_ lock: RefreshLock, for credentials: Credentials) async throws {
        guard let storage, let shared = storage.shared else { return }
        try lock.startWaiting()
        do {
            let taken = try await shared.lock(credentials)
            try Task.checkCancellation()
            try lock.hold(taken)
        } catch {
            try Task.checkCancellation()
            guard !lock.isReleased else { throw CancellationError() }
            lock.goWithout()
            storage.onFailure(error)
        }
    }

    /// Releases the lock after the new credentials are stored, which another thread may be doing.
    private func release(_ lock: RefreshLock) {
        guard let held = lock.release() else { return }
        storing.add { { held.release() } }
    }

    /// Returns the change that other processes have made to the stored credentials; `nil` if there is none.
    private func changeElsewhere(of old: Credentials) async -> SharedCredentials<Credentials>.Change? {
        guard let storage, let shared = storage.shared else { return nil }
        do {
            return try await shared.change(old)
        } catch {
            storage.onFailure(error)
            return nil
        }
    }

    /// Makes a change that another process has made to the stored credentials.
    ///
    /// - Throws: The error of the refresh if the other process has signed out.
    private func adopt(
        _ change: SharedCredentials<Credentials>.Change,
        _ renewal: Renewal,
        _ generation: UInt64
    ) throws(RefreshFailure) {
        switch change {
        case .renewed(let new):
            land(renewal, generation, new, isStored: true)
        case .replaced(let new):
            followSignIn(new, .set(new), renewal, generation)
        case .removed:
            followSignIn(nil, .removed, renewal, generation)
            throw .delegate(SignedOut())
        }
    }

    /// Replaces the credentials by those of the user that another process has signed in, or by none.
    private func followSignIn(
        _ new: Credentials?,
        _ change: CredentialChange<Credentials>,
        _ renewal: Renewal,
        _ generation: UInt64
    ) {
        // Determined outside the lock, because it may run the app's code.
        let (user, usage) = (StoreUser(of: new), new.map { self.usage(of: $0) } ?? .untilLeeway)
        publish(isStored: true) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return nil }
                _ = state.signIn(new, of: user, usage: usage)
                return change
            }
        }
    }

    /// Stores new credentials, unless others have been set or removed in the meantime.
    ///
    /// It does so even if no request is waiting any more, because the old credentials may no longer be valid. If
    /// another refresh has started, its result is used instead.
    private func land(_ renewal: Renewal, _ generation: UInt64, _ new: Credentials, isStored: Bool = false) {
        let new = new.inheriting(from: credentials)
        // Determined outside the lock, because they may run the app's code. If the new credentials have expired
        // already, a clock is wrong, and only the server can decide when they are no longer valid.
        let (principal, usage) = (new.principal, usage(of: new, ifExpired: .untilRefused))
        publish(isStored: isStored) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return nil }
                _ = state.renew(with: new, of: principal, usage: usage)
                return .refreshed(new)
            }
        }
    }

    /// Ends a refresh that exceeds its time limit.
    private func expire(_ renewal: Renewal, with failure: RefreshFailure) {
        if endFailed(renewal, failure) {
            renewal.end(with: .failure(failure))
        }
    }

    /// Ends a refresh that has failed.
    ///
    /// Credentials that have not expired are used until they expire.
    ///
    /// - Returns: `false` if the refresh was not the current one, because credentials were set or removed in the
    ///   meantime.
    private func endFailed(_ renewal: Renewal, _ failure: RefreshFailure) -> Bool {
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
}

/// The lock of one refresh.
///
/// It ends with the refresh, and at the refresh's time limit even if the delegate does not return. Otherwise a delegate
/// that hangs would keep all other processes from refreshing the session.
private final class RefreshLock: Sendable {
    private enum State {
        /// The refresh has not asked for the lock, or does without.
        case absent
        case awaited
        case held(SessionLock)
        case released
    }

    private let state = Mutex(State.absent)

    /// Whether the refresh waits for another holder of the lock.
    var isAwaited: Bool {
        state.withLock { state in
            if case .awaited = state { true } else { false }
        }
    }

    var isReleased: Bool {
        state.withLock { state in
            if case .released = state { true } else { false }
        }
    }

    /// Records that the refresh waits for the lock.
    func startWaiting() throws {
        try change(to: .awaited)
    }

    /// Records that the refresh holds the lock.
    ///
    /// - Throws: `CancellationError` if the time limit has passed; the lock is released with its last reference then.
    func hold(_ lock: SessionLock) throws {
        try change(to: .held(lock))
    }

    /// Records that the refresh continues without the lock.
    func goWithout() {
        try? change(to: .absent)
    }

    private func change(to next: State) throws {
        try state.withLock { state in
            if case .released = state { throw CancellationError() }
            state = next
        }
    }

    /// Ends the lock, and returns it if it is held.
    func release() -> SessionLock? {
        state.withLock { state in
            defer { state = .released }
            if case .held(let lock) = state { return lock }
            return nil
        }
    }
}
