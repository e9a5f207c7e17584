#if SQLite
import CLibraryForNetworking
import Foundation
import NetworkingCore

/// The paths of a store's files: the database, its write-ahead log with an index, and a lock.
struct DatabaseLocation: Sendable {
    let path: String
    /// Whether new files survive a loss of power.
    var isDurable = false

    /// The identity of a file; a file that replaces it has another one.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    private static let logs = ["-wal", "-shm"]
    /// The maximum number of damaged files that are kept; each may be as large as the store.
    private static let maximumSetAside = 2

    /// Returns the identity of the file that is in place now; `nil` if there is none.
    ///
    /// The file is not opened: closing it would release SQLite's locks on it, which belong to the process.
    func identity() throws(FileFault) -> Identity? {
        guard let status = try Self.status(of: path) else { return nil }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino))
    }

    /// The length of the write-ahead log in bytes.
    var logLength: Int64 {
        (try? Self.status(of: path + "-wal")).map { Int64($0.st_size) } ?? 0
    }

    /// Creates the directory of the file, unless it exists.
    func prepare() throws(FileFault) {
        guard !path.utf8.contains(0), path.utf8.first == UInt8(ascii: "/"), path.utf8.last != UInt8(ascii: "/") else {
            throw FileFault(path: path, code: EINVAL)
        }
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        if !directory.isEmpty {
            try PrivateFile.makeDirectory(directory, isDurable: isDurable)
        }
    }

    /// Checks the files, and creates an empty database if there is none.
    ///
    /// Only this user may read it.
    ///
    /// SQLite creates its other files with the permissions of the database, and does not follow a link in their place.
    /// The caller must have the lock.
    func prepareFiles() throws(FileFault) {
        for name in [path] + Self.logs.map({ path + $0 }) {
            guard let status = try Self.status(of: name) else { continue }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw FileFault(path: name, code: status.st_mode & S_IFMT == S_IFLNK ? ELOOP : EINVAL)
            }
            if status.st_mode & 0o077 != 0, chmod(name, 0o600) != 0 {
                throw FileFault(path: name, code: errno)
            }
        }
        guard try Self.status(of: path) == nil else { return }
        // A log without its database belongs to a database that was removed.
        for suffix in Self.logs {
            try PrivateFile.remove(path + suffix)
        }
        _ = try OpenFile(creating: path)
        if isDurable {
            try PrivateFile.synchronizeDirectory(of: path)
        }
    }

    /// Moves the files to another name.
    ///
    /// The caller must have the lock.
    ///
    /// - Returns: The new path of the database.
    func setAside() throws(FileFault) -> String {
        let numbers = try setAsideNumbers()
        let number = (numbers.last ?? 0) + 1
        for old in numbers.dropLast(Self.maximumSetAside - 1) {
            for suffix in [""] + Self.logs {
                try PrivateFile.remove(name(setAside: old) + suffix)
            }
        }
        let name = name(setAside: number)
        // The log is moved first. A database without its log is only older, but one with the log of another database
        // would be damaged.
        for suffix in Self.logs + [""] where try Self.status(of: path + suffix) != nil {
            try PrivateFile.move(path + suffix, to: name + suffix)
        }
        return name
    }

    /// Removes the files.
    ///
    /// The caller must have the lock.
    func removeFiles() throws(FileFault) {
        // If the process ends before the log is removed, the next opening removes it.
        for suffix in [""] + Self.logs {
            try PrivateFile.remove(path + suffix)
        }
    }

    /// Runs work while no other process and no other store opens or moves the files.
    func locked<Value>(patience: Duration, _ work: () throws -> Value) throws -> Value {
        let file = try lock(patience: patience)
        // The system also releases the lock when the process ends.
        defer { file.unlock() }
        return try work()
    }

    /// Locks a separate file, which is never moved.
    ///
    /// An open database does not need the lock.
    private func lock(patience: Duration) throws -> OpenFile {
        let file = try OpenFile(continuing: path + "-lock")
        let end = ContinuousClock.now + patience
        while try !file.lock() {
            guard ContinuousClock.now < end else { throw FileFault(path: path + "-lock", code: EWOULDBLOCK) }
            // This blocks only the store's own thread. A blocking flock would have no time limit.
            usleep(2000)
        }
        return file
    }

    /// The numbers of the damaged files, in order.
    ///
    /// - Throws: An error if the directory cannot be read. Otherwise a damaged file could replace an earlier one.
    func setAsideNumbers() throws(FileFault) -> [Int] {
        let file = URL(fileURLWithPath: path)
        let directory = file.deletingLastPathComponent().path
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw .unreadable(directory)
        }
        let prefix = "\(file.lastPathComponent).damaged-"
        return
            names
            .compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }
            .filter { (1..<Int.max).contains($0) }
            .sorted()
    }

    private func name(setAside number: Int) -> String {
        "\(path).damaged-\(number)"
    }

    /// Returns the status of a file; `nil` if there is none.
    ///
    /// A file whose status cannot be read exists. If it passed for an absent one, its log would be removed.
    private static func status(of path: String) throws(FileFault) -> stat? {
        var status = stat()
        guard lstat(path, &status) != 0 else { return status }
        let fault = FileFault(path: path, code: errno)
        guard fault.isAbsence else { throw fault }
        return nil
    }
}
#endif
