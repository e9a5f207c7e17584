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

/// Small files that only this user of the machine may read, as wholes.
package enum PrivateFile {
    /// Reads a file; one that is longer than the limit is cut off there.
    package static func read(_ path: String, upTo limit: Int) throws(FileFault) -> Data {
        let file = try OpenFile(reading: path)
        var data = Data()
        while data.count < limit {
            let chunk = try file.read(upTo: min(limit - data.count, 64 << 10))
            if chunk.isEmpty { break }
            data.append(chunk)
        }
        return data
    }

    /// Puts a file in place of the one at a path, so that a crash at any moment leaves one of the two, whole.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - data: What it is to hold.
    ///   - isDurable: Whether it is to be on the disk when this returns. One that is not may be empty after a crash of
    ///     the machine, though never after one of the process.
    ///   - temporary: Where it is written first, where nobody else writes; a name of its own by default.
    /// - Throws: What the system says of the file, or of the directory.
    package static func replace(
        _ path: String,
        with data: Data,
        isDurable: Bool = true,
        via temporary: String? = nil
    ) throws(FileFault) {
        // One that a process has left which was killed goes; who writes one file at a time names it so.
        let temporary = temporary ?? "\(path).new-\(UUID().uuidString)"
        unlink(temporary)
        do {
            let file = try OpenFile(creating: temporary)
            try file.write(data)
            if isDurable {
                try file.synchronize()
            }
            try move(temporary, to: path)
        } catch {
            unlink(temporary)
            throw error
        }
        if isDurable {
            try synchronizeDirectory(of: path)
        }
    }

    package static func move(_ path: String, to other: String) throws(FileFault) {
        guard rename(path, other) == 0 else { throw FileFault(path: path, code: errno) }
    }

    /// Gives a file a name that nobody has, and takes the one away that it had; false when somebody has that name.
    package static func moveToNewName(_ path: String, _ other: String) throws(FileFault) -> Bool {
        if link(path, other) == 0 {
            // Two names for a moment, and both are of the whole.
            unlink(path)
            return true
        }
        switch errno {
        case EEXIST:
            return false
        case EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK, EACCES:
            // A file system, or a sandbox, without such names: what comes between these two calls is overwritten.
            guard !isTaken(other) else { return false }
            try move(path, to: other)
            return true
        default:
            throw FileFault(path: other, code: errno)
        }
    }

    /// Whether something is at a path, be it a link that leads nowhere.
    package static func isTaken(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Whether a directory is at a path, or what leads to one.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Removes a file.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package static func remove(_ path: String) throws(FileFault) -> Bool {
        guard unlink(path) != 0 else {
            try synchronizeDirectory(of: path)
            return true
        }
        guard errno == ENOENT else { throw FileFault(path: path, code: errno) }
        return false
    }

    /// Makes a directory, and those that it lies in, unless they are there.
    package static func makeDirectory(_ path: String) throws(FileFault) {
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        guard errno == ENOENT, let parent = parent(of: path) else { throw FileFault(path: path, code: errno) }
        try makeDirectory(parent)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileFault(path: path, code: errno) }
    }

    /// A name is safe when its directory is on the disk too.
    package static func synchronizeDirectory(of path: String) throws(FileFault) {
        let directory = parent(of: path) ?? "."
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault(path: directory, code: errno) }
        defer { close(descriptor) }
        // Some file systems cannot do that for a directory, and say so.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw FileFault(path: directory, code: errno) }
    }

    package static func parent(of path: String) -> String? {
        guard let slash = path.utf8.dropLast().lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else {
            return nil
        }
        return String(path[..<slash])
    }
}

extension FileFault {
    /// Whether there is nothing at the path.
    package var isAbsence: Bool {
        code == ENOENT
    }

    /// Whether a file was to be moved to another volume, which a name alone cannot do.
    package var isOnAnotherVolume: Bool {
        code == EXDEV
    }
}
