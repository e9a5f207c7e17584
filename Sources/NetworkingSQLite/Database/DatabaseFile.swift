#if SQLite
import Foundation
import GRDB
import GRDBSQLite
import NetworkingCore
import Synchronization

/// A store's file that is open for writing.
///
/// Work runs on a thread of GRDB, so no task blocks its thread while it waits for the disk or for other processes.
final class DatabaseFile: OpenDatabase {
    struct Settings: Sendable {
        /// The name of the store, and of its threads.
        let label: String
        var schema: DatabaseSchema
        /// The maximum time to wait for another process.
        var patience: Duration = .seconds(5)
        /// The maximum number of pages of the file, for tests that want a small disk.
        var pageLimit: Int?
        /// Whether a commit survives a loss of power.
        ///
        /// Otherwise a commit only survives the end of the process. After a loss of power the last commits may be
        /// missing, but the file is still valid.
        var isDurable = false

        /// Returns the settings of a connection.
        func configuration(isReader: Bool = false) -> Configuration {
            var configuration = Configuration()
            configuration.label = label
            configuration.readonly = isReader
            configuration.busyMode = .timeout(patience / .seconds(1))
            // GRDB then sets `synchronous = NORMAL`.
            configuration.journalMode = .wal
            configuration.prepareDatabase { [self] db in
                // A damaged page is found when it is read, and not used.
                try db.execute(sql: "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF")
                guard !isReader else { return }
                // Takes effect before the first page is written, and is ignored for other files.
                try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
                // Deleted rows are overwritten: always, or where that costs no further write.
                try db.execute(sql: "PRAGMA secure_delete = \(isDurable ? "ON" : "FAST")")
                // Without this limit, the file of the log never becomes shorter.
                try db.execute(sql: "PRAGMA journal_size_limit = \(4 << 20)")
                if let limit = pageLimit {
                    try db.execute(sql: "PRAGMA max_page_count = \(limit)")
                }
            }
            return configuration
        }
    }

    let location: DatabaseLocation
    let settings: Settings
    let writer: DatabaseQueue
    private let queue = Mutex(Queue())
    private let identity: DatabaseLocation.Identity?
    /// Whether the log may have a transaction whose commit has failed.
    ///
    /// Only the writer uses it.
    private let hasFailedCommit = Atomic(false)

    /// Opens a file and migrates it.
    ///
    /// The caller must have the lock of the location.
    init(at location: DatabaseLocation, _ settings: Settings) throws {
        writer = try DatabaseQueue(path: location.path, configuration: settings.configuration())
        self.location = location
        self.settings = settings
        identity = try location.identity()
        try writer.writeWithoutTransaction { db in
            if settings.isDurable {
                // Not in `prepareDatabase`, because GRDB sets `synchronous` afterwards.
                try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
            }
            try settings.schema.migrate(db)
        }
    }

    /// Whether the file is still the one at its path.
    ///
    /// It takes a microsecond.
    var isInPlace: Bool {
        guard let identity else { return false }
        do {
            return try location.identity() == identity
        } catch {
            // A change that is committed has not failed because the status of the file cannot be read.
            return true
        }
    }

    /// Waits for work that has started and closes the file.
    ///
    /// The caller must hold a reference.
    func close() {
        try? writer.close()
    }

    /// Runs one transaction, which completes even if the calling task is cancelled.
    ///
    /// GRDB's `async` functions are cancelled with the task, but a requested change must still happen.
    func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await perform { [self] in try transaction($0, work) }
    }

    /// Runs one transaction like ``write(_:)``, and checks afterwards that the file is still in place.
    ///
    /// - Throws: ``DatabaseSchema/Mismatch/changed`` if another process has replaced the file meanwhile. Then
    ///   ``DatabaseHandle/using(_:)`` repeats the work with the new file, because the old one is not read again.
    func writeInPlace<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let value = try await write(work)
        guard isInPlace else { throw DatabaseSchema.Mismatch.changed }
        return value
    }

    /// Runs work without a transaction, such as a single read.
    func perform<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(work) { _, result in continuation.resume(with: result) }
        }
    }

    /// The numbers of the work for the writer.
    private struct Queue {
        /// The number of the last work.
        var last: UInt64 = 0
        /// The last work that was waiting while other work found the file locked for too long.
        var lastBehindBusy: UInt64 = 0
    }

    /// Runs work on the writer's thread.
    ///
    /// Work that was waiting while other work found the file locked for too long does not wait for the same lock again:
    /// it fails at once if the file is still locked. Otherwise each of them would add its own time to that of the next.
    ///
    /// - Parameters:
    ///   - work: The work.
    ///   - completion: Receives the result, on the writer's thread.
    func enqueue<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value,
        completion: @escaping @Sendable (Database, Result<Value, any Error>) -> Void
    ) {
        let number = queue.withLock { queue in
            queue.last += 1
            return queue.last
        }
        writer.asyncWriteWithoutTransaction { [self] db in
            let isBehindBusy = queue.withLock { number <= $0.lastBehindBusy }
            if isBehindBusy {
                setPatience(.zero, db)
            }
            let result = Result { try work(db) }
            if isBehindBusy {
                setPatience(settings.patience, db)
            }
            if case .failure(let error as DatabaseError) = result, error.resultCode == .SQLITE_BUSY {
                queue.withLock { $0.lastBehindBusy = $0.last }
            }
            completion(db, result)
        }
    }

    private func setPatience(_ patience: Duration, _ db: Database) {
        sqlite3_busy_timeout(db.sqliteConnection, CInt(max(.zero, patience) / .milliseconds(1)))
    }

    /// Runs a transaction on the calling thread, which must be the writer's.
    func transaction<Value>(_ db: Database, _ work: (Database) throws -> Value) throws -> Value {
        if hasFailedCommit.load(ordering: .relaxed) {
            try? overwriteFailedCommit(db)
        }
        var value: Value?
        do {
            try db.inTransaction(.immediate) {
                // A newer version may have migrated the file since it was opened.
                guard try settings.schema.isVersion(of: db) else { throw DatabaseSchema.Mismatch.changed }
                value = try work(db)
                return .commit
            }
        } catch let error as DatabaseError
            where value != nil && settings.isDurable && error.resultCode != .SQLITE_FULL
        {
            // All bytes may be in the log, although they could not be synchronized.
            hasFailedCommit.store(true, ordering: .relaxed)
            do {
                try overwriteFailedCommit(db)
            } catch {
                throw DatabaseFault.uncertain(DatabaseFault(error, URL(fileURLWithPath: location.path)))
            }
            throw error
        }
        guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return value
    }

    /// Overwrites the transaction in the log whose commit has failed.
    ///
    /// Connections that are open do not use it. Without this, a connection would after all of them have ended.
    private func overwriteFailedCommit(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            // This changes no value, and writes the first page to the log, in the place of the transaction.
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? settings.schema.version
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
        hasFailedCommit.store(false, ordering: .relaxed)
    }

    /// Moves the contents of the log into the file and empties the log, unless another connection uses it.
    ///
    /// - Parameter patience: The maximum time to wait for other connections.
    /// - Throws: An error of GRDB if the file is closed.
    func checkpoint(waiting patience: Duration) async throws {
        try await perform { [self] in emptyLog($0, waiting: patience) }
    }

    /// Empties the log like ``checkpoint(waiting:)``, on the calling thread, which must be the writer's.
    func emptyLog(_ db: Database, waiting patience: Duration) {
        guard location.logLength > 0 else { return }
        defer { setPatience(settings.patience, db) }
        setPatience(patience, db)
        _ = try? db.checkpoint(.truncate)
    }
}
#endif
