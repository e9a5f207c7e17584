import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ImmediateClockTests {
    private let clock = NetworkClock.immediate()

    @Test func sleepReturnsAtOnceAndAdvancesTheClock() async throws {
        try await clock.sleep(for: .seconds(3))
        try await clock.sleep(for: .seconds(3_600))

        #expect(clock.now == .seconds(3_603))
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_003_603))
    }

    @Test func timeNeverDecreases() async throws {
        try await clock.sleep(until: .seconds(5))
        try await clock.sleep(until: .seconds(2))

        #expect(clock.now == .seconds(5))
    }

    @Test func cancelledSleepDoesNotAdvanceTheClock() async {
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(3))
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.now == .zero)
    }

    @Test func alarmsNeverFire() async throws {
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(3_600)).timeout(.seconds(1))
            .environment(\.clock, clock)

        #expect(try await network.data(.lawful).status == .ok)
    }

    @Test func clocksAreIndependent() async throws {
        let other = NetworkClock.immediate()

        try await clock.sleep(for: .seconds(1))

        #expect(other.now == .zero)
    }
}
