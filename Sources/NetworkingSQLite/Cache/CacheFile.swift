#if SQLite
import GRDB
import GRDBSQLite
import NetworkingCaching
import Synchronization

/// The open file of the cache.
///
/// It throws the errors of SQLite and of the schema, from which ``DatabaseHandle`` determines the fault of the file.
final class CacheFile: OpenDatabase {
    let database: DatabaseFile
    /// The key for digests of credentials, which stays the same as long as the file exists.
    let digestKey: CacheDigestKey
    /// The connections for small entries, which are read on the thread of the calling task.
    ///
    /// They never wait for another process.
    let readers: [DatabaseQueue]
    /// The connection for reads that take longer and must not block the calling thread.
    let slowReader: DatabaseQueue
    let turn = Atomic(0)
    let settings: Settings
    let uses = Mutex(Uses())
    /// The length of the log at which it is emptied next, in bytes.
    ///
    /// Only the writer uses it.
    let nextCheckpoint: Atomic<Int64>

    struct Settings: Sendable {
        var costLimit: Int
        var schema = DatabaseSchema.cache
        /// The maximum time to wait for another process.
        var patience: Duration = .seconds(5)
        /// The maximum number of pages of the file, for tests that want a small disk.
        var pageLimit: Int?
        /// The number of keys with unwritten uses at which the uses are written without waiting for another write.
        var maximumUses = 256
        /// The number of changes that are remembered.
        ///
        /// A fetch counts as outdated if more changes follow its start.
        var maximumChanges: Int64 = 10_000
        /// The length of the log at which it is emptied, in bytes.
        var logLimit: Int64 = 8 << 20
        /// The maximum time that a write waits for readers and other writers to empty the log.
        var checkpointPatience: Duration = .milliseconds(250)
        /// The maximum time that a write waits for them once the log is twice as long as its limit.
        var longLogPatience: Duration = .seconds(1)

        /// The settings of the file.
        var database: DatabaseFile.Settings {
            DatabaseFile.Settings(
                label: "SQLiteCacheStore",
                schema: schema,
                patience: patience,
                pageLimit: pageLimit
            )
        }
    }

    /// The maximum number of variants of one URL.
    ///
    /// A server that needs more of them varies its responses without limit.
    static let maximumVariants = 32

    /// Opens the file.
    ///
    /// The caller must have the lock of the location.
    init(at location: DatabaseLocation, _ settings: Settings) throws {
        database = try DatabaseFile(at: location, settings.database)
        self.settings = settings
        nextCheckpoint = Atomic(settings.logLimit)
        digestKey = try database.writer.writeWithoutTransaction { db in
            let key = try Self.digestKey(in: db)
            guard try Int.fetchOne(db.cachedStatement(sql: SQL.totalCost)) != nil,
                try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) != nil
            else {
                throw DatabaseSchema.Mismatch.invalid
            }
            return key
        }
        let configuration = settings.database.configuration(isReader: true)
        readers = try (0..<3)
            .map { _ in
                let reader = try DatabaseQueue(path: location.path, configuration: configuration)
                // A read that finds the file locked is repeated by the slow reader, where waiting blocks no task.
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

    /// Waits for work that has started and closes the file.
    ///
    /// The caller must hold a reference.
    func close() {
        closeReaders()
        database.close()
    }

    /// Closes the readers before the writer: the last connection empties the log when it is closed, which a reader
    /// cannot do.
    private func closeReaders() {
        for reader in readers + [slowReader] {
            try? reader.close()
        }
    }

    static func digestKey(in db: Database) throws -> CacheDigestKey {
        var key: CacheDigestKey?
        try db.forEachRow("SELECT digest_key FROM secrets") { row in
            key = row.bytes(0) { CacheDigestKey(bytes: Array($0)) }
        }
        guard let key else { throw DatabaseSchema.Mismatch.invalid }
        return key
    }

    var isInPlace: Bool {
        database.isInPlace
    }

    var location: DatabaseLocation {
        database.location
    }

    var writer: DatabaseQueue {
        database.writer
    }
}
#endif
