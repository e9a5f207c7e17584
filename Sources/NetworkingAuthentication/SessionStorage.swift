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
/// session for all. A storage behind a network conforms only to that.
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
func logStorageFailure(_ error: any Error) {
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
