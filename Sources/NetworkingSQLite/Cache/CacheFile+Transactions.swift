#if SQLite
import Foundation
import GRDB
import Synchronization

// MARK: - Transactions

extension CacheFile {
    /// Runs one transaction, which completes even if the calling task is cancelled.
    ///
    /// GRDB's `async` functions are cancelled with the task. Entries that a change on the server has made invalid must
    /// be removed anyway, and storing an entry that was fetched takes only 100 microseconds.
    func write<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            database.enqueue { [self] db in
                try transaction(db, work)
            } completion: { [self] db, result in
                continuation.resume(with: result)
                // After the result was returned, so that the caller does not wait.
                emptyLongLog(db)
            }
        }
    }

    private func transaction<Value>(_ db: Database, _ work: (Database) throws -> Value) throws -> Value {
        try database.transaction(db) { db in
            for number in uses.withLock({ $0.take() }) {
                try db.run(SQL.use, [number])
            }
            return try work(db)
        }
    }
}

// MARK: - Uses

extension CacheFile {
    /// The keys that were used since uses were last written, in order.
    ///
    /// Writing each use at once would make a hit many times slower. Uses that are not written when the process ends are
    /// lost.
    struct Uses {
        private var numbers: [Int64: Int] = [:]
        private var next = 0

        /// Records a use and returns the number of keys with unwritten uses.
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
        // Exactly at this number, because further uses are recorded until the write starts.
        guard count == settings.maximumUses else { return }
        database.enqueue { [self] db in
            // The next write reports an error.
            try transaction(db) { _ in }
        } completion: { [self] db, _ in
            emptyLongLog(db)
        }
    }
}

// MARK: - The log and unused pages

extension CacheFile {
    /// Returns unused pages to the file system, in several transactions.
    func shrink() async throws {
        while try await write({ try $0.shrink() }) {}
    }

    /// Moves the contents of the log into the file and empties the log, unless another connection uses it.
    func checkpoint() async throws {
        try await database.checkpoint(waiting: settings.patience)
    }

    /// Empties the log once it is long.
    ///
    /// SQLite empties the log by itself only while no other connection reads or writes, which never happens with two
    /// busy processes. This function waits a short time for such a moment. If there is none, the next attempt follows
    /// when the log has grown by a quarter of its limit.
    ///
    /// Once the log is twice as long as its limit, each process waits here after its next write until the log is empty.
    /// So the log exceeds that length by at most one write of each process, unless a connection reads for longer than
    /// ``Settings/longLogPatience``.
    private func emptyLongLog(_ db: Database) {
        let length = location.logLength
        guard length >= nextCheckpoint.load(ordering: .relaxed) else {
            if length < settings.logLimit {
                nextCheckpoint.store(settings.logLimit, ordering: .relaxed)
            }
            return
        }
        database.emptyLog(db, waiting: settings.checkpointPatience)
        let bound = 2 * settings.logLimit
        if location.logLength >= bound {
            let end = ContinuousClock.now + settings.longLogPatience
            while location.logLength >= bound, ContinuousClock.now < end {
                // SQLite does not wait for a checkpoint of another process.
                usleep(1_000)
                database.emptyLog(db, waiting: end - ContinuousClock.now)
            }
        }
        let left = location.logLength
        let next = max(settings.logLimit, left + settings.logLimit / 4)
        nextCheckpoint.store(left < bound ? min(next, bound) : next, ordering: .relaxed)
    }
}
#endif
