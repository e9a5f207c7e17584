#if SQLite
import Foundation
import Networking

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// Where a store's files are: the database, its write-ahead log with an index, and a lock.
struct CacheLocation: Sendable {
    let path: String

    /// What tells the file from another that took its place.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    private static let logs = ["-wal", "-shm"]
    /// Older ones are removed; each may be as large as the store.
    private static let maximumSetAside = 2

    /// The file that is there now; nil without one.
    ///
    /// It is only looked at: closing a file that was opened here would end SQLite's locks on it, which belong to the
    /// process.
    var identity: Identity? {
        Self.status(of: path).map { Identity(device: UInt64(truncatingIfNeeded: $0.st_dev), inode: UInt64($0.st_ino)) }
    }

    /// The length of the write-ahead log in bytes.
    var logLength: Int64 {
        Self.status(of: path + "-wal").map { Int64($0.st_size) } ?? 0
    }

    /// Makes the directory, and an empty file unless there is one, which only this user may read.
    ///
    /// SQLite gives its other files the permissions of this one, and does not follow a link in their place.
    func prepare() throws(FileFault) {
        guard !path.utf8.contains(0), path.utf8.first == UInt8(ascii: "/"), path.utf8.last != UInt8(ascii: "/") else {
            throw FileFault(path: path, code: EINVAL)
        }
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        if !directory.isEmpty {
            try PrivateFile.makeDirectory(directory)
        }
    }

    /// The same for the files themselves; to be called with the lock.
    func prepareFiles() throws(FileFault) {
        for name in [path] + Self.logs.map({ path + $0 }) {
            guard let status = Self.status(of: name) else { continue }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw FileFault(path: name, code: status.st_mode & S_IFMT == S_IFLNK ? ELOOP : EINVAL)
            }
            if status.st_mode & 0o077 != 0, chmod(name, 0o600) != 0 {
                throw FileFault(path: name, code: errno)
            }
        }
        guard identity == nil else { return }
        // A log without its database belongs to one that somebody has removed.
        for suffix in Self.logs {
            try PrivateFile.remove(path + suffix)
        }
        _ = try OpenFile(creating: path)
    }

    /// Moves the files to another name; to be called with the lock.
    ///
    /// - Returns: The name of the database.
    func setAside() throws(FileFault) -> String {
        let numbers = setAsideNumbers()
        let number = (numbers.last ?? 0) + 1
        for old in numbers.dropLast(Self.maximumSetAside - 1) {
            for suffix in [""] + Self.logs {
                try PrivateFile.remove(name(setAside: old) + suffix)
            }
        }
        let name = name(setAside: number)
        // The log goes first: a database that was left without it is older, and one that got another's would be
        // damaged.
        for suffix in Self.logs + [""] where Self.status(of: path + suffix) != nil {
            try PrivateFile.move(path + suffix, to: name + suffix)
        }
        return name
    }

    /// Removes the files; to be called with the lock.
    func removeFiles() throws(FileFault) {
        // A log that is left without its database is removed with the next opening.
        for suffix in [""] + Self.logs {
            try PrivateFile.remove(path + suffix)
        }
    }

    /// Does something while no other process and no other store opens or moves the files.
    func locked<Value>(patience: Duration, _ work: () throws -> Value) throws -> Value {
        let descriptor = try lock(patience: patience)
        // The system takes it from a process that ends, too.
        defer { close(descriptor) }
        return try work()
    }

    /// On a file of its own, which is never moved; who has the database open does not need it.
    private func lock(patience: Duration) throws -> CInt {
        let path = path + "-lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw FileFault(path: path, code: errno) }
        let end = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR, ContinuousClock.now < end else {
                close(descriptor)
                throw FileFault(path: path, code: code)
            }
            // On a thread of the store's own; a call that waits could do so without end, for a process that hangs.
            usleep(2000)
        }
        return descriptor
    }

    /// The numbers of those that were set aside, in order.
    func setAsideNumbers() -> [Int] {
        let file = URL(fileURLWithPath: path)
        let prefix = "\(file.lastPathComponent).damaged-"
        let names = try? FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
        return (names ?? []).compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }.sorted()
    }

    private func name(setAside number: Int) -> String {
        "\(path).damaged-\(number)"
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }
}
#endif
