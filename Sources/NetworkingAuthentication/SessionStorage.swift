import Logging
import NetworkingCore
import Synchronization

/// Keeps the sessions of several users, so that they need not sign in again.
///
/// ``InMemorySessionStorage`` and ``FileSessionStorage`` are there, and on Apple's platforms `KeychainSessionStorage`.
/// A ``TokenStore`` calls it in the order of the changes, one at a time, and waits for it; so it should not take long,
/// and must not call that store.
///
/// A storage that several processes use also conforms to ``SharedSessionStorage``, so that one of them refreshes a
/// session for all.
public protocol SessionStorage: Sendable {
    /// The session of a user; nil when there is none.
    ///
    /// - Parameter userID: The id of the user; an empty one for a session without.
    /// - Returns: The session.
    /// - Throws: ``SessionStorageError``, or an error of the storage's own.
    func session(for userID: String) throws -> Session?

    /// Keeps a session, in place of the one that its user had.
    ///
    /// - Parameter session: The session.
    /// - Throws: ``SessionStorageError``, or an error of the storage's own.
    func save(_ session: Session) throws

    /// Forgets the session of a user, if there is one.
    ///
    /// - Parameter userID: The id of the user.
    /// - Throws: ``SessionStorageError``, or an error of the storage's own.
    func removeSession(for userID: String) throws

    /// The users who have sessions.
    ///
    /// - Returns: Their ids, in order.
    /// - Throws: ``SessionStorageError``, or an error of the storage's own.
    func userIDs() throws -> [String]
}

/// Keeps sessions for as long as the process runs.
public final class InMemorySessionStorage: SessionStorage {
    private let sessions = Mutex<[String: Session]>([:])

    /// Creates an empty storage.
    public init() {}

    /// The session of a user.
    public func session(for userID: String) -> Session? {
        sessions.withLock { $0[userID] }
    }

    /// Keeps a session.
    public func save(_ session: Session) {
        sessions.withLock { $0[session.userID ?? ""] = session }
    }

    /// Forgets a session.
    public func removeSession(for userID: String) {
        sessions.withLock { $0[userID] = nil }
    }

    /// The users who have sessions.
    public func userIDs() -> [String] {
        sessions.withLock { $0.keys.sorted() }
    }
}

extension TokenStore where Credentials == Session {
    /// Creates a store whose session is kept.
    ///
    /// ```swift
    /// let storage = FileSessionStorage(directory: folder)
    /// let tokens = TokenStore(try storage.session(for: "emily"), in: storage, delegate: Login())
    /// ```
    ///
    /// Sessions are saved when they are set and renewed, and forgotten when they are removed. What cannot be saved is
    /// used all the same, and told to `onStorageFailure`.
    ///
    /// If the storage is a ``SharedSessionStorage``, a refresh first waits for its lock and reads the stored session
    /// again. A session that another process has renewed is used instead of a refresh, and a session that another
    /// process has removed is removed here, too. The wait counts towards `timeout`. If the storage cannot be locked,
    /// the refresh continues without the lock, and the error is passed to `onStorageFailure`.
    ///
    /// - Parameters:
    ///   - session: The session to begin with; nil when nobody is signed in.
    ///   - storage: Where it is kept.
    ///   - delegate: Renews it.
    ///   - leeway: How long before the session expires it is refreshed in the background; 30 seconds by default.
    ///   - timeout: The time limit for one refresh; 60 seconds by default.
    ///   - limit: How many refreshes may follow each other without the server accepting their sessions; five within 30
    ///     seconds by default.
    ///   - onStorageFailure: Hears of what could not be saved or forgotten; nil logs it as an error.
    public convenience init(
        _ session: Session?,
        in storage: any SessionStorage,
        delegate: (any AuthenticationDelegate<Session>)? = nil,
        leeway: Duration = .seconds(30),
        timeout: Duration = .seconds(60),
        limit: RefreshLimit = .standard,
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        self.init(
            session,
            delegate: delegate,
            leeway: leeway,
            timeout: timeout,
            limit: limit,
            storage: CredentialStorage(storage, with: session, onFailure: onStorageFailure ?? Self.logFailure)
        )
    }

    @Sendable
    private static func logFailure(_ error: any Error) {
        // What other people's errors say may be a secret.
        let reason = (error as? SessionStorageError)?.description ?? "\(type(of: error))"
        NetworkEnvironment.current.logger.error("A session could not be stored: \(reason)")
    }
}

/// What a store does with each change, one after the other.
struct CredentialStorage<Credentials: AuthenticatingCredentials>: Sendable {
    let store: @Sendable (CredentialChange<Credentials>, _ before: Credentials?) throws -> Void
    /// Hears of what could not be stored, when the store is free again.
    let onFailure: @Sendable (any Error) -> Void
    /// The part that other processes use too; `nil` if the storage is no ``SharedSessionStorage``.
    let shared: SharedCredentials<Credentials>?
}

extension CredentialStorage where Credentials == Session {
    fileprivate init(
        _ storage: any SessionStorage,
        with session: Session?,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        let known = KnownTokens()
        self.onFailure = onFailure
        shared = (storage as? any SharedSessionStorage)
            .map { storage in
                if let session {
                    do {
                        known.note(try storage.session(for: session.userID ?? ""))
                    } catch {
                        onFailure(error)
                    }
                }
                return SharedCredentials(storage, known)
            }
        store = { change, before in
            let old = before?.userID ?? ""
            switch change {
            case .set(let session):
                try storage.save(session)
                known.note(change)
            case .refreshed(let session):
                try storage.save(session)
                known.note(change)
                // The same user, whose id was not known before.
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
