import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

/// Waits whose start other code sees, which then moves a clock.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WaitStartTests {
    /// Runs a wait of one second on a clock that moves by one second before the first read after the start.
    private func expectEnd(
        after isStarted: @autoclosure @escaping @Sendable () -> Bool,
        of wait: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (clock, isOver) = (MovingClock(), Flag())
        clock.move(by: .seconds(1), when: isStarted)
        var environment = NetworkEnvironment()
        environment.clock = NetworkClock(clock)
        let call = Task { [environment] in
            try? await withEnvironment(environment) { try await wait() }
            isOver.set()
        }
        defer { call.cancel() }
        try await eventually("the wait has started") { isStarted() }
        clock.moveNow()
        try await eventually("the wait ends") { isOver.isSet }
    }

    @Test func storeIsGivenUpAfterItsPatience() async throws {
        let isCalled = Flag()
        try await expectEnd(after: isCalled.isSet) {
            try await StoreWait.run(until: nil, atMost: .seconds(1)) {
                isCalled.set()
                try await MockGate().wait()
            }
        }
    }

    @Test func waitOfAModifierEndsAfterItsDuration() async throws {
        struct Observer: NetworkEventObserver {
            let isReported: Flag

            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) { isReported.set() }
        }

        let isReported = Flag()
        let request = HTTPRequestData.lawful.with { $0.addObserver(Observer(isReported: isReported)) }
        try await expectEnd(after: isReported.isSet) {
            try await request.wait(Wait("courtesy", isTimed: true), for: .seconds(1))
        }
    }

    @Test func shutdownCancelsTheCallsAtItsLimit() async throws {
        let shutdown = StackShutdown(within: .seconds(1))
        let held = HeldResponse()
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let call = Task { try await network.data(.lawful) }
        defer { call.cancel() }
        try await held.waitForRequests(1)
        try await expectEnd(after: shutdown.isStarted) { try await shutdown.drain() }
    }
}
