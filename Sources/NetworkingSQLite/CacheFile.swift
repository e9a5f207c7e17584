#if SQLite
import Foundation
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
    private let writer: DatabaseQueue
    /// For small entries, which are read on the thread of the calling task.
    ///
    /// They never wait for another process.
    private let readers: [DatabaseQueue]
    /// For what takes longer, so that nobody waits for it on a thread of the caller's.
    private let slowReader: DatabaseQueue
    private let turn = Atomic(0)
    private let settings: Settings
    private let uses = Mutex(Uses())
    /// The length of the log from which on it is emptied.
    ///
    /// Only the writer uses it.
    private let nextCheckpoint: Atomic<Int64>

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

    /// Entries with a higher cost are not read on the thread of the calling task.
    ///
    /// Copied and checked in some microseconds; a trip to another thread takes as long.
    private static let smallCost = 16 << 10

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

    // MARK: Reading

    /// All sound entries of a key, which counts as used now, and the numbers of those that are not.
    ///
    /// Read on the thread of the calling task: by way of a queue and back it takes three times as long. Not through a
    /// `DatabasePool`, which asks for the version of the tables before each read, and takes twice as long.
    func entries(for key: CacheKey) async throws -> Found {
        let found = try await quickly { try Found($0, key, upToCost: Self.smallCost) }
        note(found)
        guard found.isPartial else { return found }
        return try await slowly { try Found($0, key, upToCost: .max) }
    }

    /// Reads on the thread of the calling task, and elsewhere if another process is in the way.
    private func quickly<Value: Sendable>(
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

    /// The number of entries, and what they cost.
    func totals() async throws -> (count: Int, cost: Int) {
        try await slowly { db in
            var totals = (count: 0, cost: 0)
            try db.forEachRow(SQL.totals) { row in
                totals = (Int(row.integer(0)), Int(row.integer(1)))
            }
            return totals
        }
    }

    /// The keys with greater numbers than one, in order, and as many as asked for.
    ///
    /// A key that cannot be read is nil.
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

    private func slowly<Value: Sendable>(
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
        /// The numbers of those that do not check out.
        var damaged: [Int64] = []
        /// Whether some were not read, since they are large.
        var isPartial = false
        fileprivate var key: Int64?

        fileprivate init(_ db: Database, _ key: CacheKey, upToCost limit: Int) throws {
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

    // MARK: Writing

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
            // Its own variants before what others use.
            while try Int.fetchOne(db.cachedStatement(sql: SQL.keyCost), arguments: [number]) ?? 0 > costLimit {
                guard try db.run(SQL.removeOldestVariant, [number]) == 1 else { break }
                evicted += 1
            }
            let trimmed = try db.trim(toCost: costLimit)
            evicted += trimmed.count
            // It may be among those, when a key alone costs too much.
            if trimmed.keys.contains(number) {
                evicted -= 1
            }
            if evicted > 0 {
                try db.shrink()
            }
            return evicted
        }
    }

    /// Removes an entry, or all of a key.
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
    /// - Throws: What SQLite throws.
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

    /// Removes all entries of keys, by their numbers; those of a key that could not be read belong to nobody.
    func remove(_ keys: [(number: Int64, key: CacheKey?)]) async throws {
        try await write { db in
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
            try db.shrink()
        }
    }

    /// Removes entries that do not check out, unless something has taken their numbers since.
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

    /// Removes what was used longest ago, until the rest costs no more than this.
    func trim(toCost cost: Int) async throws -> Int {
        try await write { db in
            let trimmed = try db.trim(toCost: cost)
            try db.shrink()
            return trimmed.count
        }
    }

    // MARK: Changes

    /// The number of the latest change.
    func latestChange() async throws -> Int64 {
        try await quickly { db in
            guard let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) else {
                throw CacheSchema.Mismatch.senseless
            }
            return number
        }
    }

    /// Notes that all URLs have changed.
    func changeAll() async throws {
        try await write { [self] db in _ = try noteChange(of: nil, db) }
    }

    /// Notes a change of a URL or of all URLs, and returns its number.
    private func noteChange(of url: String?, _ db: Database) throws -> Int64 {
        try db.run(SQL.addChange, [url.map(changeID) ?? ""])
        guard let number = try Int64.fetchOne(db.cachedStatement(sql: SQL.latestChange)) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
        // A change of all URLs stands for those before it.
        try db.run(SQL.forgetChanges, [url == nil ? number - 1 : number - settings.maximumChanges])
        return number
    }

    /// Returns whether a URL was changed after a change; `true` also if that change is forgotten or of another file.
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

    /// One transaction, which is carried out also when the caller is cancelled meanwhile.
    ///
    /// GRDB's own awaited form ends with the task. But what a change on the server has made invalid must go, whether or
    /// not anybody waits for that, and an entry that came over the network is worth its 100 microseconds.
    private func write<Value: Sendable>(
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

    // MARK: Uses

    /// Which keys were used, in order, since that was last written.
    ///
    /// A write for each read would make a hit many times slower. What a process has noted when it ends is lost, and
    /// only that.
    private struct Uses {
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

    private func note(_ found: Found) {
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

/// The statements, which are prepared once for each connection.
///
/// `ifnull` stands for an empty parameter, which GRDB hands over as null.
private enum SQL {
    static let entries = """
        SELECT keys.id, entries.cost, entries.id, checksum, uuid, head, CASE WHEN entries.cost <= ?3 THEN body END
        FROM keys JOIN entries ON entries.key = keys.id WHERE url = ifnull(?1, x'') AND owner = ?2
        """
    static let keys = "SELECT id, url, owner FROM keys WHERE id > ? ORDER BY id LIMIT ?"
    static let keyNumber = "SELECT id FROM keys WHERE url = ifnull(?, x'') AND owner = ?"
    static let keyNumbers = "SELECT id FROM keys WHERE url = ifnull(?, x'')"
    /// Uses are counted, not timed: a clock that goes backwards would make what is new the first to go.
    private static let nextUse = "(SELECT ifnull(max(used), 0) + 1 FROM keys)"
    static let use = "UPDATE keys SET used = \(nextUse) WHERE id = ?"
    static let useKey = """
        INSERT INTO keys (used, url, owner) VALUES (\(nextUse), ifnull(?, x''), ?)
        ON CONFLICT (url, owner) DO UPDATE SET used = excluded.used RETURNING id
        """
    static let addEntry = """
        INSERT INTO entries (key, cost, checksum, uuid, head, body) VALUES (?, ?, ?, ?, ?, ?)
        """
    static let removeEntry = "DELETE FROM entries WHERE key = ? AND uuid = ?"
    static let removeNumber = "DELETE FROM entries WHERE id = ?"
    static let keyCost = "SELECT sum(cost) FROM entries WHERE key = ?"
    static let variants = "SELECT count(*) FROM entries WHERE key = ?"
    /// A row's number is greater than those before it.
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
        hasChanged,
        leastUsed, totalCost, totals,
    ]
}

extension Database {
    /// Runs a statement, and returns how many rows it has changed.
    @discardableResult
    fileprivate func run(_ sql: String, _ arguments: StatementArguments) throws -> Int {
        try cachedStatement(sql: sql).execute(arguments: arguments)
        return changesCount
    }

    /// Returns how many entries went.
    @discardableResult
    fileprivate func remove(key: Int64) throws -> Int {
        let count = try run(SQL.removeEntries, [key])
        // An index that names rows which are not there would name them again and again.
        guard try run(SQL.removeKey, [key]) == 1 else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        return count
    }

    /// Returns how many entries went, and the numbers of their keys.
    fileprivate func trim(toCost most: Int) throws -> (count: Int, keys: [Int64]) {
        var (count, keys): (Int, [Int64]) = (0, [])
        while try Int.fetchOne(cachedStatement(sql: SQL.totalCost)) ?? 0 > most {
            guard let key = try Int64.fetchOne(cachedStatement(sql: SQL.leastUsed)) else {
                // Without a key, what remains are rows of none.
                try execute(sql: "DELETE FROM entries; UPDATE totals SET cost = 0, count = 0")
                break
            }
            count += try remove(key: key)
            keys.append(key)
        }
        return (count, keys)
    }

    /// Gives unused pages at the end back to the disk when they are many; in chunks, since others wait.
    ///
    /// Returns whether there are more.
    @discardableResult
    fileprivate func shrink() throws -> Bool {
        let free = try Int.fetchOne(cachedStatement(sql: "PRAGMA freelist_count")) ?? 0
        guard free > 1024 else { return false }
        let pages = try Int.fetchOne(cachedStatement(sql: "PRAGMA page_count")) ?? 0
        guard free > pages / 4 else { return false }
        try execute(sql: "PRAGMA incremental_vacuum(4096)")
        // None goes from a file that somebody has made without that.
        let left = try Int.fetchOne(cachedStatement(sql: "PRAGMA freelist_count")) ?? 0
        return left > 4096 && left < free
    }
}

extension Checksum {
    fileprivate static func value(
        url: [UInt8],
        owner: [UInt8],
        uuid: UnsafeRawBufferPointer,
        head: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer
    ) -> Int64 {
        var checksum = Checksum()
        url.withUnsafeBytes { checksum.update($0) }
        owner.withUnsafeBytes { checksum.update($0) }
        for part in [uuid, head, body] {
            checksum.update(part)
        }
        return Int64(checksum.value)
    }
}

extension CacheKey {
    /// As bytes: SQLite would end a text at its first zero, and two keys would be one.
    fileprivate var urlBytes: [UInt8] {
        Array(url.utf8)
    }

    /// One byte says whether there is a principal, whatever its id.
    fileprivate var ownerBytes: [UInt8] {
        guard let principal else { return [0] }
        return [1] + principal.id.utf8
    }

    fileprivate init?(url: UnsafeRawBufferPointer, owner: UnsafeRawBufferPointer) {
        guard let url = String(validating: url, as: UTF8.self), let isOwned = owner.first,
            let id = String(validating: owner.dropFirst(), as: UTF8.self)
        else { return nil }
        self.init(principal: isOwned == 0 ? nil : Principal(id: id), url: url)
    }
}

extension UUID {
    fileprivate var bytes: Data {
        withUnsafeBytes(of: uuid) { Data($0) }
    }
}
#endif
