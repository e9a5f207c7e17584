import CLibraryForNetworking
package import FoundationForNetworking

/// An open regular file, which is closed when the last reference to it is released.
///
/// NetworkingCore reads and writes files only through this type, because FoundationEssentials cannot do so in chunks.
package final class OpenFile: Sendable {
    let path: String
    private let descriptor: CInt

    private init(path: String, flags: CInt, mode: mode_t = 0) throws(FileFault) {
        // Does not block on the other end of a pipe, and is not inherited by child processes.
        descriptor = retryingInterrupted { open(path, flags | O_CLOEXEC | O_NONBLOCK, mode) }
        guard descriptor >= 0 else { throw FileFault(path: path, code: errno) }
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Opens a file for reading.
    package convenience init(reading path: String) throws(FileFault) {
        try self.init(path: path, flags: O_RDONLY)
        _ = try snapshot()
    }

    /// Creates a file that only this user may read and opens it for writing; fails if the path exists, even as a link.
    package convenience init(creating path: String) throws(FileFault) {
        try self.init(path: path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    }

    /// Opens a file to continue writing, or creates one that only this user may read; does not follow links.
    package convenience init(continuing path: String) throws(FileFault) {
        try self.init(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        _ = try snapshot()
    }

    /// Locks the file and returns whether the lock was free, in this process and in all others.
    ///
    /// The system releases the lock when the process ends. On a file system without locks the result is always `true`.
    package func lock() throws(FileFault) -> Bool {
        guard retryingInterrupted({ flock(descriptor, LOCK_EX | LOCK_NB) }) != 0 else { return true }
        switch errno {
        case EWOULDBLOCK: return false
        case ENOTSUP, EOPNOTSUPP, ENOLCK, ENOSYS: return true
        default: throw FileFault(path: path, code: errno)
        }
    }

    package func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }

    /// Removes the name of the file, without waiting until the removal is on the disk.
    package func removeName() {
        unlink(path)
    }

    /// Truncates the file to a length.
    package func truncate(to length: Int64) throws(FileFault) {
        guard retryingInterrupted({ ftruncate(descriptor, off_t(length)) }) == 0 else {
            throw FileFault(path: path, code: errno)
        }
    }

    /// Whether the path leads to this file, and not to another one that has replaced it.
    package var isUnderItsName: Bool {
        var (own, named) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, lstat(path, &named) == 0 else { return false }
        return own.st_ino == named.st_ino && own.st_dev == named.st_dev
    }

    /// Whether the file has no other name.
    package var hasOneName: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 1
    }

    /// The number of bytes that this user may still write on the file's volume; `nil` if the system does not report it.
    package var freeBytes: Int64? {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return nil }
        let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflows ? .max : Int64(clamping: bytes)
    }

    /// Returns the state of the file, for comparisons.
    package func snapshot() throws(FileFault) -> FileSnapshot {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFault(path: path, code: errno) }
        return try FileSnapshot(status, path: path)
    }

    /// Reads the next bytes, or the bytes at a position; returns fewer bytes only at the end of the file.
    package func read(upTo count: Int, at position: Int64? = nil) throws(FileFault) -> Data {
        var data = Data(count: count)
        var code: CInt = 0
        var length = 0
        data.withUnsafeMutableBytes { buffer in
            // The system may read only some of the bytes, for example because of a signal.
            while length < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[length...])
                let result = retryingInterrupted {
                    if let position {
                        pread(descriptor, rest.baseAddress, rest.count, off_t(position + Int64(length)))
                    } else {
                        systemRead(descriptor, rest.baseAddress, rest.count)
                    }
                }
                guard result > 0 else {
                    code = result < 0 ? errno : 0
                    return
                }
                length += result
            }
        }
        guard code == 0 else { throw FileFault(path: path, code: code) }
        data.count = length
        return data
    }

    /// Writes bytes after those written before, or at a position.
    package func write(_ data: Data, at position: Int64? = nil) throws(FileFault) {
        var code: CInt = 0
        var written: Int64 = 0
        data.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let bytes = UnsafeRawBufferPointer(rebasing: rest)
                let count = retryingInterrupted {
                    if let position {
                        pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(position + written))
                    } else {
                        systemWrite(descriptor, bytes.baseAddress, bytes.count)
                    }
                }
                guard count > 0 else {
                    code = count == 0 ? ENOSPC : errno
                    return
                }
                written += Int64(count)
                rest = rest.dropFirst(count)
            }
        }
        guard code == 0 else { throw FileFault(path: path, code: code) }
    }

    /// Makes the system start to write bytes to the disk, without waiting for the result.
    ///
    /// Does nothing on Apple's platforms.
    package func beginSynchronizing(_ range: Range<Int64>) {
        #if !canImport(Darwin)
        // On Linux, this advice starts to write dirty pages. If that fails, `synchronize()` throws the error.
        _ = posix_fadvise(descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
        #endif
    }

    /// Returns when the written bytes are on the disk.
    package func synchronize() throws(FileFault) {
        #if canImport(Darwin)
        // On Darwin, fsync(2) leaves the bytes in the memory of the device. Some file systems support only that.
        if retryingInterrupted({ fcntl(descriptor, F_FULLFSYNC) }) == 0 { return }
        #endif
        guard retryingInterrupted({ fsync(descriptor) }) == 0 else { throw FileFault(path: path, code: errno) }
    }
}

/// The state of a regular file, for comparisons.
package struct FileSnapshot: Sendable, Equatable {
    package let size: Int64
    private let inode: UInt64
    private let device: UInt64
    private let seconds: Int64
    private let nanoseconds: Int64

    fileprivate init(_ status: stat, path: String) throws(FileFault) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileFault(path: path, code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        size = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        device = UInt64(truncatingIfNeeded: status.st_dev)
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        (seconds, nanoseconds) = (Int64(time.tv_sec), Int64(time.tv_nsec))
    }

    /// The time of the last modification, which compares as a text.
    package var modification: String {
        "\(seconds).\(nanoseconds)"
    }

    /// Reads the state of a file without opening it.
    package init(of path: String) throws(FileFault) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFault(path: path, code: errno) }
        try self.init(status, path: path)
    }
}

/// The system's error for a file that could not be used.
package struct FileFault: Error, Equatable {
    let path: String
    package let code: CInt

    package init(path: String, code: CInt) {
        self.path = path
        self.code = code
    }

    /// The error for a name that is already in use.
    package static func taken(_ path: String) -> FileFault {
        FileFault(path: path, code: EEXIST)
    }

    /// The error for a file that does not exist.
    package static func absent(_ path: String) -> FileFault {
        FileFault(path: path, code: ENOENT)
    }

    /// The error for a file or directory that this process must not read.
    package static func unreadable(_ path: String) -> FileFault {
        FileFault(path: path, code: EACCES)
    }

    /// The error for a volume that takes too long to write.
    package static func unresponsive(_ path: String) -> FileFault {
        FileFault(path: path, code: ETIMEDOUT)
    }

    /// The failure and a way to solve it.
    package var reason: String {
        let path = PrintableText.singleLine(path)
        return switch code {
        case ENOENT: "There is no file at \(path)."
        case EACCES, EPERM: "This process is not allowed to open the file \(path). Check its permissions."
        case EISDIR: "\(path) is a directory. Name a file in it."
        case EINVAL: "\(path) is not a regular file."
        case ENOSPC, EDQUOT, EFBIG: "There is no space left for \(path). Free some space, or use another volume."
        case ETIMEDOUT: "The volume of \(path) takes too long to write. Use another volume."
        case EEXIST, ELOOP: "Another file already exists at \(path)."
        case EMFILE, ENFILE:
            "The file \(path) could not be opened because too many files are open. Send fewer requests at once."
        default: "The file \(path) could not be used: \(String(cString: strerror(code)))."
        }
    }
}

/// Calls the system until no signal interrupts the call.
func retryingInterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        guard result < 0, errno == EINTR else { return result }
    }
}

// The methods of the same names hide the functions.
private let systemRead = read
private let systemWrite = write
