public import FoundationForNetworking
import NetworkingCore
import Synchronization

/// A store in a directory with one file for each entry, which only the current user of the machine can read.
///
/// A file is written, synchronised and then renamed, so that a crash leaves either the old or the new one. Several
/// processes may add entries to one directory; one of them at a time sends them. The files are not encrypted, and
/// contain the bodies of requests as they are.
public final class FileOutboxStore: OutboxStore {
    /// The directory of the files.
    public let directory: URL
    private let lock = Mutex<OpenFile?>(nil)

    /// Creates a store.
    ///
    /// - Parameter directory: The directory, which is created when the first entry is added.
    public init(directory: URL) {
        self.directory = directory
    }

    // MARK: Entries

    /// Returns the identifiers of all entries in order, including dead letters.
    ///
    /// - Throws: ``OutboxStoreError`` if the directory cannot be read.
    public func ids() async throws -> [OutboxEntry.ID] {
        try await names().compactMap { Self.id(of: $0, Self.entrySuffix) }.sorted()
    }

    /// Returns an entry with its progress; `nil` if there is none.
    ///
    /// - Throws: ``OutboxStoreError``. A file that is not an entry is renamed, so that it is reported once.
    public func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
        let (path, progressPath) = (path(of: id), progressPath(of: id))
        let files = try await perform { () throws(FileFault) -> (Data, Data?)? in
            do throws(FileFault) {
                let entry = try PrivateFile.read(path, upTo: Self.sizeLimit)
                return (entry, try? PrivateFile.read(progressPath, upTo: Self.progressLimit))
            } catch {
                if error.isAbsence { return nil }
                throw error
            }
        }
        guard let (data, progress) = files else { return nil }
        do {
            var entry = try JSONDecoder().decode(OutboxEntry.self, from: data)
            guard entry.id == id else { throw OutboxStoreError.damaged(id) }
            // Without its progress, an entry is sent as if it were new, with the same key.
            if let progress {
                entry.progress =
                    (try? JSONDecoder().decode(OutboxEntry.Progress.self, from: progress)) ?? entry.progress
            }
            return entry
        } catch {
            try await perform { () throws(FileFault) in try PrivateFile.move(path, to: "\(path).damaged") }
            throw OutboxStoreError.damaged(id)
        }
    }

    /// Adds an entry; when it returns, the entry is on the disk.
    ///
    /// - Throws: The errors of ``HTTPRequestData/encode(to:)``, and ``OutboxStoreError``.
    public func add(_ entry: OutboxEntry) async throws {
        let data = try JSONEncoder.sorted.encode(entry)
        guard data.count <= Self.sizeLimit else {
            throw OutboxStoreError.unusable(
                reason: "The request has \(data.count) bytes, more than an outbox stores. Use a body from a file."
            )
        }
        let (directory, path) = (directory.path, path(of: entry.id))
        try await perform { () throws(FileFault) in
            try PrivateFile.makeDirectory(directory)
            do throws(FileFault) {
                try PrivateFile.replace(path, with: data)
            } catch {
                // It may have its name already, and must not be sent, because the caller may add the request again.
                _ = try? PrivateFile.remove(path)
                throw error
            }
        }
    }

    /// Replaces the progress of an entry.
    ///
    /// - Throws: ``OutboxStoreError``.
    public func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws {
        let data = try JSONEncoder.sorted.encode(progress)
        let (path, progressPath) = (path(of: id), progressPath(of: id))
        try await perform { () throws(FileFault) in
            guard try PrivateFile.isTaken(path) else { return }
            try PrivateFile.replace(progressPath, with: data)
        }
    }

    /// Removes an entry; when it returns, the entry is gone from the disk.
    ///
    /// - Returns: `true` if there was one.
    /// - Throws: ``OutboxStoreError``.
    public func remove(_ id: OutboxEntry.ID) async throws -> Bool {
        let (path, progressPath) = (path(of: id), progressPath(of: id))
        return try await perform { () throws(FileFault) in
            // The entry is removed first: a progress without an entry is harmless, and the next claim removes it.
            let existed = try PrivateFile.remove(path)
            _ = try? PrivateFile.remove(progressPath)
            return existed
        }
    }

    // MARK: The claim

    /// Claims the entries for sending with a file lock, which the system releases when the process ends.
    ///
    /// - Returns: `true` if this object has the claim now.
    /// - Throws: ``OutboxStoreError``.
    public func claim() async throws -> Bool {
        let (directory, path) = (directory.path, directory.appending(path: "lock").path)
        let file = try await perform { () throws(FileFault) -> OpenFile? in
            try PrivateFile.makeDirectory(directory)
            let file = try OpenFile(continuing: path)
            return try file.lock() ? file : nil
        }
        guard let file else { return false }
        do {
            try await removeLeftovers()
        } catch {
            // The caller of a claim that throws does not release it.
            file.unlock()
            throw error
        }
        lock.withLock { $0 = file }
        return true
    }

    /// Ends the claim.
    public func release() {
        lock.withLock { file in
            file?.unlock()
            file = nil
        }
    }

    /// Removes the files that a killed process has left.
    private func removeLeftovers() async throws {
        let names = try await names()
        let entries = Set(names.compactMap { Self.id(of: $0, Self.entrySuffix) })
        try await perform { [directory] () throws(FileFault) in
            for name in names {
                let path = directory.appending(path: name).path
                let isOrphan = Self.id(of: name, Self.progressSuffix).map { !entries.contains($0) } ?? false
                if isOrphan || name.contains(".new-") && Self.isOld(path) {
                    _ = try? PrivateFile.remove(path)
                }
            }
        }
    }

    /// Whether a file has not changed for an hour, so that no process can still be writing it.
    private static func isOld(_ path: String) -> Bool {
        let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        return date.map { Date().timeIntervalSince($0) > 3_600 } ?? false
    }

    // MARK: Files

    // The length of a body of 48 MiB in Base64.
    private static let sizeLimit = 64 << 20
    private static let progressLimit = 64 << 10
    private static let (entrySuffix, progressSuffix) = (".request", ".progress")

    private func path(of id: OutboxEntry.ID) -> String {
        directory.appending(path: id.description + Self.entrySuffix).path
    }

    private func progressPath(of id: OutboxEntry.ID) -> String {
        directory.appending(path: id.description + Self.progressSuffix).path
    }

    private static func id(of name: String, _ suffix: String) -> OutboxEntry.ID? {
        name.hasSuffix(suffix) ? OutboxEntry.ID(String(name.dropLast(suffix.count))) : nil
    }

    private func names() async throws -> [String] {
        let path = directory.path
        return try await perform { () throws(FileFault) in
            guard try PrivateFile.isTaken(path) else { return [] }
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
                throw .unreadable(path)
            }
            return names
        }
    }

    /// Runs work on a thread for the disk.
    private func perform<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileFault) -> Value
    ) async throws -> Value {
        do {
            return try await DiskQueue.complete(work)
        } catch {
            throw OutboxStoreError.unusable(reason: error.reason)
        }
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
