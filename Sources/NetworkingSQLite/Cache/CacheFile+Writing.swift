#if SQLite
import Foundation
import GRDB
import NetworkingCaching

// MARK: - Writing

extension CacheFile {
    /// Stores an entry, unless its URL was removed after a change.
    ///
    /// - Returns: The number of entries that were evicted; `nil` if the entry is not stored.
    func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64? = nil) async throws -> Int? {
        let head = EntryHead.encode(entry)
        return try await write { [self, costLimit = settings.costLimit] db -> Int? in
            if let change, try hasChanged(key.url, since: change, db) { return nil }
            let (url, owner, uuid) = (key.urlBytes, key.ownerBytes, entry.id.bytes)
            let checksum = uuid.withUnsafeBytes { uuid in
                head.withUnsafeBytes { head in
                    entry.body.withUnsafeBytes {
                        Checksum.value(url: url, owner: owner, uuid: uuid, head: head, body: $0)
                    }
                }
            }
            let number =
                try Int64.fetchOne(db.cachedStatement(sql: SQL.useKey), arguments: [Data(url), Data(owner)]) ?? 0
            try db.run(SQL.removeEntry, [number, uuid])
            try db.run(SQL.addEntry, [number, entry.cost, checksum, uuid, head, entry.body])
            var evicted = 0
            if try Int.fetchOne(db.cachedStatement(sql: SQL.variants), arguments: [number]) ?? 0 > Self.maximumVariants
            {
                evicted += try db.run(SQL.removeOldestVariant, [number])
            }
            // Variants of the same key are evicted before other keys.
            while try Int.fetchOne(db.cachedStatement(sql: SQL.keyCost), arguments: [number]) ?? 0 > costLimit {
                guard try db.run(SQL.removeOldestVariant, [number]) == 1 else { break }
                evicted += 1
            }
            // The key of the new entry is within the limit and the last one to be removed, so it stays.
            evicted += try db.trim(toCost: costLimit)
            if evicted > 0 {
                try db.shrink()
            }
            return evicted
        }
    }

    /// Removes an entry, or all entries of a key.
    func remove(_ id: UUID?, for key: CacheKey) async throws {
        try await write { db in
            let arguments: StatementArguments = [Data(key.urlBytes), Data(key.ownerBytes)]
            guard let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.keyNumber), arguments: arguments) else {
                return
            }
            if let id {
                try db.run(SQL.removeEntry, [number, id.bytes])
                try db.run(SQL.removeKeyIfEmpty, [number])
            } else {
                try db.remove(key: number)
            }
            try db.shrink()
        }
    }

    /// Removes all entries of a URL.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: The number of an earlier change; `nil` if the caller needs no result.
    /// - Returns: The number of this removal; `nil` if the URL was also removed after the change.
    /// - Throws: An error of SQLite.
    @discardableResult
    func remove(url: String, checkingSince change: Int64? = nil) async throws -> Int64? {
        try await write { [self] db -> Int64? in
            let isOutdated = try change.map { try hasChanged(url, since: $0, db) } ?? false
            let numbers = try Int64.fetchAll(db.cachedStatement(sql: SQL.keyNumbers), arguments: [Data(url.utf8)])
            for number in numbers {
                try db.remove(key: number)
            }
            let number = try noteChange(of: url, db)
            try db.shrink()
            return isOutdated ? nil : number
        }
    }

    /// Removes all entries of some keys.
    ///
    /// A key that could not be read is removed by its number. The removal is a change of all URLs, because such a key
    /// has no URL.
    func remove(_ keys: [(number: Int64, key: CacheKey?)]) async throws {
        try await write { [self] db in
            for (number, key) in keys {
                guard let key else {
                    try db.run(SQL.removeEntries, [number])
                    try db.run(SQL.removeKey, [number])
                    continue
                }
                let arguments: StatementArguments = [Data(key.urlBytes), Data(key.ownerBytes)]
                if let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.keyNumber), arguments: arguments) {
                    try db.remove(key: number)
                }
            }
            _ = try noteChange(of: nil, db)
            try db.shrink()
        }
    }

    /// Removes the damaged entries of a key; checks them again first, because their numbers may have been reused.
    func removeDamaged(for key: CacheKey) async throws {
        try await write { db in
            let found = try Found(db, key, upToCost: .max)
            for number in found.damaged {
                try db.run(SQL.removeNumber, [number])
            }
            if let number = found.key {
                try db.run(SQL.removeKeyIfEmpty, [number])
            }
        }
    }

    /// Removes the least recently used keys until the total cost is at most a limit, and returns the number of removed
    /// entries.
    func trim(toCost cost: Int) async throws -> Int {
        try await write { db in
            let count = try db.trim(toCost: cost)
            try db.shrink()
            return count
        }
    }
}

// MARK: - Changes

extension CacheFile {
    /// The number of the latest change.
    func latestChange() async throws -> Int64 {
        try await quickly { db in
            guard let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) else {
                throw DatabaseSchema.Mismatch.invalid
            }
            return number
        }
    }

    /// Records that all URLs have changed.
    func changeAll() async throws {
        try await write { [self] db in _ = try noteChange(of: nil, db) }
    }

    /// Records a change of a URL or of all URLs, and returns its number.
    private func noteChange(of url: String?, _ db: Database) throws -> Int64 {
        try db.run(SQL.addChange, [url.map(changeID) ?? ""])
        guard let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
        // A change of all URLs includes all earlier changes.
        try db.run(SQL.forgetChanges, [url == nil ? number - 1 : number - settings.maximumChanges])
        return number
    }

    /// Returns whether a URL has changed since the change with a number; also `true` if that change is no longer
    /// recorded, or belongs to another file.
    private func hasChanged(_ url: String, since number: Int64, _ db: Database) throws -> Bool {
        guard let latest = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)),
            number <= latest, latest - number <= settings.maximumChanges
        else { return true }
        let statement = try db.cachedStatement(sql: SQL.hasChanged)
        return try Int.fetchOne(statement, arguments: [number, changeID(of: url)]) != 0
    }

    /// A digest, since URLs may be long and their changes outlive their entries.
    private func changeID(of url: String) -> String {
        digestKey.digest(of: Array(url.utf8))
    }
}
#endif
