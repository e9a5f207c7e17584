package import NetworkingCore

/// A file that is used only for its lock, and is removed with it.
package struct LockFile: Sendable {
    // Short compared with the round trip of a refresh.
    private static let interval = Duration.milliseconds(20)

    private let file: OpenFile
    private let path: String

    /// Tries to take the lock of a session, and creates the directory of the file if there is none.
    ///
    /// - Throws: ``SessionStorageError`` if the file cannot be created, and `CancellationError` if the caller is
    ///   cancelled.
    package static func lockSession(at path: String) async throws -> SessionLockOutcome {
        do {
            // A lock that no caller waits for any more is released at once.
            let lock = try await DiskQueue.run(until: nil) {
                if let directory = PrivateFile.parent(of: path) { try PrivateFile.makeDirectory(directory) }
                return try take(path).map { file in SessionLock { file.release() } }
            }
            return lock.map { .acquired($0) } ?? .held(retryAfter: interval)
        } catch let fault as FileFault {
            throw SessionStorageError.unusable(reason: "The session could not be locked. \(fault.reason)")
        }
    }

    /// Takes the lock of a file; `nil` if another holder has it.
    package static func take(_ path: String) throws(FileFault) -> LockFile? {
        // A holder removes the file when it releases the lock, so the opened file may be gone once it is locked.
        for _ in 0..<100 {
            let file = try OpenFile(continuing: path)
            guard try file.lock() else { return nil }
            if file.isUnderItsName { return LockFile(file: file, path: path) }
        }
        return nil
    }

    package func release() {
        // Removed while it is locked, so that the file of another holder is never removed.
        if file.isUnderItsName {
            file.removeName()
        }
        file.unlock()
    }
}
