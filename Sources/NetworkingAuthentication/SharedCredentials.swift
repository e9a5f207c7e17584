import NetworkingCore
import Synchronization

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

        /// Whether the credentials of the other process have to be refreshed themselves.
        var isExpired: Bool {
            if case .renewed(let credentials) = self { credentials.isExpired } else { false }
        }
    }

    /// What the storage contains.
    struct Reading {
        let stored: Credentials?
        /// The change by other processes since this one last saved or adopted credentials; `nil` if there is none.
        let change: Change?
        /// The lock under which the storage was read; `nil` if another holder has it.
        var lock: SessionLock?
    }

    let lock: @Sendable (_ userID: String, _ lease: Duration) async throws -> SessionLockOutcome
    /// Reads the storage.
    let read: @Sendable (_ userID: String, Credentials?) async throws -> Reading
    /// Records a change that the storage has already and that the store has adopted.
    let takeOver: @Sendable (CredentialChange<Credentials>) -> Void
    /// The part of a storage that stores changes in the background; `nil` if it stores them at once.
    let background: Background?

    /// A storage that takes its time.
    struct Background: Sendable {
        /// The user whose session is the first one if no user is signed in.
        let firstUserID: String
        let changes: StorageQueue
        /// Replaces the credentials of a reading, unless others have changed them or hold the lock.
        let replaceNow: @Sendable (_ old: Credentials?, _ new: Credentials, SessionLock) async throws -> Bool

        /// Replaces the credentials of a reading after all changes so far.
        ///
        /// It is not a part of the refresh, which may be cancelled when its new tokens are the only valid ones.
        func replace(_ old: Credentials?, _ new: Credentials, _ lock: SessionLock) async throws -> Bool {
            try await changes.run { try await replaceNow(old, new, lock) }
        }
    }
}

extension SharedCredentials where Credentials == Session {
    /// Creates the operations on a storage that is also synchronous, and is read on a thread for the disk.
    init(_ storage: any SharedSessionStorage & SessionStorage, _ known: KnownSession) {
        self.init(storage, known, background: nil, signOuts: SignOuts()) { userID in
            try await DiskQueue.run(until: nil) { try (storage as any SessionStorage).session(for: userID) }
        }
    }

    /// Creates the operations on an asynchronous storage.
    init(
        _ storage: any SharedSessionStorage,
        _ known: KnownSession,
        startingWith firstUserID: String,
        _ changes: StorageQueue,
        _ signOuts: SignOuts
    ) {
        let background = Background(firstUserID: firstUserID, changes: changes) { old, new, lock in
            try await storage.save(new, replacing: old, under: lock)
        }
        self.init(storage, known, background: background, signOuts: signOuts) { try await storage.session(for: $0) }
    }

    private init(
        _ storage: any SharedSessionStorage,
        _ known: KnownSession,
        background: Background?,
        signOuts: SignOuts,
        session: @escaping @Sendable (String) async throws -> Session?
    ) {
        lock = { userID, lease in
            try await signOuts.carryOut(in: storage)
            return try await storage.lockSession(for: userID, lease: lease)
        }
        read = { userID, current in
            let stored = try await session(userID)
            return Reading(stored: stored, change: known.change(to: stored, from: current))
        }
        takeOver = { known.note($0) }
        self.background = background
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
    fileprivate func change(to stored: Session?, from session: Session?) -> SharedCredentials<Session>.Change? {
        let former = state.withLock { $0 }
        guard let stored else { return former == nil ? nil : .removed }
        guard let session else { return .renewed(stored) }
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
