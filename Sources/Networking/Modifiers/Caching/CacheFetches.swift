import Synchronization

/// The fetches that are under way, so that one which began before its URL was changed is not kept after that.
final class CacheFetches: Sendable {
    private struct State {
        var fetches: [String: Fetch] = [:]
        /// URLs whose entries were to be removed, and are not yet.
        var doomed: Set<String> = []
        /// How often everything was outdated.
        var generation: UInt64 = 0

        func now(_ url: String) -> Beginning {
            Beginning(generation: generation, changes: fetches[url]?.changes ?? 0)
        }
    }

    private struct Fetch {
        /// How many are under way.
        var count = 0
        /// How often they were outdated.
        var changes: UInt64 = 0
    }

    /// Where things stood when a fetch began.
    struct Beginning: Sendable, Equatable {
        fileprivate let generation: UInt64
        fileprivate let changes: UInt64
    }

    private let state = Mutex(State())

    /// A fetch from a URL begins; it has to be ended.
    func begin(_ url: String) -> Beginning {
        state.withLock { state in
            state.fetches[url, default: Fetch()].count += 1
            return state.now(url)
        }
    }

    /// Whether what a fetch brings still counts.
    func isCurrent(_ beginning: Beginning, _ url: String) -> Bool {
        state.withLock { $0.now(url) == beginning }
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
    func doom(_ url: String) {
        state.withLock { state in
            state.fetches[url]?.changes += 1
            state.doomed.insert(url)
        }
    }

    /// What was stored of a URL is gone.
    func spare(_ url: String) {
        state.withLock { _ = $0.doomed.remove(url) }
    }

    func isDoomed(_ url: String) -> Bool {
        state.withLock { !$0.doomed.isEmpty && $0.doomed.contains(url) }
    }

    func outdateAll() {
        state.withLock { $0.generation += 1 }
    }
}
