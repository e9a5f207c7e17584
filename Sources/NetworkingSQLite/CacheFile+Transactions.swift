#if SQLite
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

// MARK: - Transactions

extension CacheFile {
    /// One transaction, which is carried out also when the caller is cancelled meanwhile.
    ///
    /// GRDB's own awaited form ends with the task. But what a change on the server has made invalid must go, whether or
    /// not anybody waits for that, and an entry that came over the network is worth its 100 microseconds.
    func write<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            writer.asyncWriteWithoutTransaction { [self] db in
                continuation.resume(with: Result { try transaction(db, work) })
                // The caller does not wait for it.
                emptyLongLog(db)
            }
        }
    }

    private func transaction<Value>(_ db: Database, _ work: (Database) throws -> Value) throws -> Value {
        var value: Value?
        try db.inTransaction(.immediate) {
            // A newer version may have migrated the file since it was opened.
            guard try settings.schema.isThat(of: db) else { throw CacheSchema.Mismatch.outdated }
            for number in uses.withLock({ $0.take() }) {
                try db.run(SQL.use, [number])
            }
            value = try work(db)
            return .commit
        }
        guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return value
    }
}

// MARK: - Uses

extension CacheFile {
    /// Which keys were used, in order, since that was last written.
    ///
    /// A write for each read would make a hit many times slower. What a process has noted when it ends is lost, and
    /// only that.
    struct Uses {
        private var numbers: [Int64: Int] = [:]
        private var next = 0

        /// Returns how many there are.
        mutating func note(_ number: Int64) -> Int {
            numbers[number] = next
            next += 1
            return numbers.count
        }

        mutating func take() -> [Int64] {
            guard !numbers.isEmpty else { return [] }
            defer { numbers = [:] }
            return numbers.sorted { $0.value < $1.value }.map { $0.key }
        }
    }

    func note(_ found: Found) {
        guard let number = found.key else { return }
        let count = uses.withLock { $0.note(number) }
        // Once for each so many: until the write begins, more are noted.
        guard count == settings.maximumUses else { return }
        writer.asyncWriteWithoutTransaction { [self] db in
            // Whoever writes next hears of what is wrong.
            try? transaction(db) { _ in }
            emptyLongLog(db)
        }
    }
}

// MARK: - The log and unused pages

extension CacheFile {
    /// Gives unused pages back to the disk, in several transactions.
    func shrink() async throws {
        while try await write({ try $0.shrink() }) {}
    }

    /// Moves what the log holds into the file and empties it, as far as nobody reads it.
    func checkpoint() async throws {
        try await withCheckedThrowingContinuation { continuation in
            writer.asyncWriteWithoutTransaction { db in
                continuation.resume(with: Result { _ = try? db.checkpoint(.truncate) })
            }
        }
    }

    /// Empties the log once it is long.
    ///
    /// SQLite does that by itself only while no other connection reads or writes, and two busy processes never leave it
    /// such a moment. This waits for one, for a short time; if none comes, the log grows by a quarter of its limit
    /// before the next attempt.
    ///
    /// Once the log is twice as long as its limit, no process writes before it is empty: each gets here after its own
    /// next write. So the log grows beyond that by one write of each process, unless a connection reads for longer than
    /// ``Settings/longLogPatience``.
    private func emptyLongLog(_ db: Database) {
        let length = location.logLength
        guard length >= nextCheckpoint.load(ordering: .relaxed) else {
            if length < settings.logLimit {
                nextCheckpoint.store(settings.logLimit, ordering: .relaxed)
            }
            return
        }
        defer { sqlite3_busy_timeout(db.sqliteConnection, CInt(settings.patience / .milliseconds(1))) }
        emptyLog(db, waiting: settings.checkpointPatience)
        let bound = 2 * settings.logLimit
        if location.logLength >= bound {
            let end = ContinuousClock.now + settings.longLogPatience
            while location.logLength >= bound, ContinuousClock.now < end {
                // SQLite does not wait for a checkpoint of another process.
                usleep(1_000)
                emptyLog(db, waiting: end - ContinuousClock.now)
            }
        }
        let left = location.logLength
        let next = max(settings.logLimit, left + settings.logLimit / 4)
        nextCheckpoint.store(left < bound ? min(next, bound) : next, ordering: .relaxed)
    }

    private func emptyLog(_ db: Database, waiting patience: Duration) {
        sqlite3_busy_timeout(db.sqliteConnection, CInt(max(.zero, patience) / .milliseconds(1)))
        _ = try? db.checkpoint(.truncate)
    }
}
#endif
