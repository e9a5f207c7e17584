#if SQLite
import Dispatch
public import Foundation
import GRDB
public import Networking
import Synchronization

/// Keeps entries in an SQLite database, up to a cost; the keys that were used longest ago go first.
///
/// ```swift
/// let store = SQLiteCacheStore(file: .temporaryDirectory.appending(path: "responses.sqlite"))
/// let network = URLSession.shared.cached(in: store)
/// ```
///
/// Several processes may use one file, and each of them may end at any moment: what `store` has returned from is kept,
/// and what is returned is whole. The files are for this user of the machine only, and not encrypted.
///
/// The file is opened at its first use, or by ``open()``, so that a store that cannot be opened stops no app: each use
/// of it fails with a ``SQLiteCacheError``, which `cached` tells as an event. A damaged file is set aside, up to two of
/// them, and a new one takes its place.
///
/// A task that is cancelled ends none of these: what has begun is carried out.
public final class SQLiteCacheStore: CacheStore {
    /// The file of the database; beside it are others whose names begin with its name.
    public let file: URL
    /// The most bytes that an entry may take.
    public let entryCostLimit: Int
    private let settings: CacheFile.Settings
    private let onDamage: (@Sendable (SQLiteCacheError) -> Void)?
    /// Where files are opened and set aside, which waits for the disk and for other processes.
    private let openings = DispatchQueue(label: "SQLiteCacheStore.openings")
    /// Changed on that queue only.
    private let opened = Mutex<CacheFile?>(nil)

    /// Creates a store; the file and its directory are made when it is first used.
    ///
    /// - Parameters:
    ///   - file: The file of the database.
    ///   - costLimit: The most bytes of all entries; 256 MiB by default. The files take some more: up to 4 KiB for an
    ///     entry, and the write-ahead log.
    ///   - entryCostLimit: The most bytes of one; 16 MiB by default, and no more than 512.
    ///   - onDamage: Is told when a damaged file was set aside; the use that has found it fails with the same error.
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
        self.file = file.absoluteURL
        // SQLite has rows of up to 10^9 bytes.
        self.entryCostLimit = max(0, min(entryCostLimit, settings.costLimit, 512 << 20))
        self.settings = settings
        self.onDamage = onDamage
    }

    /// Opens the file, unless it is open; whoever does not hears at the first use what is wrong with it.
    ///
    /// - Throws: ``SQLiteCacheError``.
    public func open() async throws {
        _ = try await current()
    }

    /// How many entries there are.
    public var count: Int {
        get async throws {
            try await using { try await $0.totals().count }
        }
    }

    /// How many bytes they take.
    public var cost: Int {
        get async throws {
            try await using { try await $0.totals().cost }
        }
    }

    /// Returns the random key that was made with the file and is kept in it.
    ///
    /// - Returns: The key, which every store and process that uses the file shares.
    /// - Throws: ``SQLiteCacheError``.
    public func digestKey() async throws -> CacheDigestKey? {
        try await using { $0.digestKey }
    }

    /// All entries of a key, which counts as used now; one that is damaged is removed, and not among them.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries, in any order.
    /// - Throws: ``SQLiteCacheError``.
    public func entries(for key: CacheKey) async throws -> [CachedEntry] {
        try await using { file in
            let found = try await file.entries(for: key)
            if !found.damaged.isEmpty {
                try await file.removeDamaged(for: key)
            }
            return found.entries
        }
    }

    /// Keeps an entry, unless it costs more than one may; a key's oldest variant goes when there are more than 32.
    ///
    /// When the disk is full, twice its cost of others makes room for it, as far as the disk has room for removing
    /// them.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: How many others went to make room for it.
    /// - Throws: ``SQLiteCacheError``; then it is not kept.
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
        return try await using { file in
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
        try await using { try await $0.latestChange() }
    }

    /// Removes an entry, or all of a key.
    ///
    /// - Parameters:
    ///   - id: The id; nil for all.
    ///   - key: The key.
    /// - Throws: ``SQLiteCacheError``.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
        try await using { try await $0.remove(id, for: key) }
    }

    /// Removes all entries of a URL.
    ///
    /// - Parameter url: The URL.
    /// - Throws: ``SQLiteCacheError``.
    public func remove(url: String) async throws {
        try await using { _ = try await $0.remove(url: url) }
    }

    /// Removes all entries of a URL, and checks whether any process has removed the URL since a change.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of this removal; `nil` if the URL was also removed after the change.
    /// - Throws: ``SQLiteCacheError``.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        try await using { try await $0.remove(url: url, checkingSince: change) }
    }

    /// Removes the entries of all keys that a closure names; it is asked once about each.
    ///
    /// - Parameter isUnwanted: Names them.
    /// - Throws: ``SQLiteCacheError``; then some of them may be gone.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        // At the start and at the end, since a response that is on its way meanwhile may be among them.
        try await using { try await $0.changeAll() }
        // In chunks, since all keys may be more than the memory should hold; what comes meanwhile has greater numbers.
        var last = Int64.min
        while true {
            let after = last
            let keys = try await using { try await $0.keys(after: after, most: 1000) }
            guard let end = keys.last else { break }
            last = end.number
            let unwanted = keys.filter { $0.key.map(isUnwanted) ?? true }
            if !unwanted.isEmpty {
                try await using { try await $0.remove(unwanted) }
            }
        }
        try await using { file in
            try await file.changeAll()
            try await file.shrink()
        }
    }

    /// Removes what was used longest ago, until the rest takes no more than a number of bytes.
    ///
    /// - Parameter cost: How many bytes may stay.
    /// - Throws: ``SQLiteCacheError``.
    public func trim(toCost cost: Int) async throws {
        try await using { file in
            _ = try await file.trim(toCost: max(0, cost))
            try await file.shrink()
        }
    }
}

extension SQLiteCacheStore {
    /// Does something with the file, off the caller's actor, and sees to what is wrong with it.
    @concurrent
    private func using<Value: Sendable>(_ work: @Sendable (CacheFile) async throws -> Value) async throws -> Value {
        let file = try await current()
        do {
            return try await work(file)
        } catch {
            // One that was moved or removed meanwhile is of no account. One whose tables are others than they were is
            // opened again, which finds out why. Neither has kept anything.
            guard !file.isInPlace || CacheFault(error, self.file) == .unknownTables else {
                throw await outcome(of: CacheFault(error, self.file), file)
            }
            await close(file)
        }
        let fresh = try await current()
        do {
            return try await work(fresh)
        } catch {
            throw await outcome(of: CacheFault(error, self.file), fresh)
        }
    }

    /// The file, which is opened unless it is open.
    private func current() async throws -> CacheFile {
        if let file = opened.withLock({ $0 }), file.isInPlace { return file }
        return try await withCheckedThrowingContinuation { continuation in
            openings.async { [self] in
                continuation.resume(with: Result { try openNow() })
            }
        }
    }

    private func openNow() throws(SQLiteCacheError) -> CacheFile {
        if let file = opened.withLock({ $0 }), file.isInPlace { return file }
        opened.withLock { $0 = nil }
        guard file.isFileURL else {
            throw .unusable(
                reason: "The store needs a file URL (is \(file.scheme ?? "a URL without a scheme")). Use "
                    + "URL(filePath:)."
            )
        }
        let location = location
        do {
            try location.prepare()
            let opened = try location.locked(patience: settings.patience) { () throws -> CacheFile in
                try location.prepareFiles()
                do {
                    return try CacheFile(at: location, settings)
                } catch CacheSchema.Mismatch.keyless {
                    try location.removeFiles()
                    try location.prepareFiles()
                    return try CacheFile(at: location, settings)
                } catch {
                    guard CacheFault(error, self.file).isDamage else { throw error }
                    throw SQLiteCacheError.damaged(movedTo: URL(fileURLWithPath: try location.setAside()))
                }
            }
            self.opened.withLock { $0 = opened }
            return opened
        } catch let error as SQLiteCacheError {
            onDamage?(error)
            throw error
        } catch {
            throw CacheFault(error, self.file).error(file)
        }
    }

    /// What a fault is to the caller; damage is seen to first.
    private func outcome(of fault: CacheFault, _ cacheFile: CacheFile) async -> SQLiteCacheError {
        guard fault.isDamage else { return fault.error(file) }
        return await withCheckedContinuation { continuation in
            openings.async { [self] in
                continuation.resume(returning: setAsideNow(cacheFile))
            }
        }
    }

    private func setAsideNow(_ damaged: CacheFile) -> SQLiteCacheError {
        opened.withLock { opened in
            if opened === damaged { opened = nil }
        }
        let location = location
        do {
            let moved = try location.locked(patience: settings.patience) {
                // Another process or task may have done it, and this may be a new one.
                damaged.isInPlace ? URL(fileURLWithPath: try location.setAside()) : nil
            }
            let error = SQLiteCacheError.damaged(movedTo: moved)
            if moved != nil {
                onDamage?(error)
            }
            return error
        } catch {
            return CacheFault(error, self.file).error(file)
        }
    }

    /// Closes the file for tests that go on with it by other means, when nothing is under way: the last reference may
    /// end later.
    func close() async {
        let file = opened.withLock { $0 }
        guard let file else { return }
        await close(file)
        file.close()
    }

    private func close(_ file: CacheFile) async {
        await withCheckedContinuation { continuation in
            openings.async { [self] in
                opened.withLock { opened in
                    if opened === file { opened = nil }
                }
                continuation.resume()
            }
        }
    }

    private var location: CacheLocation {
        CacheLocation(path: file.path)
    }
}
#endif
