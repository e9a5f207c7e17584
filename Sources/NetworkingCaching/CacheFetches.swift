import NetworkingCore
import Synchronization

/// The fetches that are under way, so that one which began before its URL was changed is not kept after that; and what
/// was to be removed and could not be.
final class CacheFetches: Sendable {
    private struct State {
        var fetches: [String: Fetch] = [:]
        /// URLs whose entries were to be removed and are not yet, with the number of the change.
        var doomed: [String: UInt64] = [:]
        /// What else was to be removed and is not yet, by the number of the change.
        var removals: [UInt64: Removal] = [:]
        /// How often anything was changed.
        var changes: UInt64 = 0
        /// The URLs of the latest changes, each at its number modulo the size; `nil` for a change of all URLs.
        var latest: [String?] = Array(repeating: nil, count: CacheFetches.mostLatest)
        /// How often everything was outdated.
        var generation: UInt64 = 0

        func standing(of url: String) -> Beginning {
            Beginning(generation: generation, changes: fetches[url]?.changes ?? 0)
        }

        /// Notes a change of a URL, or of all.
        mutating func note(_ url: String?) {
            changes += 1
            latest[Int(changes % UInt64(latest.count))] = url
        }

        /// Whether a URL was changed after a number of changes; also `true` when there were too many to know.
        func hasChanged(_ url: String, since number: UInt64) -> Bool {
            guard changes > number else { return false }
            guard changes - number <= UInt64(latest.count) else { return true }
            return (number + 1...changes)
                .contains { number in
                    let changed = latest[Int(number % UInt64(latest.count))]
                    return changed == nil || changed == url
                }
        }

        /// Everything is to be removed, since there is too much to tell.
        mutating func doomAll() {
            doomed = [:]
            removals = [changes: Removal(token: changes, isUnwanted: { _ in true }, isUnderWay: false)]
        }
    }

    /// Of many keys, which takes a while.
    struct Removal: Sendable {
        let token: UInt64
        let isUnwanted: @Sendable (CacheKey) -> Bool
        /// Whether somebody is at it; others have nothing to do but to leave alone what goes.
        var isUnderWay: Bool
    }

    private struct Fetch {
        /// How many are under way.
        var count = 0
        /// How often they were outdated.
        var changes: UInt64 = 0
    }

    /// Where things stand with a URL.
    struct Beginning: Sendable, Equatable {
        fileprivate let generation: UInt64
        fileprivate let changes: UInt64
    }

    /// Where things stand with everything.
    struct Glance: Sendable {
        fileprivate let changes: UInt64
        /// Whether anything was to be removed and is not yet.
        let hasDoomed: Bool
    }

    /// What was to be removed and concerns a key.
    enum Doom {
        case none
        case url(UInt64)
        case several([Removal])
    }

    /// A store that never removes anything must not fill the memory.
    private static let maximumDoomed = 1_000
    private static let maximumRemovals = 32
    /// As many changes are remembered by their URLs; a store is read in less time than they take.
    private static let mostLatest = 256

    private let state = Mutex(State())

    func glance() -> Glance {
        state.withLock { state in
            Glance(
                changes: state.changes,
                hasDoomed: !state.doomed.isEmpty || !state.removals.isEmpty
            )
        }
    }

    /// A fetch from a URL begins; it has to be ended.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - glance: How things stood when the store was read; if the URL was changed since, nothing of the fetch is
    ///     kept.
    /// - Returns: Where it stands with the URL; nil when that is so.
    func begin(_ url: String, since glance: Glance) -> Beginning? {
        state.withLock { state in
            state.fetches[url, default: Fetch()].count += 1
            return state.hasChanged(url, since: glance.changes) ? nil : state.standing(of: url)
        }
    }

    func standing(of url: String) -> Beginning {
        state.withLock { $0.standing(of: url) }
    }

    /// Whether what a fetch brings still counts.
    func isCurrent(_ beginning: Beginning?, _ url: String) -> Bool {
        state.withLock { $0.standing(of: url) == beginning }
    }

    func end(_ url: String) {
        state.withLock { state in
            state.fetches[url]?.count -= 1
            if state.fetches[url]?.count == 0 {
                state.fetches[url] = nil
            }
        }
    }

    /// Whatever is being fetched from a URL is from before a change, and whatever is stored of it is not to be used.
    ///
    /// - Parameter url: The URL.
    /// - Returns: What ends that, when it is gone.
    func doom(_ url: String) -> UInt64 {
        state.withLock { state in
            state.note(url)
            state.fetches[url]?.changes += 1
            state.doomed[url] = state.changes
            if state.doomed.count > Self.maximumDoomed {
                state.doomAll()
            }
            return state.changes
        }
    }

    /// What was stored of a URL is gone; a later change of it is another matter.
    func spare(_ url: String, _ token: UInt64) {
        state.withLock { state in
            if let doomed = state.doomed[url], doomed <= token {
                state.doomed[url] = nil
            }
        }
    }

    /// What a closure names is to be removed, which is under way, and whatever is being fetched is from before that.
    ///
    /// - Parameter isUnwanted: Names it.
    /// - Returns: What ends that, when it is gone.
    func doom(where isUnwanted: @escaping @Sendable (CacheKey) -> Bool) -> UInt64 {
        let token = outdateAll()
        state.withLock { state in
            state.removals[token] = Removal(token: token, isUnwanted: isUnwanted, isUnderWay: true)
            if state.removals.count > Self.maximumRemovals {
                state.doomAll()
            }
        }
        return token
    }

    /// A removal is over; if it has failed, it is for the next who wants what it names.
    func end(_ token: UInt64, hasFailed: Bool) {
        state.withLock { state in
            if hasFailed {
                state.removals[token]?.isUnderWay = false
            } else {
                state.removals[token] = nil
            }
        }
    }

    /// Whether a removal that has failed is now the caller's to carry out.
    func claim(_ token: UInt64) -> Bool {
        state.withLock { state in
            guard state.removals[token]?.isUnderWay == false else { return false }
            state.removals[token]?.isUnderWay = true
            return true
        }
    }

    func doom(of key: CacheKey) -> Doom {
        let (doom, removals) = state.withLock { state in
            (state.doomed.isEmpty ? nil : state.doomed[key.url], Array(state.removals.values))
        }
        // The closures are asked outside the lock.
        let concerning = removals.filter { $0.isUnwanted(key) }
        guard concerning.isEmpty else { return .several(concerning) }
        return doom.map { .url($0) } ?? .none
    }

    /// Whatever is being fetched is from before a change.
    ///
    /// - Returns: The number of the change.
    @discardableResult
    func outdateAll() -> UInt64 {
        state.withLock { state in
            state.note(nil)
            state.generation += 1
            return state.changes
        }
    }
}
