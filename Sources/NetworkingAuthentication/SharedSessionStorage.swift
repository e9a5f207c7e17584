import NetworkingCore
import Synchronization

/// A storage of sessions that several processes use at the same time.
///
/// A server that replaces refresh tokens accepts each of them once, so two processes must not refresh one session at
/// the same time. A ``TokenStore`` locks the session, reads it again, and refreshes it only if no other process has.
/// ``FileSessionStorage`` is such a storage.
///
/// A custom storage uses a lock that its processes share. It stores the encoded session, which also contains the id of
/// its sign-in. Without that id, the sign-in of another process is taken for a refresh if sessions have no
/// ``Session/userID``.
///
/// ```swift
/// extension DatabaseSessionStorage: SharedSessionStorage {
///     public func lockSession(for userID: String) async throws -> SessionLock {
///         let lock = try await database.advisoryLock(named: "session-\(userID)")
///         return SessionLock { lock.release() }
///     }
/// }
/// ```
public protocol SharedSessionStorage: SessionStorage {
    /// Waits until no other holder has the lock of a user's session, in this process or another, and takes it.
    ///
    /// The system must release the lock if the process ends. The lock is only for refreshes:
    /// ``SessionStorage/save(_:)``, ``SessionStorage/removeSession(for:)`` and ``SessionStorage/session(for:)`` do not
    /// wait for it.
    ///
    /// The wait needs no time limit, because the store cancels it after the store's `timeout`.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The lock.
    /// - Throws: `CancellationError` as soon as the caller is cancelled, and another error if there can be no lock.
    func lockSession(for userID: String) async throws -> SessionLock
}

/// The exclusive right to refresh a stored session.
///
/// It ends with ``release()``, or when the last reference to it is gone.
public final class SessionLock: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    /// Creates a lock that is already held.
    ///
    /// - Parameter release: Releases the lock; it is called once.
    public init(release: @escaping @Sendable () -> Void) {
        end = Mutex(release)
    }

    deinit {
        release()
    }

    /// Releases the lock; does nothing if it has already been released.
    public func release() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}

/// The operations of a refresh on a storage that other processes also use.
struct SharedCredentials<Credentials: AuthenticatingCredentials>: Sendable {
    /// A change that another process has made to the stored credentials.
    enum Change {
        /// Another process has renewed the credentials.
        case renewed(Credentials)
        /// Another process has stored the credentials of another sign-in, whose user may be another one.
        case replaced(Credentials)
        /// Another process has removed the credentials.
        case removed
    }

    let lock: @Sendable (Credentials) async throws -> SessionLock
    /// Reads the storage and returns the change by other processes since this one last saved or adopted credentials;
    /// `nil` if there is none.
    let change: @Sendable (Credentials) async throws -> Change?
    /// Records a change that another process has made and that the store has adopted.
    let takeOver: @Sendable (CredentialChange<Credentials>) -> Void
}

extension SharedCredentials where Credentials == Session {
    init(_ storage: any SharedSessionStorage, _ known: KnownSession) {
        lock = { try await storage.lockSession(for: $0.userID ?? "") }
        change = { session in
            let userID = session.userID ?? ""
            let stored = try await DiskQueue.run(until: nil) { try storage.session(for: userID) }
            return known.change(to: stored, from: session)
        }
        takeOver = { known.note($0) }
    }
}

/// The session that a store last saved or adopted from its storage.
///
/// It shows whether another process has changed the stored session. The session of the store is not enough for that,
/// because it is newer than the stored one if it could not be saved.
final class KnownSession: Sendable {
    private let state: Mutex<Session?>

    init(_ session: Session?) {
        state = Mutex(session)
    }

    /// Records the session that is stored now.
    func note(_ session: Session?) {
        state.withLock { $0 = session }
    }

    func note(_ change: CredentialChange<Session>) {
        switch change {
        case .set(let session), .refreshed(let session): note(session)
        case .removed: note(nil)
        }
    }

    /// Returns the change that other processes have made to the session of the store; `nil` if there is none.
    ///
    /// A newer session is not recorded: until the store adopts it, each refresh has to start from it.
    fileprivate func change(to stored: Session?, from session: Session) -> SharedCredentials<Session>.Change? {
        let former = state.withLock { $0 }
        guard let stored else { return former == nil ? nil : .removed }
        guard !stored.hasTokens(of: session), !(former.map(stored.hasTokens) ?? false) else { return nil }
        // A storage has one session of each user with an id. An earlier version has stored a session without a sign-in.
        guard session.principal == nil, let signIn = stored.signIn.id, signIn != session.signIn.id else {
            return .renewed(stored)
        }
        // If the session of the store could not be saved, another process may have renewed the one before it.
        return session.signIn.id != nil && signIn == former?.signIn.id ? nil : .replaced(stored)
    }
}

extension Session {
    /// Returns the session with its sign-in: that of the stored session with the same tokens, or otherwise a new one.
    func ofSignIn(of stored: Session?) -> Session {
        guard signIn.id == nil else { return self }
        guard let stored, stored.hasTokens(of: self) else { return signingIn() }
        var session = self
        session.signIn = stored.signIn
        return session
    }

    fileprivate func hasTokens(of other: Session) -> Bool {
        accessToken == other.accessToken && refreshToken == other.refreshToken
    }
}
