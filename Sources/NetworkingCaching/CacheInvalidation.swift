import NetworkingCore
import Synchronization

/// The fetches in progress, and the removals that are not finished.
///
/// A URL changes when its entries are removed: by the app, or because an unsafe request may have changed the resource.
/// A response is not stored if its URL was changed after its fetch began. Entries with an unfinished removal are not
/// used.
final class CacheInvalidation: Sendable {
    private struct State {
        var fetches: [String: Fetch] = [:]
        /// The URLs with entries that are still to be removed, with the number of the change.
        var invalid: [String: UInt64] = [:]
        /// The other removals that are not finished, by the number of the change.
        var removals: [UInt64: Removal] = [:]
        /// The removals of groups that are not finished, by the number of the change.
        var groupRemovals: [UInt64: GroupRemoval] = [:]
        /// The latest changes of groups, the oldest first.
        var groupChanges: [(number: UInt64, removal: GroupRemoval)] = []
        /// The number of the newest change of groups that is no longer in the list.
        var forgottenGroupChange: UInt64 = 0
        /// The total number of changes.
        var changes: UInt64 = 0
        /// The URLs of the latest changes, each at its number modulo the size; `nil` for a change of all URLs.
        var latest: [String?] = Array(repeating: nil, count: CacheInvalidation.maximumLatest)
        /// The number of changes that made all fetches outdated.
        var generation: UInt64 = 0

        func beginning(of url: String) -> Beginning {
            Beginning(generation: generation, changes: fetches[url]?.changes ?? 0, start: changes)
        }

        /// Records a change of a URL, or of all URLs.
        mutating func record(_ url: String?) {
            changes += 1
            latest[Int(changes % UInt64(latest.count))] = url
        }

        /// Whether a URL was changed after a number of changes; also `true` if there were too many changes to know.
        func hasChanged(_ url: String, since number: UInt64) -> Bool {
            guard changes > number else { return false }
            guard changes - number <= UInt64(latest.count) else { return true }
            return (number + 1...changes)
                .contains { number in
                    let changed = latest[Int(number % UInt64(latest.count))]
                    return changed == nil || changed == url
                }
        }

        /// The URLs that were changed after a number of changes; `nil` if all were, or too many to know.
        func urls(changedSince number: UInt64) -> [String]? {
            guard changes > number else { return [] }
            guard changes - number <= UInt64(latest.count) else { return nil }
            var urls: [String] = []
            for number in number + 1...changes {
                guard let url = latest[Int(number % UInt64(latest.count))] else { return nil }
                urls.append(url)
            }
            return urls
        }

        /// Marks everything for removal, because there are too many separate removals to remember.
        mutating func invalidateAll() {
            // The removal needs its own number, because the caller ends the removal with the current one.
            record(nil)
            invalid = [:]
            groupRemovals = [:]
            removals = [changes: Removal(token: changes, isUnwanted: { _ in true }, isUnderWay: false)]
        }
    }

    /// A removal of many keys, which takes some time.
    struct Removal: Sendable {
        let token: UInt64
        let isUnwanted: @Sendable (CacheKey) -> Bool
        /// Whether a task is carrying it out; other tasks then only avoid the entries that it removes.
        var isUnderWay: Bool
    }

    /// A removal of groups (RFC 9875).
    struct GroupRemoval: Sendable {
        let token: UInt64
        let groups: Set<String>
        let scope: CacheGroupScope
        /// Whether a task is carrying it out.
        var isUnderWay: Bool

        func concerns(_ entry: CachedEntry, _ key: CacheKey) -> Bool {
            !groups.isDisjoint(with: entry.groups) && scope.contains(key)
        }
    }

    private struct Fetch {
        /// The number of fetches in progress.
        var count = 0
        /// The number of changes that made them outdated.
        var changes: UInt64 = 0
        /// The number of entries that were stored in the meantime.
        var stores: UInt64 = 0
    }

    /// The state of a URL when a fetch begins.
    struct Beginning: Sendable {
        fileprivate let generation: UInt64
        fileprivate let changes: UInt64
        /// The total number of changes before the store was read.
        fileprivate var start: UInt64
    }

    /// The state of all URLs at one moment.
    struct Snapshot: Sendable {
        fileprivate let changes: UInt64
        /// Whether removals are not finished.
        let hasUnfinishedRemovals: Bool
    }

    /// The unfinished removals that concern a key.
    enum UnfinishedRemovals {
        case none
        case url(UInt64)
        case several([Removal])
    }

    /// The maximum number of URLs with unfinished removals; it limits the memory if the store never removes anything.
    private static let maximumInvalid = 1_000
    private static let maximumRemovals = 32
    /// The maximum number of changes that are stored with their URL.
    ///
    /// Reading a store takes less time than that many changes.
    private static let maximumLatest = 256
    /// The maximum number of changes of groups that are stored with their names.
    private static let maximumGroupChanges = 64

    private let state = Mutex(State())

    func snapshot() -> Snapshot {
        state.withLock { state in
            Snapshot(
                changes: state.changes,
                hasUnfinishedRemovals: !state.invalid.isEmpty || !state.removals.isEmpty
                    || !state.groupRemovals.isEmpty
            )
        }
    }

    /// Begins a fetch from a URL; each fetch must be ended with `end(_:)`.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - snapshot: The state before the store was read. If the URL was changed since then, the response is not
    ///     stored.
    /// - Returns: The state of the URL; `nil` if it was changed since then.
    func begin(_ url: String, since snapshot: Snapshot) -> Beginning? {
        state.withLock { state in
            state.fetches[url, default: Fetch()].count += 1
            guard !state.hasChanged(url, since: snapshot.changes) else { return nil }
            var beginning = state.beginning(of: url)
            beginning.start = snapshot.changes
            return beginning
        }
    }

    /// Records that an entry of a URL with fetches in progress was stored.
    func noteStore(_ url: String) {
        state.withLock { $0.fetches[url]?.stores += 1 }
    }

    /// The number of entries that were stored since the oldest fetch in progress from a URL began.
    func storeCount(_ url: String) -> UInt64 {
        state.withLock { $0.fetches[url]?.stores ?? 0 }
    }

    /// Keeps the state of a URL for work that continues after its fetch; the work must be ended with `end(_:)` too.
    func extend(_ url: String) {
        state.withLock { $0.fetches[url, default: Fetch()].count += 1 }
    }

    func beginning(of url: String) -> Beginning {
        state.withLock { $0.beginning(of: url) }
    }

    /// Whether the response of a fetch may still be stored.
    func isCurrent(_ beginning: Beginning?, _ url: String) -> Bool {
        guard let beginning else { return false }
        let current = self.beginning(of: url)
        return (current.generation, current.changes) == (beginning.generation, beginning.changes)
    }

    /// Whether an entry that a fetch has created may be stored.
    ///
    /// It must not belong to a group that was changed in the meantime, and no URL for which the entry would be returned
    /// may have been changed either. If there were too many changes to know, the entry is not stored.
    func isCurrent(_ beginning: Beginning?, _ key: CacheKey, _ entry: CachedEntry) -> Bool {
        guard let beginning, isCurrent(beginning, key.url) else { return false }
        let search = entry.facts.search
        guard search != nil || !entry.groups.isEmpty else { return true }
        let since = state.withLock { state in
            (
                areForgotten: state.forgottenGroupChange > beginning.start,
                groups: state.groupChanges.filter { $0.number > beginning.start }.map(\.removal),
                urls: search == nil ? [] : state.urls(changedSince: beginning.start)
            )
        }
        if !entry.groups.isEmpty, since.areForgotten || since.groups.contains(where: { $0.concerns(entry, key) }) {
            return false
        }
        guard let search else { return true }
        return since.urls?.contains { search.isEquivalent($0, key.url) } == false
    }

    func end(_ url: String) {
        state.withLock { state in
            state.fetches[url]?.count -= 1
            if state.fetches[url]?.count == 0 {
                state.fetches[url] = nil
            }
        }
    }

    /// Marks the fetches from a URL as outdated, and its stored entries as unusable.
    ///
    /// - Parameter url: The URL.
    /// - Returns: A token for `endRemoval(of:_:)`, to be called once the entries are removed.
    func invalidate(_ url: String) -> UInt64 {
        state.withLock { state in
            state.record(url)
            state.fetches[url]?.changes += 1
            let token = state.changes
            state.invalid[url] = token
            if state.invalid.count > Self.maximumInvalid {
                state.invalidateAll()
            }
            return token
        }
    }

    /// Ends a removal after its entries are removed.
    ///
    /// A later change of the URL stays in effect.
    func endRemoval(of url: String, _ token: UInt64) {
        state.withLock { state in
            if let number = state.invalid[url], number <= token {
                state.invalid[url] = nil
            }
        }
    }

    /// Begins a removal of the keys that match a predicate, and marks all fetches as outdated.
    ///
    /// - Parameter isUnwanted: Returns `true` for the keys to remove.
    /// - Returns: A token for `endRemoval(_:hasFailed:)`, to be called once the entries are removed.
    func invalidate(where isUnwanted: @escaping @Sendable (CacheKey) -> Bool) -> UInt64 {
        let token = outdateAll()
        state.withLock { state in
            state.removals[token] = Removal(token: token, isUnwanted: isUnwanted, isUnderWay: true)
            if state.removals.count > Self.maximumRemovals {
                state.invalidateAll()
            }
        }
        return token
    }

    /// Ends a removal; if it has failed, the next request for one of its keys repeats it.
    func endRemoval(_ token: UInt64, hasFailed: Bool) {
        state.withLock { state in
            if hasFailed {
                state.removals[token]?.isUnderWay = false
            } else {
                state.removals[token] = nil
            }
        }
    }

    /// Takes a failed removal over, and returns whether the caller must carry it out.
    func takeOver(_ token: UInt64) -> Bool {
        state.withLock { state in
            guard state.removals[token]?.isUnderWay == false else { return false }
            state.removals[token]?.isUnderWay = true
            return true
        }
    }

    func unfinishedRemovals(of key: CacheKey) -> UnfinishedRemovals {
        let (number, removals) = state.withLock { state in
            (state.invalid.isEmpty ? nil : state.invalid[key.url], Array(state.removals.values))
        }
        // The predicates are called outside the lock.
        let concerning = removals.filter { $0.isUnwanted(key) }
        guard concerning.isEmpty else { return .several(concerning) }
        return number.map { .url($0) } ?? .none
    }

    // MARK: Groups

    /// Begins a removal of groups: stored entries of them are not used, and entries of fetches in progress that belong
    /// to them are not stored.
    ///
    /// - Returns: A token for `endGroupRemoval(_:hasFailed:)`, to be called once the entries are removed.
    func invalidate(groups: Set<String>, at scope: CacheGroupScope) -> UInt64 {
        state.withLock { state in
            // A change of no URL.
            state.record("")
            let token = state.changes
            let removal = GroupRemoval(token: token, groups: groups, scope: scope, isUnderWay: true)
            state.groupChanges.append((token, removal))
            if state.groupChanges.count > Self.maximumGroupChanges {
                state.forgottenGroupChange = state.groupChanges.removeFirst().number
            }
            state.groupRemovals[token] = removal
            if state.groupRemovals.count > Self.maximumRemovals {
                state.invalidateAll()
            }
            return token
        }
    }

    /// Ends a removal of groups; if it has failed, the next request for a key of its scope repeats it.
    func endGroupRemoval(_ token: UInt64, hasFailed: Bool) {
        state.withLock { state in
            if hasFailed {
                state.groupRemovals[token]?.isUnderWay = false
            } else {
                state.groupRemovals[token] = nil
            }
        }
    }

    /// Takes over the failed removals of groups that may concern entries of a key; the caller must carry them out.
    func takeOverGroupRemovals(of key: CacheKey) -> [GroupRemoval] {
        state.withLock { state in
            guard !state.groupRemovals.isEmpty else { return [] }
            let failed = state.groupRemovals.values.filter { !$0.isUnderWay && $0.scope.contains(key) }
            for removal in failed {
                state.groupRemovals[removal.token]?.isUnderWay = true
            }
            return failed
        }
    }

    /// Returns the entries of a key that belong to no group whose removal is not finished.
    func usable(_ entries: [CachedEntry], of key: CacheKey) -> [CachedEntry] {
        let removals = state.withLock { Array($0.groupRemovals.values) }
        guard !removals.isEmpty else { return entries }
        return entries.filter { entry in !removals.contains { $0.concerns(entry, key) } }
    }

    /// Marks all fetches in progress as outdated.
    ///
    /// - Returns: The number of the change.
    @discardableResult
    func outdateAll() -> UInt64 {
        state.withLock { state in
            state.record(nil)
            state.generation += 1
            return state.changes
        }
    }
}
