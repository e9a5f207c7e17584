#if SQLite
import GRDB

/// The statements of the cache, which are prepared once for each connection.
///
/// They use `ifnull` because GRDB passes an empty parameter as NULL.
enum SQL {
    static let entries = """
        SELECT keys.id, entries.cost, entries.id, checksum, uuid, head, CASE WHEN entries.cost <= ?3 THEN body END
        FROM keys JOIN entries ON entries.key = keys.id WHERE url = ifnull(?1, x'') AND owner = ?2
        """
    static let keys = "SELECT id, url, owner FROM keys WHERE id > ? ORDER BY id LIMIT ?"
    static let keyNumber = "SELECT id FROM keys WHERE url = ifnull(?, x'') AND owner = ?"
    static let keyNumbers = "SELECT id FROM keys WHERE url = ifnull(?, x'')"
    /// Uses are counted, because a clock that is set back would make new entries the first to be removed.
    private static let nextUse = "(SELECT ifnull(max(used), 0) + 1 FROM keys)"
    static let use = "UPDATE keys SET used = \(nextUse) WHERE id = ?"
    static let useKey = """
        INSERT INTO keys (used, url, owner) VALUES (\(nextUse), ifnull(?, x''), ?)
        ON CONFLICT (url, owner) DO UPDATE SET used = excluded.used RETURNING id
        """
    static let addEntry = """
        INSERT INTO entries (key, cost, checksum, uuid, head, body) VALUES (?, ?, ?, ?, ?, ?)
        """
    static let addMembership = "INSERT OR IGNORE INTO memberships (name, entry) VALUES (?, ?)"
    /// The next entries of a group.
    static let members = """
        SELECT entry, keys.id, url, owner FROM memberships
        JOIN entries ON entries.id = entry JOIN keys ON keys.id = entries.key
        WHERE name = CAST(?1 AS TEXT) AND entry > ?2 ORDER BY entry LIMIT ?3
        """
    static let heads = """
        SELECT entries.id, url, head FROM entries JOIN keys ON keys.id = entries.key
        WHERE entries.id > ? ORDER BY entries.id LIMIT ?
        """
    static let removeEntry = "DELETE FROM entries WHERE key = ? AND uuid = ?"
    static let removeNumber = "DELETE FROM entries WHERE id = ?"
    static let keyCost = "SELECT sum(cost) FROM entries WHERE key = ?"
    static let variants = "SELECT count(*) FROM entries WHERE key = ?"
    /// The numbers of rows increase, so the oldest row has the smallest one.
    static let removeOldestVariant = """
        DELETE FROM entries WHERE id = (SELECT min(id) FROM entries WHERE key = ?)
        """
    static let removeEntries = "DELETE FROM entries WHERE key = ?"
    static let removeKey = "DELETE FROM keys WHERE id = ?"
    static let removeKeyIfEmpty = """
        DELETE FROM keys WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE key = ?1)
        """
    static let latestChange = "SELECT max(number) FROM changes"
    static let addChange = """
        INSERT INTO changes (number, url) VALUES ((SELECT max(number) + 1 FROM changes), ?)
        ON CONFLICT (url) DO UPDATE SET number = excluded.number
        """
    static let forgetChanges = "DELETE FROM changes WHERE number <= ?"
    static let hasChanged = "SELECT count(*) FROM changes WHERE number > ?1 AND url IN (?2, '')"
    static let leastUsed = "SELECT id FROM keys ORDER BY used LIMIT 1"
    static let totalCost = "SELECT cost FROM totals"
    static let totals = "SELECT count, cost FROM totals"

    static let all = [
        entries, keys, keyNumber, keyNumbers, use, useKey, addEntry, removeEntry, removeNumber, keyCost, variants,
        removeOldestVariant, removeEntries, removeKey, removeKeyIfEmpty, latestChange, addChange, forgetChanges,
        hasChanged, addMembership, members, heads,
        leastUsed, totalCost, totals,
    ]
}

extension Database {
    /// Removes a key with its entries and returns the number of entries.
    @discardableResult
    func remove(key: Int64) throws -> Int {
        let count = try run(SQL.removeEntries, [key])
        // A damaged index may contain rows that do not exist, and would return them again and again.
        guard try run(SQL.removeKey, [key]) == 1 else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        return count
    }

    /// Removes the least recently used keys, and returns the number of removed entries.
    func trim(toCost most: Int) throws -> Int {
        var count = 0
        while try Int.fetchOne(cachedStatement(sql: SQL.totalCost)) ?? 0 > most {
            guard let key = try Int64.fetchOne(cachedStatement(sql: SQL.leastUsed)) else {
                // There are no keys, so the remaining entries belong to none.
                try execute(sql: "DELETE FROM entries; UPDATE totals SET cost = 0, count = 0")
                break
            }
            count += try remove(key: key)
        }
        return count
    }

    /// Returns unused pages to the file system if there are many.
    ///
    /// It releases a limited number of pages, because other writes wait.
    ///
    /// - Returns: `true` if there are more.
    /// - Throws: An error of SQLite.
    @discardableResult
    func shrink() throws -> Bool {
        let free = try Int.fetchOne(cachedStatement(sql: "PRAGMA freelist_count")) ?? 0
        guard free > 1024 else { return false }
        let pages = try Int.fetchOne(cachedStatement(sql: "PRAGMA page_count")) ?? 0
        guard free > pages / 4 else { return false }
        try execute(sql: "PRAGMA incremental_vacuum(4096)")
        // A file that was created without incremental vacuum keeps its pages.
        let left = try Int.fetchOne(cachedStatement(sql: "PRAGMA freelist_count")) ?? 0
        return left > 4096 && left < free
    }
}
#endif
