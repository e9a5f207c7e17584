#if SQLite
import GRDB
import GRDBSQLite
import Networking
import Synchronization

/// A store's file that is open.
///
/// It throws what SQLite and the schema do; what that means for the file is the store's to say.
final class CacheFile: Sendable {
    let location: CacheLocation
    let identity: CacheLocation.Identity?
    /// The key for digests of credentials, which stays the same for as long as the file exists.
    let digestKey: CacheDigestKey
    let writer: DatabaseQueue
    /// For small entries, which are read on the thread of the calling task.
    ///
    /// They never wait for another process.
    let readers: [DatabaseQueue]
    /// For what takes longer, so that nobody waits for it on a thread of the caller's.
    let slowReader: DatabaseQueue
    let turn = Atomic(0)
    let settings: Settings
    let uses = Mutex(Uses())
    /// The length of the log from which on it is emptied.
    ///
    /// Only the writer uses it.
    let nextCheckpoint: Atomic<Int64>

    struct Settings: Sendable {
        var costLimit: Int
        var schema = CacheSchema.current
        /// How long to wait for another process.
        var patience: Duration = .seconds(5)
        /// The most pages of the file, where a test wants a small disk.
        var pageLimit: Int?
        /// How many uses are noted before they are written without another write.
        var maximumUses = 256
        /// The number of changes that are remembered.
        ///
        /// A fetch is outdated if more follow it.
        var maximumChanges: Int64 = 10_000
        /// The length of the log from which on it is emptied, in bytes.
        var logLimit: Int64 = 8 << 20
        /// The maximum time that a write waits for readers and other writers to empty the log.
        var checkpointPatience: Duration = .milliseconds(250)
        /// The same once the log is twice as long as its limit.
        var longLogPatience: Duration = .seconds(1)
    }

    /// More variants of one URL come from a server that varies by something without end.
    static let maximumVariants = 32

    /// Opens the file; to be called with the location's lock.
    init(at location: CacheLocation, _ settings: Settings) throws {
        writer = try DatabaseQueue(path: location.path, configuration: Self.configuration(settings))
        self.location = location
        self.settings = settings
        identity = location.identity
        nextCheckpoint = Atomic(settings.logLimit)
        digestKey = try writer.writeWithoutTransaction { db in
            try settings.schema.migrate(db)
            let key: CacheDigestKey
            do {
                for sql in SQL.all {
                    _ = try db.cachedStatement(sql: sql)
                }
                key = try CacheSchema.digestKey(in: db)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                throw CacheSchema.Mismatch.senseless
            }
            guard try Int.fetchOne(db.cachedStatement(sql: SQL.totalCost)) != nil,
                try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) != nil
            else {
                throw CacheSchema.Mismatch.senseless
            }
            return key
        }
        var configuration = Self.configuration(settings)
        configuration.readonly = true
        readers = try (0..<3)
            .map { _ in
                let reader = try DatabaseQueue(path: location.path, configuration: configuration)
                // A read that another process holds up is tried again where waiting blocks no task.
                reader.unsafeRead { _ = sqlite3_busy_timeout($0.sqliteConnection, 0) }
                return reader
            }
        slowReader = try DatabaseQueue(path: location.path, configuration: configuration)
    }

    deinit {
        closeReaders()
        // The writer closes itself: this may run on its queue, where GRDB would end the process if it were asked to
        // close.
    }

    /// Waits for what is under way; nothing may come after, and the caller must have a reference of its own.
    func close() {
        closeReaders()
        try? writer.close()
    }

    /// Before the writer: the last one that closes the file empties the log, which a reader may not.
    private func closeReaders() {
        for reader in readers + [slowReader] {
            try? reader.close()
        }
    }

    private static func configuration(_ settings: Settings) -> Configuration {
        var configuration = Configuration()
        configuration.label = "SQLiteCacheStore"
        configuration.busyMode = .timeout(settings.patience / .seconds(1))
        // With `synchronous = NORMAL`: a commit is in the system's hands, and survives the process; after a loss of
        // power the last ones may be missing, and the file is whole.
        configuration.journalMode = .wal
        configuration.prepareDatabase { db in
            // A damaged page is found when it is read, and not used.
            try db.execute(sql: "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF")
            guard !db.configuration.readonly else { return }
            // Before the first page is written; on any other file it changes nothing.
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            // What is removed is overwritten where that costs no further write: it was somebody's.
            try db.execute(sql: "PRAGMA secure_delete = FAST")
            // Else the log stays as long as it once was.
            try db.execute(sql: "PRAGMA journal_size_limit = \(4 << 20)")
            if let limit = settings.pageLimit {
                try db.execute(sql: "PRAGMA max_page_count = \(limit)")
            }
        }
        return configuration
    }

    /// Whether it is the one at its path, and was not moved or removed; a microsecond.
    var isInPlace: Bool {
        identity != nil && location.identity == identity
    }
}
#endif
