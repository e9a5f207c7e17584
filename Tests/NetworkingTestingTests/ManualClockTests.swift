import Foundation
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManualClockTests {
    private let clock = ManualClock()

    @Test func standsStillUntilItIsAdvanced() {
        #expect(clock.now.offset == .zero)
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_000_000))

        clock.advance(by: .milliseconds(1_500))
        clock.advance(by: .zero)

        #expect(clock.now.offset == .milliseconds(1_500))
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_000_001.5))
    }

    @Test func instantsAreMomentsOnALine() {
        let start = clock.now
        let later = start.advanced(by: .seconds(3))

        #expect(start < later)
        #expect(start.duration(to: later) == .seconds(3))
        #expect(later.duration(to: start) == .seconds(-3))
    }

    @Test func knowsWhoSleepsAndUntilWhen() async throws {
        #expect(clock.sleepers == 0)
        #expect(clock.nextDeadline == nil)
        let late = Task { try await sleep(.seconds(5)) }
        try await clock.waitForSleepers(1)
        let early = Task { try await sleep(.seconds(2)) }
        try await clock.waitForSleepers(2)

        #expect(clock.nextDeadline?.offset == .seconds(2))
        clock.advance(by: .seconds(5))

        try await late.value
        try await early.value
        #expect(clock.sleepers == 0)
    }

    @Test func wakesThoseThatAreDueAndNoOthers() async throws {
        let sleeps = (1...3).map { second in Task { try await sleep(.seconds(second)) } }
        try await clock.waitForSleepers(3)

        clock.advance(by: .seconds(2))
        try await sleeps[0].value
        try await sleeps[1].value
        #expect(clock.sleepers == 1)
        #expect(clock.nextDeadline?.offset == .seconds(3))

        clock.advanceToNextDeadline()
        try await sleeps[2].value
        #expect(clock.now.offset == .seconds(3))
    }

    @Test func ringsAlarmsEarliestFirstAndEqualOnesInOrder() {
        let rung = Rung()
        let network = NetworkClock.manual(clock)
        for (name, second) in [("c", 3), ("a", 1), ("d", 3), ("b", 2)] {
            _ = network.alarm(at: .seconds(second)) { rung.note(name) }
        }

        clock.advance(by: .seconds(3))

        #expect(rung.names == ["a", "b", "c", "d"])
    }

    @Test func alarmIsRungOutsideTheLock() {
        let rung = Rung()
        let network = NetworkClock.manual(clock)
        _ = network.alarm(at: .seconds(1)) { [clock] in
            rung.note("\(clock.now.offset)")
            _ = network.alarm(at: .seconds(2)) { rung.note("second") }
        }

        clock.advance(by: .seconds(1))
        #expect(rung.names == ["1.0 seconds"])
        clock.advance(by: .seconds(1))

        #expect(rung.names == ["1.0 seconds", "second"])
    }

    @Test func cancelledAlarmIsNoSleeper() {
        let rung = Rung()
        let alarm = NetworkClock.manual(clock).alarm(at: .seconds(1)) { rung.note("rang") }
        #expect(clock.sleepers == 1)

        alarm.cancel()
        #expect(clock.sleepers == 0)
        clock.advance(by: .seconds(1))

        #expect(rung.names.isEmpty)
    }

    @Test func advancingToTheNextDeadlineDoesNothingWhenNobodySleeps() {
        clock.advance(by: .seconds(1))

        clock.advanceToNextDeadline()

        #expect(clock.now.offset == .seconds(1))
    }

    @Test func sleepThatIsCancelledBeforeItBeginsThrows() async {
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await sleep(.seconds(1))
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
    }

    @Test func sleepThatIsCancelledThrowsAtOnce() async throws {
        let call = Task { try await sleep(.seconds(1)) }
        try await clock.waitForSleepers()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
        #expect(clock.now.offset == .zero)
    }

    @Test func cancellationAfterTheSleepChangesNothing() async throws {
        let call = Task { try await sleep(.seconds(1)) }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)

        call.cancel()

        // It was over before.
        try await call.value
    }

    @Test func waitersAreServedByTheirNumberOfSleepers() async throws {
        let one = Task { try await clock.waitForSleepers(1) }
        let two = Task { try await clock.waitForSleepers(2) }
        let first = Task { try await sleep(.seconds(1)) }
        try await one.value
        let second = Task { try await sleep(.seconds(1)) }
        try await two.value

        clock.advance(by: .seconds(1))
        try await first.value
        try await second.value
    }

    @Test func waiterForSleepersThatAreThereReturnsAtOnce() async throws {
        try await clock.waitForSleepers(0)
        _ = NetworkClock.manual(clock).alarm(at: .seconds(1)) {}

        try await clock.waitForSleepers(1)
    }

    @Test func cancelledWaiterThrowsAndTheOthersWaitOn() async throws {
        let leaving = Task { try await clock.waitForSleepers(1) }
        let staying = Task { try await clock.waitForSleepers(1) }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }

        let sleeper = Task { try await sleep(.seconds(1)) }
        try await staying.value

        clock.advance(by: .seconds(1))
        try await sleeper.value
    }

    @Test func timeDoesNotGoBack() async {
        await #expect(processExitsWith: .failure) { ManualClock().advance(by: .seconds(-1)) }
    }

    @Test func servesAsAClockOfTheStandardLibrary() async throws {
        let call = Task { try await Task.sleep(for: .seconds(1), clock: clock) }

        try await clock.advance(by: .seconds(1), afterSleepers: 1)

        try await call.value
    }

    @Test func thousandsSleepAndAreCancelled() async throws {
        let calls = (0..<2_000)
            .map { number in
                Task {
                    try await sleep(.seconds(number % 10 + 1))
                    return number
                }
            }
        try await clock.waitForSleepers(2_000)

        for (number, call) in calls.enumerated() where number.isMultiple(of: 2) {
            call.cancel()
        }
        #expect(clock.sleepers == 1_000)
        clock.advance(by: .seconds(10))

        var awake: [Int] = []
        for call in calls {
            if case .success(let number) = await call.result {
                awake.append(number)
            }
        }
        #expect(awake == (0..<2_000).filter { !$0.isMultiple(of: 2) })
        #expect(clock.sleepers == 0)
    }

    private func sleep(_ duration: Duration) async throws {
        try await clock.sleep(until: ManualClock.Instant(offset: duration))
    }
}

private final class Rung: Sendable {
    private let state = Mutex<[String]>([])

    var names: [String] {
        state.withLock { $0 }
    }

    func note(_ name: String) {
        state.withLock { $0.append(name) }
    }
}
