import Foundation
import Networking
import NetworkingTesting
import Synchronization

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// A store of shared limits that a test controls: the arithmetic of the library, with a clock of its own.
final class FakeRateLimitStore: RateLimitStore {
    enum Behavior: Sendable {
        case works
        case fails
        /// It does not return until it is cancelled.
        case hangs
        /// It does not return, even if it is cancelled.
        case ignoresCancellation
        /// It takes this time, on the environment's clock.
        case takes(Duration)
        case returns(RateLimitGrant)
    }

    private struct State {
        var behavior = Behavior.works
        var limits: [String: RateLimitState] = [:]
        var demands: [RateLimitDemand] = []
        var running = 0
        var maximumRunning = 0
        var permits = 0
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Duration

    init(now: @escaping @Sendable () -> Duration) {
        self.now = now
    }

    var behavior: Behavior {
        get { state.withLock { $0.behavior } }
        set { state.withLock { $0.behavior = newValue } }
    }

    var demands: [RateLimitDemand] { state.withLock { $0.demands } }

    /// The maximum number of calls at a time.
    var maximumRunning: Int { state.withLock { $0.maximumRunning } }

    /// The number of permits that processes have and have not given back.
    var permits: Int { state.withLock { $0.permits } }

    func take(_ demand: RateLimitDemand) async throws -> RateLimitGrant {
        let behavior = state.withLock { state in
            state.demands.append(demand)
            state.running += 1
            state.maximumRunning = max(state.maximumRunning, state.running)
            return state.behavior
        }
        defer { state.withLock { $0.running -= 1 } }
        switch behavior {
        case .works: break
        case .fails: throw CocoaError(.fileReadUnknown)
        case .hangs: try await Task.sleep(for: .seconds(600))
        case .ignoresCancellation: await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in }
        case .takes(let duration): try await NetworkEnvironment.current.clock.sleep(for: duration)
        case .returns(let grant): return grant
        }
        let now = now()
        return state.withLock { state in
            let grant = state.limits[demand.key, default: RateLimitState()].take(demand, at: now)
            state.permits += grant.permits - demand.returned
            return grant
        }
    }
}

/// A component that passes each request to one of several stacks, by the first component of its path.
struct Machines: NetworkingComponent {
    let route: @Sendable (_ machine: Int, HTTPRequestData) async throws -> HTTPResponseData

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await route(Int((request.path ?? "/").dropFirst()) ?? 0, request)
    }
}
