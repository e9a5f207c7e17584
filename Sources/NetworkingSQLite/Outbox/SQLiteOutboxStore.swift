#if SQLite
public import Foundation
import GRDB
public import NetworkingConnectivity
import NetworkingCore
import Synchronization

/// A store of an `Outbox` in an SQLite database, which only the current user of the machine can read.
///
/// ```swift
/// let outbox = Outbox(in: SQLiteOutboxStore(file: folder.appending(path: "outbox.sqlite")), over: network)
/// ```
///
/// Each change is one transaction, which is on the disk when the change returns. After a crash at any moment, the
/// change has happened completely or not at all. Several processes may add entries to one file; one of them at a time
/// sends them. Removed entries are overwritten. The file is not encrypted, and contains the bodies of requests as they
/// are.
///
/// The file is created when it is first used. A damaged row is kept, is reported once with
/// `OutboxStoreError.damaged(_:)`, and is no longer an entry. A damaged file is renamed, reported once with
/// `OutboxStoreError.fileDamaged(movedTo:)`, and replaced by an empty one. The last two damaged files are kept.
public final class SQLiteOutboxStore: OutboxStore {
    /// The file of the database; SQLite and the store create other files with names that start with its name.
    public var file: URL {
        database.file
    }

    let database: DatabaseHandle<DatabaseFile, OutboxStoreError>
    private let claimed = Mutex<OpenFile?>(nil)

    // The length of a body of 48 MiB in Base64.
    private static let maximumEntrySize = 64 << 20
    private static let maximumProgressSize = 64 << 10

    /// Creates a store.
    ///
    /// - Parameter file: The file, which is created with its directory when the store is first used.
    public convenience init(file: URL) {
        self.init(file: file, settings: Self.settings)
    }

    static let settings = DatabaseFile.Settings(label: "SQLiteOutboxStore", schema: .outbox, isDurable: true)

    init(file: URL, settings: DatabaseFile.Settings) {
        database = DatabaseHandle(file: file, settings: settings, failure: OutboxStoreError.init) { location in
            try DatabaseFile(at: location, settings)
        }
    }

    // MARK: Entries

    /// Returns the identifiers of all entries in order, including dead letters.
    ///
    /// - Throws: `OutboxStoreError`.
    public func ids() async throws -> [OutboxEntry.ID] {
        try await database.using { file in
            try await file.perform { db in
                var ids: [OutboxEntry.ID] = []
                try db.forEachRow(OutboxSQL.ids) { row in
                    let text = row.bytes(0) { String(validating: $0, as: UTF8.self) }
                    if let id = text.flatMap({ OutboxEntry.ID($0) }) {
                        ids.append(id)
                    }
                }
                return ids
            }
        }
    }

    /// Returns an entry with its progress; `nil` if there is none.
    ///
    /// - Throws: `OutboxStoreError`. A row that is not a valid entry is marked, so that it is reported once.
    @concurrent
    public func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
        let row = try await database.using { file in try await file.perform { try Row($0, id.bytes) } }
        guard let row else { return nil }
        if let entry = row.entry(id) { return entry }
        try await database.using { file in
            try await file.write { _ = try $0.run(OutboxSQL.setAside, [Data(id.bytes), row.checksum]) }
        }
        throw OutboxStoreError.damaged(id)
    }

    /// Adds an entry; when it returns, the entry is on the disk.
    ///
    /// - Throws: The errors of `HTTPRequestData.encode(to:)`, and `OutboxStoreError`. Then the entry is not sent,
    ///   except if the disk has also refused to store that it was not added: then its error says that the change may be
    ///   there.
    @concurrent
    public func add(_ entry: OutboxEntry) async throws {
        let data = try JSONEncoder.sorted.encode(entry)
        guard data.count <= Self.maximumEntrySize else {
            throw OutboxStoreError.unusable(
                reason: "The request has \(data.count) bytes, more than an outbox stores. Use a body from a file."
            )
        }
        let id = entry.id.bytes
        let checksum = Row.checksum(id, data)
        try await database.using { file in
            try await file.writeInPlace { _ = try $0.run(OutboxSQL.add, [checksum, Data(id), data]) }
        }
    }

    /// Replaces the progress of an entry; does nothing if there is no such entry.
    ///
    /// - Throws: `OutboxStoreError`.
    @concurrent
    public func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws {
        let data = try JSONEncoder.sorted.encode(progress)
        try await database.using { file in
            try await file.write { _ = try $0.run(OutboxSQL.update, [data, Data(id.bytes)]) }
        }
    }

    /// Removes an entry; when it returns, the entry is gone from the disk.
    ///
    /// - Returns: `true` if there was one.
    /// - Throws: `OutboxStoreError`.
    public func remove(_ id: OutboxEntry.ID) async throws -> Bool {
        try await database.using { file in
            try await file.write { try $0.run(OutboxSQL.remove, [Data(id.bytes)]) > 0 }
        }
    }

    // MARK: The claim

    /// Claims the entries for sending with a file lock, which the system releases when the process ends.
    ///
    /// - Returns: `true` if this object has the claim now.
    /// - Throws: `OutboxStoreError`.
    public func claim() async throws -> Bool {
        // Creates the directory, and throws before anything is sent if the file cannot be used.
        try await database.using { _ in }
        let path = file.path + "-claim"
        do {
            let claim = try await DiskQueue.complete { () throws(FileFault) -> OpenFile? in
                let file = try OpenFile(continuing: path)
                return try file.lock() ? file : nil
            }
            guard let claim else { return false }
            claimed.withLock { $0 = claim }
            return true
        } catch {
            throw OutboxStoreError.unusable(reason: error.reason)
        }
    }

    /// Ends the claim.
    public func release() async {
        // Removed entries must not stay in the log. A failure has no effect on the entries.
        try? await database.using { try await $0.checkpoint(waiting: .zero) }
        claimed.withLock { claim in
            claim?.unlock()
            claim = nil
        }
    }

    /// The columns of an entry, which may be damaged.
    private struct Row: Sendable {
        var checksum: Int64 = 0
        private var progress = Data()
        private var entry = Data()

        init?(_ db: Database, _ id: [UInt8]) throws {
            var isFound = false
            let limits = (Int64(maximumProgressSize), Int64(maximumEntrySize))
            try db.forEachRow(OutboxSQL.entry, .bytes(id), .integer(limits.0), .integer(limits.1)) { row in
                isFound = true
                checksum = row.integer(0)
                progress = row.bytes(1) { Data($0) }
                entry = row.bytes(2) { Data($0) }
            }
            guard isFound else { return nil }
        }

        static func checksum(_ id: [UInt8], _ entry: Data) -> Int64 {
            id.withUnsafeBytes { id in entry.withUnsafeBytes { Checksum.value(of: [id, $0]) } }
        }

        /// Decodes the entry; `nil` if it is damaged.
        func entry(_ id: OutboxEntry.ID) -> OutboxEntry? {
            guard checksum == Self.checksum(id.bytes, entry),
                var decoded = try? JSONDecoder().decode(OutboxEntry.self, from: entry), decoded.id == id
            else { return nil }
            // Without its progress, an entry is sent as if it were new, with the same key.
            decoded.progress =
                (try? JSONDecoder().decode(OutboxEntry.Progress.self, from: progress)) ?? decoded.progress
            return decoded
        }
    }
}

extension OutboxStoreError {
    fileprivate init(_ fault: DatabaseFault, _ file: URL) {
        self =
            if case .damage(let moved) = fault {
                .fileDamaged(movedTo: moved)
            } else {
                .unusable(reason: fault.reason(file, store: "outbox"))
            }
    }
}

extension OutboxEntry.ID {
    fileprivate var bytes: [UInt8] {
        Array(description.utf8)
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
#endif
