import HTTPTypes
import Networking
import Synchronization

/// A limit by Gradient2 of Netflix's concurrency-limits, with its defaults: the counter-example to `adaptiveLimit`.
///
/// It compares the latency with a mean of past latencies. Under a lasting overload that mean becomes the latency of the
/// overload, so the limit grows to its maximum.
struct Gradient2Limit: NetworkingModifier {
    private let state = Shared()

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private struct State {
        var limit = 20.0
        var inFlight = 0
        private var mean = 0.0
        private var windows = 0
        private var window: [Double] = []

        mutating func add(_ latency: Duration, sentWith inFlight: Int) {
            window.append(latency / .seconds(1))
            guard window.count == 25 else { return }
            let short = window.reduce(0, +) / 25
            window.removeAll(keepingCapacity: true)
            windows += 1
            mean += (short - mean) * (windows <= 10 ? 1 / Double(windows) : 2 / 601)
            if mean / short > 2 { mean *= 0.95 }
            guard Double(inFlight) >= limit / 2 else { return }
            let gradient = max(0.5, min(1, 1.5 * mean / short))
            limit = min(max(20, limit * 0.8 + (limit * gradient + 4) * 0.2), 200)
        }
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let inFlight = state.state.withLock { state -> Int? in
            guard state.inFlight < Int(state.limit) else { return nil }
            state.inFlight += 1
            return state.inFlight
        }
        guard let inFlight else {
            throw NetworkingError(.rejected, request: request, reason: "As many requests are in flight as allowed.")
        }
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        defer {
            state.state.withLock { state in
                state.inFlight -= 1
                state.add(clock.now - start, sentWith: inFlight)
            }
        }
        return try await upstream.send(request)
    }
}
