#if SQLite
public import Foundation
import GRDB
public import NetworkingAuthentication
import NetworkingCore

/// Stores sessions in an SQLite database that only the current user of the machine can read.
///
/// ```swift
/// let storage = SQLiteSessionStorage(file: folder.appending(path: "sessions.sqlite"))
/// let tokens = try await TokenStore(for: "emily", sharing: storage, delegate: Login())
/// ```
///
/// Each user has a row, so one file can have the sessions of many users. Several processes of one machine may use it:
/// one of them refreshes a session for all. The lock is an advisory lock of the system (`flock`) on a file next to the
/// database, and ends with the process. A new session is stored in one transaction, unless another process has changed
/// the stored one. Each change is on the disk when it returns. Replaced and removed sessions are overwritten. The file
/// is not encrypted.
///
/// The file is created when it is first used. A damaged row is removed and reported once with
/// `SessionStorageError.unusable(reason:)`; its user has to sign in again. A damaged file is renamed, reported once
/// with `SessionStorageError.damaged(movedTo:)`, and replaced by an empty one. The last two damaged files are kept.
public final class SQLiteSessionStorage: SharedSessionStorage {
    /// The file of the database; SQLite and the storage create other files with names that start with its name.
    public var file: URL {
        database.file
    }

    let database: DatabaseHandle<DatabaseFile, SessionStorageError>

    /// Creates a storage.
    ///
    /// - Parameter file: The file, which is created with its directory when the storage is first used.
    public convenience init(file: URL) {
        self.init(file: file, settings: Self.settings)
    }

    static let settings = DatabaseFile.Settings(label: "SQLiteSessionStorage", schema: .sessions, isDurable: true)

    init(file: URL, settings: DatabaseFile.Settings) {
        database = DatabaseHandle(file: file, settings: settings, failure: SessionStorageError.init) { location in
            try DatabaseFile(at: location, settings)
        }
    }

    // MARK: Sessions

    /// Returns the session of a user; `nil` if there is none.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The session.
    /// - Throws: `SessionStorageError`.
    public func session(for userID: String) async throws -> Session? {
        let row = try await database.using { file in try await file.perform { try Row($0, of: userID) } }
        guard let row else { return nil }
        if let session = row.session { return session }
        try await change { _ = try $0.run(SessionSQL.remove, [Data(userID.utf8)]) }
        throw SessionStorageError.unusable(
            reason: "A session in \(file.path) was damaged and was removed. Sign in again."
        )
    }

    /// Stores a session and replaces the previous session of its user.
    ///
    /// - Parameter session: The session.
    /// - Throws: `SessionStorageError`.
    public func save(_ session: Session) async throws {
        let row = try Row(session)
        try await change { try row.write(to: $0) }
    }

    /// Stores a refreshed session in one transaction, unless the stored one has changed or the lock was released.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - old: The session that the holder has read; `nil` if there was none.
    ///   - lock: The lock of the same user.
    /// - Returns: Whether the session is stored.
    /// - Throws: `SessionStorageError`.
    public func save(_ session: Session, replacing old: Session?, under lock: SessionLock) async throws -> Bool {
        let row = try Row(session)
        return try await change { db in
            let stored = try Row(db, of: session.userID ?? "")?.session
            // The work runs again if the file was replaced meanwhile.
            guard stored != session else { return true }
            guard stored == old else { return false }
            try row.write(to: db)
            return true
        }
    }

    /// Removes the session of a user.
    ///
    /// - Parameter userID: The id of the user.
    /// - Throws: `SessionStorageError`.
    public func removeSession(for userID: String) async throws {
        try await change { _ = try $0.run(SessionSQL.remove, [Data(userID.utf8)]) }
    }

    /// Returns the IDs of the users with stored sessions, in order.
    ///
    /// - Returns: The IDs.
    /// - Throws: `SessionStorageError`.
    public func userIDs() async throws -> [String] {
        try await database.using { file in
            try await file.perform { db in
                var users: [String] = []
                try db.forEachRow(SessionSQL.users) { row in
                    if let user = row.bytes(0, { String(validating: $0, as: UTF8.self) }) {
                        users.append(user)
                    }
                }
                return users
            }
        }
    }

    /// Removes the sessions of all users.
    ///
    /// - Throws: `SessionStorageError`.
    public func removeAll() async throws {
        try await change { _ = try $0.run(SessionSQL.removeAll, []) }
    }

    /// Runs one transaction on the file that is in place.
    private func change<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(SessionStorageError) -> Value {
        try await database.using { file in
            let value = try await file.perform { db in
                let value = try file.transaction(db, work)
                // Replaced tokens must not stay in the log.
                file.emptyLog(db, waiting: .zero)
                return value
            }
            // Otherwise another process has replaced the file meanwhile, and the work is repeated with the new one.
            guard file.isInPlace else { throw DatabaseSchema.Mismatch.changed }
            return value
        }
    }

    // MARK: The lock

    /// Tries to take the lock of a user's session, which ends with the process.
    ///
    /// - Parameters:
    ///   - userID: The id of the user.
    ///   - lease: Not used, because the system releases the lock.
    /// - Returns: The lock, or when to try again.
    /// - Throws: `SessionStorageError` if the file of the lock cannot be created, and `CancellationError` if the caller
    ///   is cancelled.
    public func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
        // Creates the directory.
        try await database.using { _ in }
        return try await LockFile.lockSession(at: "\(file.path)-lock-\(StableDigest.hex(of: [userID]))")
    }
}

/// A row of the table, which may be damaged.
private struct Row: Sendable {
    private let user: [UInt8]
    private var checksum: Int64
    private var data = Data()

    init(_ session: Session) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        (user, data) = (Array((session.userID ?? "").utf8), try encoder.encode(session))
        checksum = Self.checksum(user, data)
    }

    init?(_ db: Database, of userID: String) throws {
        (user, checksum) = (Array(userID.utf8), 0)
        var isFound = false
        try db.forEachRow(SessionSQL.session, .bytes(user)) { row in
            isFound = true
            checksum = row.integer(0)
            data = row.bytes(1) { Data($0) }
        }
        guard isFound else { return nil }
    }

    /// The session; `nil` if it is damaged.
    var session: Session? {
        guard checksum == Self.checksum(user, data),
            let session = try? JSONDecoder().decode(Session.self, from: data),
            (session.userID ?? "").utf8.elementsEqual(user)
        else { return nil }
        return session
    }

    func write(to db: Database) throws {
        try db.run(SessionSQL.set, [checksum, Data(user), data])
    }

    private static func checksum(_ user: [UInt8], _ data: Data) -> Int64 {
        user.withUnsafeBytes { user in data.withUnsafeBytes { Checksum.value(of: [user, $0]) } }
    }
}

extension SessionStorageError {
    fileprivate init(_ fault: DatabaseFault, _ file: URL) {
        self =
            if case .damage(let moved?) = fault {
                .damaged(movedTo: moved)
            } else {
                .unusable(reason: fault.reason(file, store: "session storage"))
            }
    }
}
#endif
