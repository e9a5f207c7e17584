public import FoundationForNetworking
public import NetworkingCore

/// Stores the session of each user in a file that only the current account of the machine can read.
///
/// A new version of a file is written to disk (`fsync`) before it replaces the old one, so that a crash leaves one of
/// the two intact. A file that contains no valid session is renamed when it is read. That read throws
/// ``SessionStorageError/damaged(movedTo:)``, and the next one returns `nil`.
///
/// Several processes may use one directory. While one of them refreshes a session, the others wait for its lock. The
/// lock is an advisory lock of the system (`flock`) on a file next to the session's file, and ends with the process.
/// File systems without such locks provide none.
///
/// The files are not encrypted; on Apple's platforms, prefer the Keychain.
public struct FileSessionStorage: SessionStorage, SharedSessionStorage {
    /// The directory of the files.
    public let directory: URL

    /// Creates a storage.
    ///
    /// - Parameter directory: The directory of the files. It is created when the first session is saved.
    public init(directory: URL) {
        self.directory = directory
    }

    /// Returns the session of a user.
    ///
    /// - Parameter userID: The id of the user; empty for a session without an id.
    /// - Returns: The session; `nil` if there is none.
    /// - Throws: ``SessionStorageError``.
    public func session(for userID: String) throws -> Session? {
        let file = try file(for: userID)
        let data: Data
        do {
            data = try PrivateFile.read(file.path, upTo: Self.sizeLimit)
        } catch {
            if error.isAbsence { return nil }
            throw SessionStorageError.unusable(reason: error.reason)
        }
        // A session of another user is never returned, no matter how its file got this name.
        if let session = try? JSONDecoder().decode(Session.self, from: data), session.userID ?? "" == userID {
            return session
        }
        let aside = directory.appending(path: "\(file.lastPathComponent).damaged-\(UUID().uuidString)")
        do {
            try PrivateFile.move(file.path, to: aside.path)
        } catch {
            throw SessionStorageError.unusable(reason: error.reason)
        }
        throw SessionStorageError.damaged(movedTo: aside)
    }

    /// Stores a session.
    ///
    /// - Parameter session: The session.
    /// - Throws: ``SessionStorageError``.
    public func save(_ session: Session) throws {
        let file = try file(for: session.userID ?? "")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(session)
        do {
            try PrivateFile.makeDirectory(directory.path)
            try PrivateFile.replace(file.path, with: data)
        } catch {
            throw SessionStorageError.unusable(reason: error.reason)
        }
    }

    /// Removes the session of a user.
    ///
    /// - Parameter userID: The id of the user.
    /// - Throws: ``SessionStorageError``.
    public func removeSession(for userID: String) throws {
        let file = try file(for: userID)
        do {
            try PrivateFile.remove(file.path)
            // Files that a crash or a damaged session has left.
            for name in (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
            where name.hasPrefix("\(file.lastPathComponent).") {
                let path = directory.appending(path: name).path
                if path == lockPath(of: file) {
                    // Another process may hold the lock of the file; without the file, the lock would no longer exclude
                    // other processes.
                    _ = try? LockFile.take(path)?.release()
                } else {
                    try PrivateFile.remove(path)
                }
            }
        } catch {
            throw SessionStorageError.unusable(reason: error.reason)
        }
    }

    /// Returns the IDs of the users with stored sessions, in order.
    ///
    /// - Returns: The IDs.
    /// - Throws: ``SessionStorageError/unusable(reason:)`` if the directory cannot be read.
    public func userIDs() throws -> [String] {
        try fileNames().compactMap { Self.userID(of: $0) }.sorted()
    }

    /// Removes the sessions of all users, and the files of damaged sessions.
    ///
    /// - Throws: ``SessionStorageError``.
    public func removeAll() throws {
        // A damaged session may be the only file that is left of its user.
        let users = try fileNames()
            .compactMap { name in
                name.firstRange(of: Self.suffix).flatMap { Self.userID(of: String(name[..<$0.upperBound])) }
            }
        try removeSessions(of: Set(users))
    }

    private func fileNames() throws -> [String] {
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path)
        } catch {
            throw SessionStorageError.unusable(reason: "The directory \(directory.path) could not be read.")
        }
    }

    /// Tries to take the lock of a user's session, which ends with the process.
    ///
    /// A store tries every 20 milliseconds of the environment's clock, and blocks no thread in between.
    ///
    /// - Parameters:
    ///   - userID: The id of the user.
    ///   - lease: Not used, because the system releases the lock.
    /// - Returns: The lock, or when to try again.
    /// - Throws: ``SessionStorageError`` if the file of the lock cannot be created, and `CancellationError` if the
    ///   caller is cancelled.
    public func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
        try await LockFile.lockSession(at: lockPath(of: try file(for: userID)))
    }

    // MARK: File names

    // A session has a few kilobytes; a larger file is not a session.
    private static let sizeLimit = 1 << 20
    private static let prefix = "session-"
    private static let suffix = ".json"

    private func file(for userID: String) throws -> URL {
        let name = Self.prefix + PercentEncoding.fileName.encode(userID) + Self.suffix
        guard name.utf8.count <= 255 - 48 else {
            throw SessionStorageError.unusable(reason: "The id of the user is too long for the name of a file.")
        }
        return directory.appending(path: name)
    }

    private func lockPath(of file: URL) -> String {
        "\(file.path).lock"
    }

    private static func userID(of name: String) -> String? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        return PercentEncoding.decode(name.dropFirst(prefix.count).dropLast(suffix.count))
    }
}

/// The reason why a session could not be read or stored.
public enum SessionStorageError: Error, LocalizedError, ErrorWithUserText, CustomStringConvertible {
    /// The file was moved because it is not a session, and the user has no stored session now.
    case damaged(movedTo: URL)
    /// The file, the directory or the keychain cannot be used.
    case unusable(reason: String)

    /// The error of a refresh whose lock another holder took before the new session was stored.
    static let lockLost = SessionStorageError.unusable(
        reason: "The lock of a session was lost during its refresh, so the new session was not stored. It is used here "
            + "only. Check that no process is suspended for longer than a refresh may take."
    )

    /// Whether a stored session was removed because it could not be read.
    var isDamage: Bool {
        if case .damaged = self { true } else { false }
    }

    /// The error and what to do about it, without secrets.
    public var description: String {
        switch self {
        case .damaged(let file):
            "A stored session could not be read and was moved to \(file.path). Sign in again, and remove that file."
        case .unusable(let reason):
            reason
        }
    }

    package var userText: UserText {
        switch self {
        case .damaged:
            UserText(
                key: "session.damaged",
                description: "The saved sign-in could not be read.",
                reason: "The file of the sign-in is damaged.",
                suggestion: "Sign in again."
            )
        case .unusable:
            UserText(
                key: "session.unusable",
                description: "The sign-in could not be read or saved.",
                reason: "The place where sign-ins are saved is protected, full or cannot be reached.",
                suggestion: "Check the free space and the connection and try again."
            )
        }
    }
}
