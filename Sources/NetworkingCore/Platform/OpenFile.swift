#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// A regular file that is open; it is closed when the last reference to it goes.
///
/// One way of reading and writing for all platforms: FoundationEssentials has none that works in chunks.
package final class OpenFile: Sendable {
    let path: String
    private let descriptor: CInt

    private init(path: String, flags: CInt, mode: mode_t = 0) throws(FileFault) {
        // Never waits for the other end of a pipe, and is not handed to child processes.
        descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, mode)
        guard descriptor >= 0 else { throw FileFault(path: path, code: errno) }
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Opens a file to read it.
    package convenience init(reading path: String) throws(FileFault) {
        try self.init(path: path, flags: O_RDONLY)
        _ = try snapshot()
    }

    /// Creates a file that only this user may read, and opens it to write; what is there already is never followed.
    package convenience init(creating path: String) throws(FileFault) {
        try self.init(path: path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    }

    /// Opens a file to go on with it, or creates one that only this user may read; what is a link is never followed.
    package convenience init(continuing path: String) throws(FileFault) {
        try self.init(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        _ = try snapshot()
    }

    /// Takes the file for itself, and answers whether nobody else has it, in this process or another.
    ///
    /// The system lets go of it with the process. A file system that has no locks is taken to be this process's own.
    package func lock() throws(FileFault) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            case ENOTSUP, EOPNOTSUPP, ENOLCK, ENOSYS: return true
            default: throw FileFault(path: path, code: errno)
            }
        }
        return true
    }

    package func unlock() {
        _ = flock(descriptor, LOCK_UN)
    }

    /// Removes its name, without waiting until that is on the disk.
    package func removeName() {
        unlink(path)
    }

    /// Cuts off what is behind a length.
    package func truncate(to length: Int64) throws(FileFault) {
        while ftruncate(descriptor, off_t(length)) != 0 {
            guard errno == EINTR else { throw FileFault(path: path, code: errno) }
        }
    }

    /// Whether its path leads to it, and not to another that has come there since.
    package var isUnderItsName: Bool {
        var (own, named) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, lstat(path, &named) == 0 else { return false }
        return own.st_ino == named.st_ino && own.st_dev == named.st_dev
    }

    /// Whether it has no other name.
    package var hasOneName: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 1
    }

    /// How many bytes this user may still write on the file's volume; nil where the system does not say.
    package var freeBytes: Int64? {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return nil }
        let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflows ? .max : Int64(clamping: bytes)
    }

    /// What tells one state of the file from another.
    package func snapshot() throws(FileFault) -> FileSnapshot {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFault(path: path, code: errno) }
        return try FileSnapshot(status, path: path)
    }

    /// Reads the next bytes, or those at a position; empty at the end.
    package func read(upTo count: Int, at position: Int64? = nil) throws(FileFault) -> Data {
        var data = Data(count: count)
        let result = data.withUnsafeMutableBytes { buffer in
            retryingInterrupted {
                if let position {
                    pread(descriptor, buffer.baseAddress, buffer.count, off_t(position))
                } else {
                    systemRead(descriptor, buffer.baseAddress, buffer.count)
                }
            }
        }
        guard result >= 0 else { throw FileFault(path: path, code: errno) }
        data.count = result
        return data
    }

    /// Writes bytes after those that were written before, or at a position.
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

    /// Has the system begin to bring bytes to the disk, and does not wait for that.
    package func beginSynchronizing(_ range: Range<Int64>) {
        #if !canImport(Darwin)
        // Linux does that with dirty pages that nobody needs; what fails here fails in `synchronize()` again, which
        // tells.
        _ = posix_fadvise(descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
        #endif
    }

    /// Waits until what was written is on the disk.
    package func synchronize() throws(FileFault) {
        #if canImport(Darwin)
        // There, fsync(2) leaves it in the memory of the device. Some file systems know nothing else.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw FileFault(path: path, code: errno) }
    }
}

/// What tells one state of a regular file from another.
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

    /// Looks at a file without opening it.
    package init(of path: String) throws(FileFault) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFault(path: path, code: errno) }
        try self.init(status, path: path)
    }
}

/// What the system says of a file that could not be used.
package struct FileFault: Error, Equatable {
    package let path: String
    package let code: CInt

    package init(path: String, code: CInt) {
        self.path = path
        self.code = code
    }

    /// The fault of a name that somebody has already.
    package static func taken(_ path: String) -> FileFault {
        FileFault(path: path, code: EEXIST)
    }

    /// The fault of a file that is gone.
    package static func absent(_ path: String) -> FileFault {
        FileFault(path: path, code: ENOENT)
    }

    /// The fault of a volume that does not take what is written in time.
    package static func unresponsive(_ path: String) -> FileFault {
        FileFault(path: path, code: ETIMEDOUT)
    }

    /// What is wrong and the way out.
    package var reason: String {
        let path = PrintableText.singleLine(path)
        return switch code {
        case ENOENT: "There is no file at \(path)."
        case EACCES, EPERM: "The file \(path) must not be opened by this process. Check its permissions."
        case EISDIR: "\(path) is a directory. Name a file in it."
        case EINVAL: "\(path) is not a regular file."
        case ENOSPC, EDQUOT, EFBIG: "There is no space left for \(path). Free some, or use another volume."
        case ETIMEDOUT: "The volume of \(path) takes too long to write. Use another volume."
        case EEXIST, ELOOP: "There is something else at \(path) already."
        case EMFILE, ENFILE: "The file \(path) could not be opened, since too many others are. Send less at once."
        default: "The file \(path) could not be used: \(String(cString: strerror(code)))."
        }
    }
}

private func retryingInterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        guard result < 0, errno == EINTR else { return result }
    }
}

// The methods of the same names hide the functions.
private let systemRead = read
private let systemWrite = write
