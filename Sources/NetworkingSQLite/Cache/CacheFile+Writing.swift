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
            let groups = entry.groups.map { Self.changeID(ofGroup: $0, at: key.origin, digestKey) }
            if let change {
                if try hasChanged(changeID(of: key.url), since: change, db) { return nil }
                for group in groups where try hasChanged(group, since: change, db) {
                    return nil
                }
            }
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
            let row = db.lastInsertedRowID
            for group in groups {
                try db.run(SQL.addMembership, [group, row])
            }
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
            let isOutdated = try change.map { try hasChanged(changeID(of: url), since: $0, db) } ?? false
            let numbers = try Int64.fetchAll(db.cachedStatement(sql: SQL.keyNumbers), arguments: [Data(url.utf8)])
            for number in numbers {
                try db.remove(key: number)
            }
            let number = try noteChange(changeID(of: url), db)
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
            _ = try noteChange(nil, db)
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
        try await write { [self] db in _ = try noteChange(nil, db) }
    }

    /// Records a change of a URL or a group, or of all URLs without an id, and returns its number.
    private func noteChange(_ id: String?, _ db: Database) throws -> Int64 {
        try db.run(SQL.addChange, [id ?? ""])
        guard let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
        // A change of all URLs includes all earlier changes.
        try db.run(SQL.forgetChanges, [id == nil ? number - 1 : number - settings.maximumChanges])
        return number
    }

    /// Returns whether a URL or a group has changed since the change with a number; also `true` if that change is no
    /// longer recorded, or belongs to another file.
    private func hasChanged(_ id: String, since number: Int64, _ db: Database) throws -> Bool {
        guard let latest = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)),
            number <= latest, latest - number <= settings.maximumChanges
        else { return true }
        let statement = try db.cachedStatement(sql: SQL.hasChanged)
        return try Int.fetchOne(statement, arguments: [number, id]) != 0
    }

    /// A digest, since URLs may be long and their changes outlive their entries.
    private func changeID(of url: String) -> String {
        digestKey.digest(of: Array(url.utf8))
    }

    /// A digest that differs from that of each URL, because no URL starts with a zero.
    private static func changeID(ofGroup name: String, at origin: String, _ digestKey: CacheDigestKey) -> String {
        digestKey.digest(of: [0] + origin.utf8 + [0] + name.utf8)
    }
}

// MARK: - Groups

extension CacheFile {
    /// The number of entries that are read at a time, because there may be too many for the memory.
    private static let batch = 1_000

    /// Removes all entries of groups in a scope, and outdates the fetches of such entries that are in progress.
    func remove(groups: Set<String>, at scope: CacheGroupScope) async throws {
        try await write { [self] db in
            for group in groups {
                let name = Self.changeID(ofGroup: group, at: scope.origin, digestKey)
                try Self.removeMembers(of: name, at: scope, db)
                _ = try noteChange(name, db)
            }
            try db.shrink()
        }
    }

    private static func removeMembers(of name: String, at scope: CacheGroupScope, _ db: Database) throws {
        var last = Int64.min
        while true {
            var count = 0
            var members: [(entry: Int64, key: Int64)] = []
            try db.forEachRow(SQL.members, .bytes(Array(name.utf8)), .integer(last), .integer(Int64(batch))) { row in
                count += 1
                last = row.integer(0)
                let key = row.bytes(2) { url in row.bytes(3) { CacheKey(url: url, owner: $0) } }
                // A key that cannot be read is not kept either.
                if key.map(scope.contains) ?? true {
                    members.append((last, row.integer(1)))
                }
            }
            for (entry, key) in members {
                try db.run(SQL.removeNumber, [entry])
                try db.run(SQL.removeKeyIfEmpty, [key])
            }
            guard count == batch else { return }
        }
    }

    /// Adds the groups of all entries, which a file of an older format does not have.
    static func addMemberships(_ db: Database) throws {
        let digestKey = try digestKey(in: db)
        var last = Int64.min
        while true {
            var count = 0
            var members: [(name: String, entry: Int64)] = []
            try db.forEachRow(SQL.heads, .integer(last), .integer(Int64(batch))) { row in
                count += 1
                last = row.integer(0)
                guard let url = row.bytes(1, { String(validating: $0, as: UTF8.self) }),
                    let entry = row.bytes(2, { EntryHead.decode($0, id: UUID(), body: Data()) }), !entry.groups.isEmpty
                else { return }
                let origin = CacheKey(principal: nil, url: url).origin
                for group in entry.groups {
                    members.append((changeID(ofGroup: group, at: origin, digestKey), last))
                }
            }
            for (name, entry) in members {
                try db.run(SQL.addMembership, [name, entry])
            }
            guard count == batch else { return }
        }
    }
}
#endif
