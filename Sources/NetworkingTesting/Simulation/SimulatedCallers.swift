import NetworkingCore
import Synchronization

/// The callers of a simulation, each with one call.
final class SimulatedCallers: Sendable {
    private let stack: any NetworkingComponent
    private let clock: SimulationClock
    private let record: SimulationRecord
    private let patience: Duration
    private let state = Mutex(State())

    /// The time in which a call must end after its cancellation.
    private static let remainder = Duration.seconds(600)

    private struct State {
        var calls: [Int: OwnedTask<Void>] = [:]
        /// The number of calls that waited for something that does not happen.
        var stalled: Int?
        /// The wait for the end of the last call.
        var idle: Suspension<Void>?
    }

    init(over stack: any NetworkingComponent, clock: SimulationClock, record: SimulationRecord, patience: Duration) {
        self.stack = stack
        self.clock = clock
        self.record = record
        self.patience = patience
    }

    /// Starts a call at each arrival, and waits for the last call.
    func run(_ arrivals: Arrivals, _ request: @Sendable (Int) -> HTTPRequestData) async throws {
        var (moment, number) = (Duration.zero, 0)
        do {
            while let next = arrivals.next(after: moment) {
                moment = next
                try await clock.sleep(until: next, tolerance: nil)
                start(number, request(number))
                number += 1
            }
        } catch {
            cancelCalls()
        }
        let idle = Suspension<Void>()
        let isIdle = state.withLock { state in
            state.idle = idle
            return state.calls.isEmpty
        }
        if !isIdle {
            let limit = clock.alarm(at: clock.now + patience + Self.remainder) { [weak self] in self?.giveUp() }
            defer { limit.cancel() }
            try? await idle.value(until: nil) { [self] in cancelCalls() }
        }
        try Task.checkCancellation()
        if let stalled = state.withLock({ $0.stalled }) { throw SimulationStalled(calls: stalled) }
    }

    /// Ends a simulation in which nothing happens any more.
    ///
    /// The first time it cancels the calls, and the second time it waits for them no longer.
    func stall() {
        let isFirst = state.withLock { state in
            defer { state.stalled = state.stalled ?? state.calls.count }
            return state.stalled == nil
        }
        if isFirst {
            cancelCalls()
        } else {
            giveUp()
        }
    }

    /// Waits no longer for calls that do not end.
    private func giveUp() {
        state.withLock { state in
            state.stalled = state.stalled ?? state.calls.count
            return state.idle
        }?
        .resume()
    }

    private func cancelCalls() {
        for call in state.withLock({ $0.calls.values }) {
            call.cancel()
        }
    }

    private func start(_ number: Int, _ request: HTTPRequestData) {
        let start = clock.now
        let call = OwnedTask.immediate { [self] in
            let result = await Result.of(request, over: stack)
            record.add(start: start, end: clock.now, result)
            state.withLock { state in
                state.calls[number] = nil
                return state.calls.isEmpty ? state.idle : nil
            }?
            .resume()
        }
        state.withLock { $0.calls[number] = call }
        _ = clock.alarm(at: start + patience) { [weak self] in
            self?.state.withLock { $0.calls[number] }?.cancel()
        }
    }
}

extension Result<HTTPResponseData, any Error> {
    fileprivate static func of(_ request: HTTPRequestData, over stack: any NetworkingComponent) async -> Self {
        do {
            return .success(try await stack.send(request))
        } catch {
            return .failure(error)
        }
    }
}
