import FoundationForNetworking
import NetworkingCore

/// The file that a download writes to, next to its destination; only one download at a time uses it.
final class PartialFile: Sendable {
    /// The number of bytes written between two waits for the disk, and so the maximum that a crash of the machine can
    /// lose.
    private static let synchronizedEvery: Int64 = 64 << 20
    /// The number of bytes after which the disk is asked to start writing.
    private static let begunEvery: Int64 = 4 << 20
    /// The size from which on a new file waits until its record is on disk, in bytes.
    private static let maximumUndurableSize: Int64 = 1 << 20

    let path: String
    /// The metadata of the kept bytes; `nil` if they cannot be used to resume.
    let record: DownloadRecord?
    /// The number of kept bytes that are valid.
    let count: Int64
    /// Whether the file held bytes before, even if they belong to another download.
    let wasThere: Bool
    private let file: OpenFile
    /// The order of the changes, so that the file is closed after a write that no caller waits for any more.
    let disk = DiskQueue()

    /// Opens and locks the partial file for a download, or creates it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - resource: The resource to download. Bytes of any other resource are not used.
    ///   - policy: Whether to resume from kept bytes.
    /// - Returns: The file.
    /// - Throws: A `FileFault`, or a ``DownloadStateError`` if the kept bytes cannot be read or are in use.
    static func open(
        at path: String,
        for resource: String,
        _ policy: DownloadOptions.PartialFile
    ) async throws -> PartialFile {
        try await DiskQueue.run(until: nil) { try PartialFile(at: path, for: resource, policy) }
    }

    private init(at path: String, for resource: String, _ policy: DownloadOptions.PartialFile) throws {
        self.path = path
        file = try Self.open(path)
        let size = try file.snapshot().size
        wasThere = size > 0
        var record: DownloadRecord?
        if policy == .resume || size > 0 {
            do {
                record = try DownloadRecord.read(beside: path)
            } catch  where policy == .discard || size == 0 {}
        }
        let isOurs = try size == 0 || PrivateFile.isTaken(DownloadRecord.path(beside: path))
        guard isOurs else { throw Self.foreign(path) }
        if policy == .discard || record?.resource != resource {
            record = nil
        }
        self.record = record
        count = record?.keptBytes(of: size) ?? 0
    }

    /// Returns the path of the partial file for a destination.
    static func path(for destination: String) -> String {
        let suffix = ".download"
        let name = destination[
            (destination.utf8.lastIndex(of: UInt8(ascii: "/")).map { destination.utf8.index(after: $0) }
                ?? destination.startIndex)...
        ]
        // Leaves room for the longest name derived from this one: that of the state file while it is written.
        let maximumLength = FileName.maximumLength - suffix.utf8.count - "-state.new".utf8.count
        guard name.utf8.count > maximumLength else { return destination + suffix }
        var start = name
        FileName.shorten(&start, toFit: maximumLength - 33)
        return destination[..<name.startIndex] + start + "-" + StableDigest.hex(of: [String(name)]) + suffix
    }

    static func inUse(_ path: String) -> String {
        "Another download to the same destination is in progress and has locked \(PrintableText.singleLine(path)). "
            + "Wait for it, cancel it, or use another destination."
    }

    private static func foreign(_ path: String) -> DownloadStateError {
        DownloadStateError(
            reason:
                "The file at \(PrintableText.singleLine(path)), where the partial download is stored, is not a partial "
                + "download. Move it, or use another destination."
        )
    }

    /// Opens and locks the file at a path, and checks that the file is still there and has no second name.
    private static func open(_ path: String) throws -> OpenFile {
        // Each failed round means that another process has made progress.
        for _ in 0..<100 {
            let file = try openFile(path)
            guard try file.lock() else { throw DownloadStateError(reason: inUse(path)) }
            guard file.isUnderItsName else { continue }
            if file.hasOneName { return file }
            guard try PrivateFile.isTaken(DownloadRecord.path(beside: path)) else { throw foreign(path) }
            // A process that was killed while it renamed the file has left both names. Removing this name keeps the
            // complete file.
            try PrivateFile.remove(path)
        }
        throw DownloadStateError(reason: inUse(path))
    }

    private static func openFile(_ path: String) throws -> OpenFile {
        do {
            return try OpenFile(continuing: path)
        } catch {
            guard error.isAbsence else { throw error }
            throw DownloadStateError(
                reason:
                    "The partial download cannot be stored at \(PrintableText.singleLine(path)). Use another "
                    + "destination."
            )
        }
    }

    // MARK: Writing

    /// Starts a new file; all kept bytes are discarded.
    ///
    /// - Parameter record: The metadata of the new file.
    /// - Throws: The error of the system for the partial file or for its record, or `CancellationError`.
    func begin(_ record: DownloadRecord) async throws {
        try await disk.run(until: nil) { [self] in try beginNow(record) }
    }

    private func beginNow(_ record: DownloadRecord) throws(FileFault) {
        // The order matters: the metadata must never describe other bytes than those in the file.
        try file.truncate(to: 0)
        // A short download almost always ends before the machine stops, so it does not wait for the disk. The exception
        // is an older record, which would come back after a crash.
        let isShort = record.length.map { $0 < Self.maximumUndurableSize } ?? false
        let isFirst = try !PrivateFile.isTaken(DownloadRecord.path(beside: path))
        try record.write(beside: path, isDurable: !isShort || !isFirst)
    }

    /// Prepares for the bytes after the kept ones, and returns the updated metadata.
    func resume(with record: DownloadRecord, after count: Int64) async throws -> DownloadRecord {
        try await disk.run(until: nil) { [self] in
            var record = try truncateNow(to: count, record)
            guard record.bootSession != BootSession.current else { return record }
            record.bootSession = BootSession.current
            try record.write(beside: path, isDurable: true)
            return record
        }
    }

    func write(_ data: Data, at position: Int64) async throws {
        try await disk.run(until: nil) { [self] in try writeNow(data, at: position) }
    }

    private func writeNow(_ data: Data, at position: Int64) throws(FileFault) {
        try file.write(data, at: position)
        // The disk writes while the network receives, so that the final synchronization has little left to do.
        let end = position + Int64(data.count)
        if end / Self.begunEvery > position / Self.begunEvery {
            let begun = end / Self.begunEvery * Self.begunEvery
            file.beginSynchronizing(max(0, begun - Self.begunEvery)..<begun)
        }
    }

    /// Cuts off the untrusted bytes after a length, and returns the metadata of the rest.
    func truncate(to length: Int64, _ record: DownloadRecord?) async throws -> DownloadRecord? {
        try await disk.run(until: nil) { [self] () throws -> DownloadRecord? in
            guard let record else {
                try file.truncate(to: length)
                return nil
            }
            return try truncateNow(to: length, record)
        }
    }

    private func truncateNow(to length: Int64, _ record: DownloadRecord) throws(FileFault) -> DownloadRecord {
        var record = record
        // The bytes that replace the removed ones are not synchronized.
        if record.synchronizedCount > length {
            record.synchronizedCount = length
            try record.write(beside: path, isDurable: true)
        }
        try file.truncate(to: length)
        return record
    }

    /// Returns the free space on the volume, in bytes; `nil` if it is not known.
    func freeBytes() async -> Int64? {
        (try? await disk.run(until: nil) { [self] in file.freeBytes }) ?? nil
    }

    /// Waits for the disk, if enough was written since the last wait.
    ///
    /// - Returns: The metadata after the wait; `nil` if there was no wait.
    func synchronize(_ record: DownloadRecord, at count: Int64) async throws -> DownloadRecord? {
        guard count - record.synchronizedCount >= Self.synchronizedEvery else { return nil }
        return try await disk.run(until: nil) { [self] in
            var record = record
            try file.synchronize()
            record.synchronizedCount = count
            try record.write(beside: path, isDurable: true)
            return record
        }
    }

    // MARK: Ending

    /// Returns the checksum of the file.
    func checksum(_ checksum: Checksum) async throws -> Data {
        var function = checksum.makeFunction()
        var position: Int64 = 0
        while true {
            try Task.checkCancellation()
            let bytes = try await disk.run(until: nil) { [self, position] in
                try file.read(upTo: 1 << 20, at: position)
            }
            guard !bytes.isEmpty else { return function.finish() }
            function.update(bytes)
            position += Int64(bytes.count)
        }
    }

    /// Moves the complete file to its destination, and returns the path.
    func place(at destination: String, ifExists existingFile: ExistingFilePolicy) async throws -> String {
        try await disk.run(until: nil) { [self] in
            try placeNow(at: destination, ifExists: existingFile)
        }
    }

    private func placeNow(
        at destination: String,
        ifExists existingFile: ExistingFilePolicy
    ) throws(FileFault) -> String {
        // If the file was removed and another download was started, the path now holds that download's bytes.
        guard file.isUnderItsName else { throw FileFault.absent(path) }
        try file.synchronize()
        let place = try FilePlacement.place(path, at: destination, ifExists: existingFile)
        removeRecord()
        file.unlock()
        return place
    }

    /// Removes the metadata of a file that was moved to its destination.
    ///
    /// Another download may have started since then. In that case the metadata belongs to that download and stays.
    private func removeRecord() {
        guard let file = try? OpenFile(continuing: path), (try? file.lock()) == true, file.isUnderItsName else {
            return
        }
        try? Self.remove(file, at: path)
    }

    /// Releases the lock, and removes the file unless it is kept.
    ///
    /// A cancelled caller does not wait for a slow disk; the file is closed after its last change.
    func close(isKept: Bool) async {
        try? await disk.run(until: nil) { [self] in closeNow(isKept: isKept) }
    }

    private func closeNow(isKept: Bool) {
        if !isKept {
            try? Self.remove(file, at: path)
        }
        file.unlock()
    }

    /// Removes a partial file that the caller has locked, and leaves the file itself if it already has its final name.
    ///
    /// The file is emptied first, because an empty one may be used by any download. It therefore does not matter where
    /// this function is interrupted. The name is removed last, because the lock is lost with it.
    static func remove(_ file: OpenFile, at path: String) throws(FileFault) {
        guard file.isUnderItsName else { return }
        if file.hasOneName {
            try file.truncate(to: 0)
            try DownloadRecord.remove(beside: path)
            try PrivateFile.remove(path)
        } else {
            // The process was killed while it moved the file to its destination.
            try PrivateFile.remove(path)
            try DownloadRecord.remove(beside: path)
        }
    }
}
