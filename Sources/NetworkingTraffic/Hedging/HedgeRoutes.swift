import HTTPTypes
import NetworkingCore
import Synchronization

/// The latencies and the budgets of the routes that a `hedged` modifier has sent requests to.
final class HedgeRoutes: Sendable {
    /// The maximum number of routes; the least recently used are removed first.
    private static let limit = 256

    private struct Key: Hashable {
        let authority: AuthorityKey?
        let method: HTTPRequest.Method
        let route: String?
    }

    private struct State {
        var routes: [Key: HedgeRoute] = [:]
        // Most requests follow one of the same kind, and comparing keys takes a third of the time of hashing one.
        var latest: (key: Key, route: HedgeRoute)?
    }

    private let extraLoad: Double
    private let state = Mutex(State())

    init(extraLoad: Double) {
        self.extraLoad = extraLoad
    }

    /// The number of routes in memory.
    var count: Int {
        state.withLock { $0.routes.count }
    }

    /// Returns the route of a request.
    func route(of request: HTTPRequestData) -> HedgeRoute {
        let key = Key(authority: request.authorityKey, method: request.method, route: request.route)
        return state.withLock { state in
            if let latest = state.latest, latest.key == key { return latest.route }
            let route = state.routes[key] ?? add(key, to: &state)
            state.latest = (key, route)
            return route
        }
    }

    private func add(_ key: Key, to state: inout State) -> HedgeRoute {
        if state.routes.count >= Self.limit {
            // A tenth is removed at a time, so that the search for them is cheap on average.
            let oldest = state.routes.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(Self.limit / 10)
            for (key, _) in oldest {
                state.routes[key] = nil
            }
        }
        let route = HedgeRoute(extraLoad: extraLoad)
        state.routes[key] = route
        return route
    }
}

/// The latencies of one route, and its budget of extra attempts.
final class HedgeRoute: Sendable {
    /// The maximum number of extra attempts that a route may save up.
    private static let maximumBalance = 10.0

    private struct State {
        var window: LatencyWindow
        var balance = 0.0
    }

    private let extraLoad: Double
    private let use = Atomic(Int64.min)
    private let state: Mutex<State>

    init(extraLoad: Double) {
        self.extraLoad = extraLoad
        state = Mutex(State(window: LatencyWindow(tail: extraLoad)))
    }

    /// The time of the last call.
    var lastUse: Int64 {
        use.load(ordering: .relaxed)
    }

    /// Counts the start of a call, and returns the latencies so far; `nil` if there are too few.
    func begin(at now: Int64) -> HedgingPolicy.Latencies? {
        use.store(now, ordering: .relaxed)
        return state.withLock { state in
            state.balance = min(Self.maximumBalance, state.balance + extraLoad)
            return state.window.latencies(at: now)
        }
    }

    /// Adds the latency of an attempt.
    func add(_ latency: Int64, isCensored: Bool = false, at now: Int64) {
        state.withLock { $0.window.add(latency, isCensored: isCensored, at: now) }
    }

    /// Takes an extra attempt from the budget, which has no reserve: it holds what the calls have paid in.
    func withdraw() -> Bool {
        state.withLock { state in
            // Floating-point sums are inexact, and 50 × 0.02 must allow one attempt.
            guard state.balance + 1e-9 >= 1 else { return false }
            state.balance -= 1
            return true
        }
    }

    /// Refunds an extra attempt that was not made.
    func refund() {
        state.withLock { $0.balance = min(Self.maximumBalance, $0.balance + 1) }
    }
}
