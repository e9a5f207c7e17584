import CLibraryForNetworking
package import FoundationForNetworking

/// Reads and replaces small files as a whole.
///
/// Only this user of the machine may read the new files.
package enum PrivateFile {
    /// Reads a file; a file longer than the limit is truncated.
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

    /// Replaces a file, so that a crash at any moment leaves either the old or the new file, complete.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - data: The new content.
    ///   - isDurable: Whether the content is on the disk when this returns. Otherwise the file may be empty after a
    ///     crash of the machine, but never after a crash of the process.
    ///   - temporary: The path to write to first, which no other code uses; a unique path by default.
    /// - Throws: The system's error for the file or its directory.
    package static func replace(
        _ path: String,
        with data: Data,
        isDurable: Bool = true,
        via temporary: String? = nil
    ) throws(FileFault) {
        // Removes the file that a killed process has left at a caller's own temporary path.
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

    /// Renames a file, unless the new name is already in use; returns whether it did.
    package static func moveToNewName(_ path: String, _ other: String) throws(FileFault) -> Bool {
        if link(path, other) == 0 {
            // For a moment the complete file has two names.
            unlink(path)
            return true
        }
        switch errno {
        case EEXIST:
            return false
        case EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK, EACCES:
            // A file system or a sandbox without hard links. A file that is created between these two calls is
            // overwritten.
            guard try !isTaken(other) else { return false }
            try move(path, to: other)
            return true
        default:
            throw FileFault(path: other, code: errno)
        }
    }

    /// Whether the path exists, even as a symbolic link without a target.
    ///
    /// - Throws: The system's error if it does not tell. A path with such an error must not pass for an absent one.
    package static func isTaken(_ path: String) throws(FileFault) -> Bool {
        var status = stat()
        guard lstat(path, &status) != 0 else { return true }
        let fault = FileFault(path: path, code: errno)
        guard fault.isAbsence else { throw fault }
        return false
    }

    /// Whether the path is a directory, or a link to one.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Removes a file, and returns when the removal is on the disk.
    ///
    /// - Returns: `true` if the file existed.
    @discardableResult
    package static func remove(_ path: String) throws(FileFault) -> Bool {
        guard unlink(path) != 0 else {
            try synchronizeDirectory(of: path)
            return true
        }
        guard errno == ENOENT else { throw FileFault(path: path, code: errno) }
        return false
    }

    /// Creates a directory and its parent directories, unless they exist.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - isDurable: Whether the new names are on the disk when this returns. Without them, the machine loses even the
    ///     durable files in the directory when it stops.
    /// - Throws: The system's error for a directory.
    package static func makeDirectory(_ path: String, isDurable: Bool = true) throws(FileFault) {
        if mkdir(path, 0o700) != 0 {
            if errno == EEXIST { return }
            guard errno == ENOENT, let parent = parent(of: path) else { throw FileFault(path: path, code: errno) }
            try makeDirectory(parent, isDurable: isDurable)
            if mkdir(path, 0o700) != 0 {
                if errno == EEXIST { return }
                throw FileFault(path: path, code: errno)
            }
        }
        guard isDurable else { return }
        do {
            try synchronizeDirectory(of: path)
        } catch {
            // The next call would take an existing directory for a durable one.
            rmdir(path)
            throw error
        }
    }

    /// Returns when the directory of a path is on the disk, because the name in it is not durable before that.
    package static func synchronizeDirectory(of path: String) throws(FileFault) {
        let directory = parent(of: path) ?? "."
        let descriptor = retryingInterrupted { open(directory, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw FileFault(path: directory, code: errno) }
        defer { close(descriptor) }
        // Some file systems cannot synchronise a directory, and return this error.
        guard retryingInterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else {
            throw FileFault(path: directory, code: errno)
        }
    }

    /// Returns the directory of a path; `nil` for the root directory, and for a name without a directory.
    package static func parent(of path: String) -> String? {
        guard let slash = path.utf8.dropLast().lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension FileFault {
    /// Whether the path does not exist.
    package var isAbsence: Bool {
        code == ENOENT
    }
}
