import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The file into which a download arrives, beside where it will be: this download's alone for as long as it goes on.
final class PartialFile: Sendable {
    /// So many bytes are written between two waits for the disk: what a crash of the machine may cost at most.
    private static let synchronizedEvery: Int64 = 64 << 20
    /// So many bytes are given to the disk at a time.
    private static let begunEvery: Int64 = 4 << 20
    /// A file that is no longer does not wait for its record to be on the disk.
    private static let longestUndurable: Int64 = 1 << 20

    let path: String
    /// What was known of the part that was there; nil when it cannot be gone on with.
    let record: DownloadRecord?
    /// How many bytes of it are kept.
    let count: Int64
    /// Whether anything was there, be it of another download.
    let wasThere: Bool
    private let file: OpenFile

    /// Takes the file for a download, or creates it.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - resource: What is downloaded. A part of anything else is not gone on with.
    ///   - policy: Whether what is there is gone on with.
    /// - Throws: A `FileFault`, and a ``DownloadStateError`` for what is kept and cannot be read or is in use.
    init(at path: String, for resource: String, _ policy: DownloadOptions.PartialFile) throws {
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
        let isOurs = size == 0 || PrivateFile.isTaken(DownloadRecord.path(beside: path))
        guard isOurs else { throw Self.foreign(path) }
        if policy == .discard || record?.resource != resource {
            record = nil
        }
        self.record = record
        count = record?.keptBytes(of: size) ?? 0
    }

    /// Where the part of a file is kept.
    static func path(for destination: String) -> String {
        let suffix = ".download"
        let name = destination[
            (destination.utf8.lastIndex(of: UInt8(ascii: "/")).map { destination.utf8.index(after: $0) }
                ?? destination.startIndex)...
        ]
        // Room for the longest name that is made from it, that of the state while it is written.
        let longest = FileName.longest - suffix.utf8.count - "-state.new".utf8.count
        guard name.utf8.count > longest else { return destination + suffix }
        var start = name
        FileName.shorten(&start, toFit: longest - 33)
        return destination[..<name.startIndex] + start + "-" + StableDigest.hex(of: [String(name)]) + suffix
    }

    static func inUse(_ path: String) -> String {
        "Another download to the same place is under way; it holds \(PrintableText.singleLine(path)). Wait for it, cancel it, or download to "
            + "somewhere else."
    }

    private static func foreign(_ path: String) -> DownloadStateError {
        DownloadStateError(
            reason:
                "There is a file at \(PrintableText.singleLine(path)), where the part of the download is to be kept, and it is no such "
                + "part. Move it, or download to somewhere else."
        )
    }

    /// Opens the file and locks it: the one that is at the path then, and no other name's.
    private static func open(_ path: String) throws -> OpenFile {
        // Each round that fails is one in which somebody else got done.
        for _ in 0..<100 {
            let file = try openFile(path)
            guard try file.lock() else { throw DownloadStateError(reason: inUse(path)) }
            guard file.isUnderItsName else { continue }
            if file.hasOneName { return file }
            guard PrivateFile.isTaken(DownloadRecord.path(beside: path)) else { throw foreign(path) }
            // A process that was killed while it gave the file its name has left both: this one goes, that one stays.
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
                    "No file can be made at \(PrintableText.singleLine(path)), where the part of the download is to be kept. Download to "
                    + "somewhere else."
            )
        }
    }

    // MARK: Writing

    /// Begins anew: nothing that was kept counts any more.
    ///
    /// - Parameter record: What is known of what comes.
    /// - Throws: What the system says of the file, or of the one beside it.
    func begin(_ record: DownloadRecord) async throws(FileFault) {
        try await DiskQueue.run { [self] () throws(FileFault) in try beginNow(record) }
    }

    private func beginNow(_ record: DownloadRecord) throws(FileFault) {
        // In this order: what is known must never be of other bytes than those that are there.
        try file.truncate(to: 0)
        // A short one is over before the machine goes down, as good as always, and does not wait for the disk; unless
        // an older record would come back then.
        let isShort = record.length.map { $0 < Self.longestUndurable } ?? false
        let isFirst = !PrivateFile.isTaken(DownloadRecord.path(beside: path))
        try record.write(beside: path, isDurable: !isShort || !isFirst)
    }

    /// Prepares for the bytes that follow the kept ones, and returns what is known of them from now on.
    func goOn(with record: DownloadRecord, after count: Int64) async throws(FileFault) -> DownloadRecord {
        try await DiskQueue.run { [self] () throws(FileFault) in
            try file.truncate(to: count)
            guard record.bootSession != BootSession.current else { return record }
            var record = record
            record.bootSession = BootSession.current
            try record.write(beside: path, isDurable: true)
            return record
        }
    }

    func write(_ data: Data, at position: Int64) throws(FileFault) {
        try file.write(data, at: position)
        // The disk works while the network does, so that little is left to wait for.
        let end = position + Int64(data.count)
        if end / Self.begunEvery > position / Self.begunEvery {
            let begun = end / Self.begunEvery * Self.begunEvery
            file.beginSynchronizing(max(0, begun - Self.begunEvery)..<begun)
        }
    }

    /// Cuts off the bytes behind a length, which are not to be trusted, and returns what is known of the rest.
    func giveUp(behind length: Int64, _ record: DownloadRecord?) async throws(FileFault) -> DownloadRecord? {
        try await DiskQueue.run { [self] () throws(FileFault) in
            var record = record
            if var known = record, known.synchronizedCount > length {
                known.synchronizedCount = length
                try known.write(beside: path, isDurable: true)
                record = known
            }
            try file.truncate(to: length)
            return record
        }
    }

    /// How many bytes there is still room for; nil where nobody knows.
    var freeBytes: Int64? {
        file.freeBytes
    }

    /// Waits for the disk, if enough was written since the last wait.
    ///
    /// - Returns: What is known of the bytes after the wait; `nil` if there was none.
    func synchronize(_ record: DownloadRecord, at count: Int64) async throws(FileFault) -> DownloadRecord? {
        guard count - record.synchronizedCount >= Self.synchronizedEvery else { return nil }
        return try await DiskQueue.run { [self] () throws(FileFault) in
            var record = record
            try file.synchronize()
            record.synchronizedCount = count
            try record.write(beside: path, isDurable: true)
            return record
        }
    }

    // MARK: Ending

    /// What the bytes come to.
    func checksum(_ checksum: Checksum) async throws -> Data {
        var function = checksum.makeFunction()
        var position: Int64 = 0
        while true {
            try Task.checkCancellation()
            let bytes = try file.read(upTo: 1 << 20, at: position)
            guard !bytes.isEmpty else { return function.finish() }
            function.update(bytes)
            position += Int64(bytes.count)
            // It takes a while, and others want to go on too.
            await Task.yield()
        }
    }

    /// Gives the file, which is complete, its name; returns where it is.
    func place(at destination: String, ifExists existingFile: ExistingFilePolicy) async throws(FileFault) -> String {
        try await DiskQueue.run { [self] () throws(FileFault) in
            try placeNow(at: destination, ifExists: existingFile)
        }
    }

    private func placeNow(
        at destination: String,
        ifExists existingFile: ExistingFilePolicy
    ) throws(FileFault) -> String {
        // Whoever has removed it, and began another, has that one's bytes there.
        guard file.isUnderItsName else { throw FileFault.absent(path) }
        try file.synchronize()
        let place = try FilePlacement.place(path, at: destination, ifExists: existingFile)
        removeRecord()
        file.unlock()
        return place
    }

    /// Removes what was known of a file that has gone to its place.
    ///
    /// Another download may have begun since, and then it is that one's to change.
    private func removeRecord() {
        guard let file = try? OpenFile(continuing: path), (try? file.lock()) == true, file.isUnderItsName else {
            return
        }
        try? Self.remove(file, at: path)
    }

    /// Lets go of it, and removes it unless it can be gone on with.
    func close(isKept: Bool) {
        if !isKept {
            try? Self.remove(file, at: path)
        }
        file.unlock()
    }

    /// Removes a part that one has locked, unless it is one no more: under its last name a file is whole.
    ///
    /// Empty it is anybody's, so that it does not matter where this ends early. Its name goes last: with it goes the
    /// lock.
    static func remove(_ file: OpenFile, at path: String) throws(FileFault) {
        guard file.isUnderItsName else { return }
        if file.hasOneName {
            try file.truncate(to: 0)
            try DownloadRecord.remove(beside: path)
            try PrivateFile.remove(path)
        } else {
            // It was about to get its place when the process was killed.
            try PrivateFile.remove(path)
            try DownloadRecord.remove(beside: path)
        }
    }
}
