#if SQLite
public import Foundation
import GRDB
public import NetworkingCaching
import NetworkingCore

/// A cache store in an SQLite database with a cost limit, which removes the least recently used keys first.
///
/// ```swift
/// let store = SQLiteCacheStore(file: .temporaryDirectory.appending(path: "responses.sqlite"))
/// let network = URLSession.shared.cached(in: store)
/// ```
///
/// Several processes may use one file, and each of them may end at any moment: an entry is stored when `store` has
/// returned, and entries are returned completely or not at all. Only the current user of the machine can read the
/// files. They are not encrypted.
///
/// The file is opened at its first use, or by ``open()``, so a store that cannot be opened does not stop the app: each
/// use fails with a ``SQLiteCacheError``, which `cached` reports as an event. A damaged file is renamed and replaced by
/// a new one. The last two damaged files are kept.
///
/// Cancelling a task does not stop a read or write that has started.
public final class SQLiteCacheStore: CacheStore {
    /// The file of the database; SQLite and the store create other files with names that start with its name.
    public let file: URL
    /// The maximum cost of an entry, in bytes.
    public let entryCostLimit: Int
    let database: DatabaseHandle<CacheFile, SQLiteCacheError>

    /// Creates a store; the file and its directory are created when it is first used.
    ///
    /// - Parameters:
    ///   - file: The file of the database.
    ///   - costLimit: The maximum cost of all entries, in bytes; 256 MiB by default. The files also contain up to 4 KiB
    ///     for each entry, and the write-ahead log.
    ///   - entryCostLimit: The maximum cost of one entry, in bytes; 16 MiB by default, and at most 512 MiB.
    ///   - onDamage: Called after a damaged file was renamed. The use that has found the damage throws the same error.
    public convenience init(
        file: URL,
        costLimit: Int = 256 << 20,
        entryCostLimit: Int = 16 << 20,
        onDamage: (@Sendable (SQLiteCacheError) -> Void)? = nil
    ) {
        self.init(
            file: file,
            entryCostLimit: entryCostLimit,
            settings: CacheFile.Settings(costLimit: costLimit),
            onDamage: onDamage
        )
    }

    init(
        file: URL,
        entryCostLimit: Int = 16 << 20,
        settings: CacheFile.Settings,
        onDamage: (@Sendable (SQLiteCacheError) -> Void)? = nil
    ) {
        var settings = settings
        settings.costLimit = max(0, settings.costLimit)
        let file = file.absoluteURL
        self.file = file
        // SQLite has rows of up to 10^9 bytes.
        self.entryCostLimit = max(0, min(entryCostLimit, settings.costLimit, 512 << 20))
        database = DatabaseHandle(
            file: file,
            settings: settings.database,
            onDamage: { fault in onDamage?(SQLiteCacheError(fault, file)) },
            failure: SQLiteCacheError.init,
            make: { [settings] location in try CacheFile(at: location, settings) }
        )
    }

    /// Opens the file, unless it is open.
    ///
    /// Without this call, the first use opens the file and throws the errors of opening it.
    ///
    /// - Throws: ``SQLiteCacheError``, or `CancellationError` as soon as the caller is cancelled; the file is opened
    ///   nevertheless.
    public func open() async throws {
        try await StoreWait.run(until: nil) { [database] in try await database.open() }
    }

    /// The number of entries.
    public var count: Int {
        get async throws {
            try await database.using { try await $0.totals().count }
        }
    }

    /// The total cost of the entries, in bytes.
    public var cost: Int {
        get async throws {
            try await database.using { try await $0.totals().cost }
        }
    }

    /// Returns the random key that was created with the file and is stored in it.
    ///
    /// - Returns: The key, which every store and process that uses the file shares.
    /// - Throws: ``SQLiteCacheError``.
    public func digestKey() async throws -> CacheDigestKey? {
        try await database.using { $0.digestKey }
    }

    /// Returns all entries of a key and records a use of the key.
    ///
    /// Damaged entries are removed and not returned.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries, in any order.
    /// - Throws: ``SQLiteCacheError``.
    public func entries(for key: CacheKey) async throws -> [CachedEntry] {
        try await database.using { file in
            let found = try await file.entries(for: key)
            if !found.damaged.isEmpty {
                try await file.removeDamaged(for: key)
            }
            return found.entries
        }
    }

    /// Stores an entry, unless its cost exceeds ``entryCostLimit``.
    ///
    /// If the cost exceeds the limit, a stored entry with the same id is removed.
    ///
    /// A key has at most 32 variants; the oldest one is removed. If the disk is full, the store removes other entries
    /// of twice the cost and tries again. This fails if the disk has no space for the removal itself.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: The number of entries that were evicted.
    /// - Throws: ``SQLiteCacheError``; then the entry is not stored.
    @discardableResult
    public func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
        try await store(entry, for: key, ifUnchanged: nil) ?? 0
    }

    /// Stores an entry like ``store(_:for:)``, unless any process has removed its URL since a change.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of entries that were evicted; `nil` if the entry is not stored, because its URL was
    ///   removed, because more than 10,000 removals followed, or because the file has been replaced.
    /// - Throws: ``SQLiteCacheError``; then it is not stored.
    public func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
        try await store(entry, for: key, ifUnchanged: change)
    }

    private func store(_ entry: CachedEntry, for key: CacheKey, ifUnchanged change: Int64?) async throws -> Int? {
        guard entry.cost <= entryCostLimit else {
            try await remove(entry.id, for: key)
            return 0
        }
        return try await database.using { file in
            do {
                return try await file.store(entry, for: key, ifUnchangedSince: change)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
                try await file.checkpoint()
                let cost = try await file.totals().cost
                let evicted = try await file.trim(toCost: max(0, cost - 2 * entry.cost))
                try await file.checkpoint()
                return try await file.store(entry, for: key, ifUnchangedSince: change).map { $0 + evicted }
            }
        }
    }

    /// Returns the number of the latest removal by any process that uses the file.
    ///
    /// - Returns: The number.
    /// - Throws: ``SQLiteCacheError``.
    public func changeNumber() async throws -> Int64? {
        try await database.using { try await $0.latestChange() }
    }

    /// Removes an entry, or all entries of a key.
    ///
    /// - Parameters:
    ///   - id: The id; `nil` for all entries.
    ///   - key: The key.
    /// - Throws: ``SQLiteCacheError``.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
        try await database.using { try await $0.remove(id, for: key) }
    }

    /// Removes all entries of a URL.
    ///
    /// - Parameter url: The URL.
    /// - Throws: ``SQLiteCacheError``.
    public func remove(url: String) async throws {
        try await database.using { _ = try await $0.remove(url: url) }
    }

    /// Removes all entries of a URL, and checks whether any process has removed the URL since a change.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of this removal; `nil` if the URL was also removed after the change.
    /// - Throws: ``SQLiteCacheError``.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        try await database.using { try await $0.remove(url: url, checkingSince: change) }
    }

    /// Removes the entries that belong to any of several groups.
    ///
    /// An entry of these groups whose request was sent before is not stored afterwards, by any process.
    ///
    /// - Parameters:
    ///   - groups: The names of the groups.
    ///   - scope: The origin and the principals.
    /// - Throws: ``SQLiteCacheError``; then none of them is removed.
    public func remove(groups: Set<String>, at scope: CacheGroupScope) async throws {
        try await database.using { try await $0.remove(groups: groups, at: scope) }
    }

    /// Removes the entries of all keys for which a closure returns `true`.
    ///
    /// - Parameter isUnwanted: The closure, which is called once for each key.
    /// - Throws: ``SQLiteCacheError``; then some of the entries may have been removed.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        // The change is recorded at the start, with each removal and at the end, because a fetch may begin or end in
        // between.
        try await database.using { try await $0.changeAll() }
        // The keys are read in chunks, because there may be too many for the memory. Keys that are added meanwhile have
        // greater numbers.
        var last = Int64.min
        while true {
            let after = last
            let keys = try await database.using { try await $0.keys(after: after, most: 1000) }
            guard let end = keys.last else { break }
            last = end.number
            let unwanted = keys.filter { $0.key.map(isUnwanted) ?? true }
            if !unwanted.isEmpty {
                try await database.using { try await $0.remove(unwanted) }
            }
        }
        try await database.using { file in
            try await file.changeAll()
            try await file.shrink()
        }
    }

    /// Removes the least recently used keys until the total cost is at most a number of bytes.
    ///
    /// - Parameter cost: The maximum total cost, in bytes.
    /// - Throws: ``SQLiteCacheError``.
    public func trim(toCost cost: Int) async throws {
        try await database.using { file in
            _ = try await file.trim(toCost: max(0, cost))
            try await file.shrink()
        }
    }
}
#endif
