#if SQLite
import Foundation
import GRDB
import NetworkingCaching
import Synchronization

extension CacheFile {
    /// The maximum cost of an entry that is read on the thread of the calling task.
    ///
    /// Copying and checking it takes some microseconds, about as long as switching to another thread.
    private static let smallCost = 16 << 10

    /// Returns the valid entries of a key and the numbers of the damaged ones, and records a use of the key.
    ///
    /// Small entries are read on the thread of the calling task: switching to a queue and back takes three times as
    /// long. A `DatabasePool` would take twice as long, because it queries the version of the tables before each read.
    func entries(for key: CacheKey) async throws -> Found {
        let found = try await quickly { try Found($0, key, upToCost: Self.smallCost) }
        note(found)
        guard found.isPartial else { return found }
        return try await slowly { try Found($0, key, upToCost: .max) }
    }

    /// Reads on the thread of the calling task, or on another thread if the file is locked by another process.
    func quickly<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try readNow(work)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return try await slowly(work)
        }
    }

    private func readNow<Value>(_ work: (Database) throws -> Value) throws -> Value {
        let turn = turn.add(1, ordering: .relaxed).oldValue
        return try readers[abs(turn % readers.count)].unsafeRead(work)
    }

    /// Returns the number of entries and their total cost.
    func totals() async throws -> (count: Int, cost: Int) {
        try await slowly { db in
            var totals = (count: 0, cost: 0)
            try db.forEachRow(SQL.totals) { row in
                totals = (Int(row.integer(0)), Int(row.integer(1)))
            }
            return totals
        }
    }

    /// Returns the next keys after a number, in order.
    ///
    /// - Parameters:
    ///   - number: The number.
    ///   - most: The maximum number of keys.
    /// - Returns: The keys and their numbers; a key is `nil` if it cannot be read.
    /// - Throws: An error of SQLite.
    func keys(after number: Int64, most: Int) async throws -> [(number: Int64, key: CacheKey?)] {
        try await slowly { db in
            var keys: [(number: Int64, key: CacheKey?)] = []
            try db.forEachRow(SQL.keys, .integer(number), .integer(Int64(most))) { row in
                let number = row.integer(0)
                keys.append((number, row.bytes(1) { url in row.bytes(2) { CacheKey(url: url, owner: $0) } }))
            }
            return keys
        }
    }

    func slowly<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            slowReader.asyncUnsafeRead { db in
                continuation.resume(with: Result { try work(db.get()) })
            }
        }
    }

    struct Found: Sendable {
        var entries: [CachedEntry] = []
        /// The numbers of the damaged entries.
        var damaged: [Int64] = []
        /// Whether large entries were skipped.
        var isPartial = false
        var key: Int64?

        init(_ db: Database, _ key: CacheKey, upToCost limit: Int) throws {
            let (url, owner) = (key.urlBytes, key.ownerBytes)
            try db.forEachRow(SQL.entries, .bytes(url), .bytes(owner), .integer(Int64(limit))) { row in
                self.key = row.integer(0)
                guard row.integer(1) <= limit else {
                    isPartial = true
                    return
                }
                let checksum = row.integer(3)
                let entry = row.bytes(4) { uuid in
                    row.bytes(5) { head in
                        row.bytes(6) { body -> CachedEntry? in
                            guard uuid.count == 16,
                                checksum == Checksum.value(url: url, owner: owner, uuid: uuid, head: head, body: body)
                            else { return nil }
                            let id = UUID(uuid: uuid.loadUnaligned(as: uuid_t.self))
                            return EntryHead.decode(head, id: id, body: Data(body))
                        }
                    }
                }
                if let entry {
                    entries.append(entry)
                } else {
                    damaged.append(row.integer(2))
                }
            }
        }
    }
}
#endif
