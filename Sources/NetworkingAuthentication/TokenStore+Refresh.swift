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
                let end = clock.now + timeout
                let alarm = clock.alarm(at: end) { [self] in
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
                let reading = try await take(lock, for: old)
                switch reading?.change {
                case nil:
                    try await renew(old)
                case .renewed(let newer)? where newer.isExpired:
                    try await renew(newer)
                case let change?:
                    try adopt(change, renewal, generation)
                }

                func renew(_ old: Credentials?) async throws {
                    let new = try await withoutCredentials {
                        if let old {
                            try await delegate.refresh(old, after: response, over: upstream)
                        } else {
                            try await delegate.authorize(over: upstream)
                        }
                    }
                    try await store(new, from: old, reading, lock, until: end, renewal, generation)
                }
            } catch let failure as RefreshFailure where !failure.isOfStorage {
                throw failure
            } catch {
                let failure = error as? RefreshFailure ?? .delegate(error)
                if endFailed(renewal, failure) { throw failure }
            }
        }
    }

    typealias Shared = SharedCredentials<Credentials>

    /// Takes the lock that other processes respect when they refresh the credentials, and reads the storage.
    ///
    /// While another process holds the lock, it reads the storage again and again, and needs no lock to use what the
    /// other process has stored. A refresh without a lock could send a refresh token that another process has used, for
    /// which a server ends the session.
    ///
    /// - Returns: The contents of the storage; `nil` if no other process uses the credentials.
    /// - Throws: ``RefreshFailure/storage(_:)``, or `CancellationError` if the refresh was cancelled or has reached its
    ///   time limit.
    private func take(_ lock: RefreshLock, for old: Credentials?) async throws -> Shared.Reading? {
        guard let shared = storage?.shared else { return nil }
        let first = shared.background?.firstUserID
        guard let userID = old.map({ $0.userID ?? "" }) ?? first else { return nil }
        let clock = NetworkEnvironment.current.clock
        do {
            while true {
                try lock.startWaiting()
                // A change that is not stored yet would look like one of another process.
                try await shared.background?.changes.settle()
                let outcome = try await shared.lock(userID, timeout * 3 / 2)
                try Task.checkCancellation()
                switch outcome {
                case .acquired(let held):
                    try lock.hold(held)
                    var reading = try await read(userID, old)
                    reading?.lock = held
                    try Task.checkCancellation()
                    if held.isHeld { return reading }
                case .held(let delay):
                    if let reading = try await read(userID, old), let change = reading.change, !change.isExpired {
                        return reading
                    }
                    try await clock.sleep(for: delay)
                }
            }
        } catch {
            try Task.checkCancellation()
            guard !lock.isReleased else { throw CancellationError() }
            throw RefreshFailure.storage(error)
        }
    }

    /// Reads the stored credentials.
    private func read(_ userID: String, _ old: Credentials?) async throws -> Shared.Reading? {
        do {
            return try await storage?.shared?.read(userID, old)
        } catch let error as SessionStorageError where error.isDamage {
            // The damaged session was removed, so that no other process can use it. That is no sign-out.
            storage?.shared?.takeOver(.removed)
            storage?.onFailure(error)
            return Shared.Reading(stored: nil, change: nil)
        }
    }

    /// Stores the new credentials of a refresh and uses them, unless other processes have changed the stored ones.
    ///
    /// - Throws: The error of the refresh if another process has signed out.
    private func store(
        _ new: Credentials,
        from old: Credentials?,
        _ reading: Shared.Reading?,
        _ lock: RefreshLock,
        until end: Duration,
        _ renewal: Renewal,
        _ generation: UInt64
    ) async throws(RefreshFailure) {
        guard let reading, let shared = storage?.shared else { return land(renewal, generation, new) }
        let userID = old.map { $0.userID ?? "" } ?? shared.background?.firstUserID ?? ""
        let inherited = new.inheriting(from: credentials)
        if let background = shared.background, let held = reading.lock, inherited.userID ?? "" == userID {
            do {
                if try await background.replace(reading.stored, inherited, held) {
                    return land(renewal, generation, inherited, .done)
                }
            } catch {
                land(renewal, generation, inherited, .postponed)
                return storeLater(inherited, reading, error, until: end, lock)
            }
        }
        // Saving the new credentials would undo the change of the other process.
        if let change = await changeElsewhere(of: old, of: userID) {
            try adopt(change, renewal, generation)
        } else if shared.background == nil || inherited.userID ?? "" != userID {
            land(renewal, generation, new)
        } else {
            land(renewal, generation, inherited, .postponed)
            storage?.onFailure(SessionStorageError.lockLost)
        }
    }

    /// Tries to store new credentials until the refresh would have to end, and keeps the lock until then.
    ///
    /// Meanwhile, no other process refreshes the old credentials.
    private func storeLater(
        _ new: Credentials,
        _ reading: Shared.Reading,
        _ error: any Error,
        until end: Duration,
        _ lock: RefreshLock
    ) {
        guard let storage, let shared = storage.shared, let background = shared.background, let held = reading.lock
        else { return }
        // The refresh must not release the lock at its end.
        _ = lock.release()
        background.changes.add {
            let clock = NetworkEnvironment.current.clock
            var (error, delay) = (error, Duration.milliseconds(100))
            defer { held.release() }
            while clock.now + delay < end {
                try? await clock.sleep(for: delay)
                delay = min(delay * 2, .seconds(1))
                do {
                    guard try await background.replaceNow(reading.stored, new, held) else {
                        error = SessionStorageError.lockLost
                        break
                    }
                    return shared.takeOver(.refreshed(new))
                } catch let failure {
                    error = failure
                }
            }
            storage.onFailure(error)
        }
    }

    /// Releases the lock after the new credentials are stored, which another thread may be doing.
    private func release(_ lock: RefreshLock) {
        guard let held = lock.release() else { return }
        storing.add { { held.release() } }
    }

    /// Returns the change that other processes have made to the stored credentials; `nil` if there is none.
    private func changeElsewhere(of old: Credentials?, of userID: String) async -> Shared.Change? {
        do {
            return try await read(userID, old)?.change
        } catch {
            storage?.onFailure(error)
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
            land(renewal, generation, new, .done)
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
        publish(.done) {
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
    private func land(_ renewal: Renewal, _ generation: UInt64, _ new: Credentials, _ storing: Storing = .necessary) {
        let new = new.inheriting(from: credentials)
        // Determined outside the lock, because they may run the app's code. If the new credentials have expired
        // already, a clock is wrong, and only the server can decide when they are no longer valid.
        let (principal, usage) = (new.principal, usage(of: new, ifExpired: .untilRefused))
        publish(storing) {
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
        /// The refresh has not asked for the lock.
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
