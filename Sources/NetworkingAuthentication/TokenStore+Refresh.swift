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
                let isLocking = LastValue(false)
                // A delegate may be slow, so requests do not wait for it longer than this.
                let alarm = clock.alarm(at: clock.now + timeout) { [self] in
                    // An alarm fires outside of the environment, but the date of the environment decides about expiry.
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
                defer {
                    // After the new credentials are stored, which another thread may be doing.
                    if let lock { storing.add { { lock.release() } } }
                }
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
        let user = StoreUser(of: new)
        publish(isStored: true) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return nil }
                _ = state.signIn(new, of: user)
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
        // Determined outside the lock, because they may run the app's code.
        let (isExpired, isDue, principal) = (new.isExpired, new.isDue(within: leeway), new.principal)
        publish(isStored: isStored) {
            state.withLock { state in
                guard state.isUnderWay(renewal, generation) else { return nil }
                _ = state.renew(with: new, of: principal)
                // If they have expired already, a clock is wrong, and only the server can decide when they are no
                // longer valid. If they are valid for less than the leeway, each request would start another refresh
                // ahead of time.
                state.usage = isExpired ? .untilRefused : isDue ? .untilExpiry : .untilLeeway
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
