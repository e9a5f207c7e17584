import NetworkingCore

/// A storage of sessions that several processes or machines use at the same time.
///
/// A server that replaces refresh tokens accepts each of them once, so two processes must not refresh one session at
/// the same time. A ``TokenStore`` locks the session, reads it again, and refreshes it only if no other process has. If
/// the storage or its lock cannot be used, the refresh fails and no token is sent.
///
/// ``FileSessionStorage`` is such a storage for the processes of one machine. The requirements are asynchronous for
/// storages behind a network; synchronous methods satisfy them, too. A type that also conforms to ``SessionStorage``
/// stores a change before `set` and `remove` return. Any other storage does so in the background, in the order of the
/// changes (``TokenStore/flush()``).
///
/// A custom storage uses a lock that its processes share. It stores the encoded session, which also contains the id of
/// its sign-in. Without that id, the sign-in of another process is taken for a refresh if sessions have no
/// ``Session/userID``.
///
/// ```swift
/// extension DatabaseSessionStorage: SharedSessionStorage {
///     public func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
///         guard let lock = try await database.tryAdvisoryLock(named: "session-\(userID)") else {
///             return .held(retryAfter: .milliseconds(50))
///         }
///         return .acquired(SessionLock { lock.release() })
///     }
/// }
/// ```
public protocol SharedSessionStorage: Sendable {
    /// Returns the session of a user; `nil` if there is none.
    ///
    /// `nil` means that the user has signed out. A session that cannot be read is an error.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The session.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func session(for userID: String) async throws -> Session?

    /// Stores a session of a sign-in and replaces the previous session of its user.
    ///
    /// - Parameter session: The session.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func save(_ session: Session) async throws

    /// Removes the session of a user, if there is one.
    ///
    /// - Parameter userID: The id of the user.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func removeSession(for userID: String) async throws

    /// Tries once to take the lock of a user's session, without waiting for another holder.
    ///
    /// A store tries again until its `timeout`, and reads the session after each attempt. The lock is only for
    /// refreshes: ``save(_:)``, ``removeSession(for:)`` and ``session(for:)`` do not wait for it. It has to end if its
    /// process ends.
    ///
    /// - Parameters:
    ///   - userID: The id of the user; empty for a session without an id.
    ///   - lease: The time after which the lock ends if it is not renewed. It is longer than the refresh may take. A
    ///     lock that the system releases at the end of the process needs no lease.
    /// - Returns: The lock, or when to try again.
    /// - Throws: An error if it is not known whether another holder has the lock. The refresh then fails.
    func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome

    /// Stores a refreshed session, unless the stored one has changed or another holder has the lock.
    ///
    /// A holder may lose its lock if its process was suspended or the storage was not reachable. It must not overwrite
    /// what another holder has stored since then, so a storage whose lock has a lease compares and stores in one step.
    /// By default, it compares the stored session if the lock is held, and calls ``save(_:)``.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - old: The session that the holder has read; `nil` if there was none.
    ///   - lock: The lock of the same user, which may have ended.
    /// - Returns: Whether the session was stored.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func save(_ session: Session, replacing old: Session?, under lock: SessionLock) async throws -> Bool
}

/// The outcome of an attempt to lock a session; an error is the third one.
public enum SessionLockOutcome: Sendable {
    /// The caller has the lock.
    case acquired(SessionLock)
    /// Another holder has the lock; the next attempt should come after this time.
    case held(retryAfter: Duration)
}

extension SharedSessionStorage {
    /// Stores a session if the lock is held and the stored session is the old one.
    public func save(_ session: Session, replacing old: Session?, under lock: SessionLock) async throws -> Bool {
        guard lock.isHeld, try await self.session(for: session.userID ?? "") == old else { return false }
        try await save(session)
        return true
    }

    /// Waits until no other holder has the lock of a user's session, in this process or another, and takes it.
    ///
    /// It blocks no thread, and waits on the environment's clock.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The lock, with a lease of 90 seconds that is renewed while the lock is held.
    /// - Throws: `CancellationError` as soon as the caller is cancelled, and the errors of
    ///   ``lockSession(for:lease:)``.
    public func lockSession(for userID: String) async throws -> SessionLock {
        let clock = NetworkEnvironment.current.clock
        while true {
            try Task.checkCancellation()
            switch try await lockSession(for: userID, lease: .seconds(90)) {
            case .acquired(let lock): return lock
            case .held(let delay): try await clock.sleep(for: delay)
            }
        }
    }
}
