import Logging
import NetworkingCore
import Synchronization

/// Stores the sessions of several users, so that they need not sign in again.
///
/// Use ``InMemorySessionStorage`` or ``FileSessionStorage``, or `KeychainSessionStorage` on Apple's platforms. A
/// ``TokenStore`` calls its storage once for each change, in order, and waits for each call. If two threads change a
/// store at the same time, one of them passes both changes to the storage. A call should therefore be short. A call may
/// use that store; a change that it makes is stored after the call.
///
/// A storage that several processes use also conforms to ``SharedSessionStorage``, so that one of them refreshes a
/// session for all.
public protocol SessionStorage: Sendable {
    /// Returns the session of a user; `nil` if there is none.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The session.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func session(for userID: String) throws -> Session?

    /// Stores a session and replaces the previous session of its user.
    ///
    /// - Parameter session: The session.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func save(_ session: Session) throws

    /// Removes the session of a user, if there is one.
    ///
    /// - Parameter userID: The id of the user.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func removeSession(for userID: String) throws

    /// Returns the IDs of the users with stored sessions.
    ///
    /// - Returns: The IDs, in order.
    /// - Throws: ``SessionStorageError``, or an error that the storage defines.
    func userIDs() throws -> [String]

    /// Removes the sessions of all users.
    ///
    /// By default, it removes the session of each of the ``userIDs()``. If a session cannot be removed, the others are
    /// removed nevertheless.
    ///
    /// A ``TokenStore`` keeps the credentials that it has. Call its ``TokenStore/remove()`` to sign out, too.
    ///
    /// - Throws: ``SessionStorageError``, or an error that the storage defines: the first one that occurs.
    func removeAll() throws
}

extension SessionStorage {
    /// Removes the session of each user.
    public func removeAll() throws {
        try removeSessions(of: try userIDs())
    }

    /// Removes the sessions of some users, and throws the first error when it has tried all.
    func removeSessions(of userIDs: some Sequence<String>) throws {
        var failure: (any Error)?
        for userID in userIDs {
            do {
                try removeSession(for: userID)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// The session of a user, read without throwing.
    ///
    /// ```swift
    /// let isSignedIn = storage["emily"] != nil
    /// ```
    ///
    /// An error is logged, and the result is the same as without a session. Call ``session(for:)`` to handle errors.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The session; `nil` if there is none, or if it cannot be read.
    public subscript(userID: String) -> Session? {
        do {
            return try session(for: userID)
        } catch {
            logStorageFailure(error)
            return nil
        }
    }
}

@Sendable
private func logStorageFailure(_ error: any Error) {
    // The description of an unknown error may contain a secret.
    let reason = (error as? SessionStorageError)?.description ?? "\(type(of: error))"
    NetworkEnvironment.current.logger.error("A session could not be read or stored: \(reason)")
}

/// Stores sessions in memory until the process ends.
public final class InMemorySessionStorage: SessionStorage {
    private let sessions = Mutex<[String: Session]>([:])

    /// Creates an empty storage.
    public init() {}

    /// Returns the session of a user.
    public func session(for userID: String) -> Session? {
        sessions.withLock { $0[userID] }
    }

    /// Stores a session.
    public func save(_ session: Session) {
        sessions.withLock { $0[session.userID ?? ""] = session }
    }

    /// Removes the session of a user.
    public func removeSession(for userID: String) {
        sessions.withLock { $0[userID] = nil }
    }

    /// Returns the IDs of the users with stored sessions.
    public func userIDs() -> [String] {
        sessions.withLock { $0.keys.sorted() }
    }

    /// Removes the sessions of all users.
    public func removeAll() {
        sessions.withLock { $0.removeAll() }
    }
}

extension TokenStore where Credentials == Session {
    /// Creates a store that saves its session in a storage.
    ///
    /// ```swift
    /// let storage = FileSessionStorage(directory: folder)
    /// let tokens = TokenStore(try storage.session(for: "emily"), in: storage, delegate: Login())
    /// ```
    ///
    /// Sessions are saved when they are set or renewed, and deleted when they are removed. If a session cannot be
    /// saved, the store still uses it, and the error is passed to `onStorageFailure`.
    ///
    /// If the storage is a ``SharedSessionStorage``, a refresh first waits for its lock and reads the stored session
    /// again. A session that another process has renewed is used instead of a refresh, and a session that another
    /// process has removed is removed here, too. The wait counts towards `timeout`. If the storage cannot be locked,
    /// the refresh continues without the lock, and the error is passed to `onStorageFailure`.
    ///
    /// - Parameters:
    ///   - session: The initial session; `nil` if no user is signed in.
    ///   - storage: The storage of the session.
    ///   - delegate: The delegate that renews the session.
    ///   - leeway: The time before expiry at which the session is refreshed in the background, unless it has a
    ///     ``Session/refreshWindow``; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    ///   - onStorageFailure: Receives the errors of changes that could not be stored; `nil` logs them as errors.
    public convenience init(
        _ session: Session?,
        in storage: any SessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        let onFailure = onStorageFailure ?? logStorageFailure
        var stored: Session?
        if let session, storage is any SharedSessionStorage {
            do {
                stored = try storage.session(for: session.userID ?? "")
            } catch {
                onFailure(error)
            }
        }
        self.init(
            session?.ofSignIn(of: stored),
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            storage: CredentialStorage(storage, with: stored, onFailure: onFailure)
        )
    }

    /// Creates a store with the session that a storage has for a user.
    ///
    /// ```swift
    /// let tokens = TokenStore(for: "emily", in: storage, delegate: Login())
    /// ```
    ///
    /// It reads the session and does not throw: if the session cannot be read, no user is signed in, and the error is
    /// passed to `onStorageFailure`. Otherwise it works like
    /// ``init(_:in:delegate:leeway:timeout:limit:onStorageFailure:)``.
    ///
    /// - Parameters:
    ///   - userID: The id of the user; empty for a session without an id.
    ///   - storage: The storage of the session.
    ///   - delegate: The delegate that renews the session.
    ///   - leeway: The time before expiry at which the session is refreshed in the background, unless it has a
    ///     ``Session/refreshWindow``; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: The maximum number of unsuccessful refreshes in an interval; five within 30 seconds by default.
    ///   - onStorageFailure: Receives the errors of sessions that could not be read or stored; `nil` logs them as
    ///     errors.
    public convenience init(
        for userID: String,
        in storage: any SessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        let onFailure = onStorageFailure ?? logStorageFailure
        var session: Session?
        do {
            session = try storage.session(for: userID)
        } catch {
            onFailure(error)
        }
        self.init(
            session,
            in: storage,
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            onStorageFailure: onFailure
        )
    }
}

/// Stores the changes of a token store, one after the other.
struct CredentialStorage<Credentials: AuthenticatingCredentials>: Sendable {
    let store: @Sendable (CredentialChange<Credentials>, _ before: Credentials?) throws -> Void
    /// Receives the errors of changes that could not be stored.
    let onFailure: @Sendable (any Error) -> Void
    /// The part that other processes also use; `nil` if the storage is not a ``SharedSessionStorage``.
    let shared: SharedCredentials<Credentials>?
}

extension CredentialStorage where Credentials == Session {
    fileprivate init(
        _ storage: any SessionStorage,
        with stored: Session?,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        let known = KnownSession(stored)
        self.onFailure = onFailure
        shared = (storage as? any SharedSessionStorage).map { SharedCredentials($0, known) }
        store = { change, before in
            let old = before?.userID ?? ""
            switch change {
            case .set(let session):
                try storage.save(session)
                known.note(change)
            case .refreshed(let session):
                try storage.save(session)
                known.note(change)
                // The session belongs to the same user, but the user's ID was not known before.
                if before != nil, session.userID ?? "" != old {
                    try storage.removeSession(for: old)
                }
            case .removed:
                known.note(change)
                try storage.removeSession(for: old)
            }
        }
    }
}
