import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ManualClockTests {
    private let clock = ManualClock()

    @Test func advancesOnlyOnRequest() {
        #expect(clock.now.offset == .zero)
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_000_000))

        clock.advance(by: .milliseconds(1_500))
        clock.advance(by: .zero)

        #expect(clock.now.offset == .milliseconds(1_500))
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_000_001.5))
    }

    @Test func instantsCanBeComparedAndAdvanced() {
        let start = clock.now
        let later = start.advanced(by: .seconds(3))

        #expect(start < later)
        #expect(start.duration(to: later) == .seconds(3))
        #expect(later.duration(to: start) == .seconds(-3))
    }

    @Test func countsSleepersAndReportsTheNextDeadline() async throws {
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

    @Test func wakesOnlySleepersThatAreDue() async throws {
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

    @Test func firesAlarmsByDeadlineThenByCreation() {
        let fired = Journal()
        let network = NetworkClock.manual(clock)
        for (name, second) in [("c", 3), ("a", 1), ("d", 3), ("b", 2)] {
            _ = network.alarm(at: .seconds(second)) { fired.note(name) }
        }

        clock.advance(by: .seconds(3))

        #expect(fired.entries == ["a", "b", "c", "d"])
    }

    @Test func firesAlarmsOutsideTheLock() {
        let fired = Journal()
        let network = NetworkClock.manual(clock)
        _ = network.alarm(at: .seconds(1)) { [clock] in
            fired.note("\(clock.now.offset)")
            _ = network.alarm(at: .seconds(2)) { fired.note("second") }
        }

        clock.advance(by: .seconds(1))
        #expect(fired.entries == ["1.0 seconds"])
        clock.advance(by: .seconds(1))

        #expect(fired.entries == ["1.0 seconds", "second"])
    }

    @Test func doesNotCountACancelledAlarm() {
        let fired = Journal()
        let alarm = NetworkClock.manual(clock).alarm(at: .seconds(1)) { fired.note("rang") }
        #expect(clock.sleepers == 1)

        alarm.cancel()
        #expect(clock.sleepers == 0)
        clock.advance(by: .seconds(1))

        #expect(fired.entries.isEmpty)
    }

    @Test func advancingToTheNextDeadlineDoesNothingWithoutSleepers() {
        clock.advance(by: .seconds(1))

        clock.advanceToNextDeadline()

        #expect(clock.now.offset == .seconds(1))
    }

    @Test func sleepThrowsIfTheTaskIsAlreadyCancelled() async {
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await sleep(.seconds(1))
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
    }

    @Test func cancelledSleepThrowsAtOnce() async throws {
        let call = Task { try await sleep(.seconds(1)) }
        try await clock.waitForSleepers()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
        #expect(clock.now.offset == .zero)
    }

    @Test func cancellationAfterTheSleepIsIgnored() async throws {
        let call = Task { try await sleep(.seconds(1)) }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)

        call.cancel()

        // The sleep had already ended.
        try await call.value
    }

    @Test func waitReturnsAtItsNumberOfSleepers() async throws {
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

    @Test func waitReturnsAtOnceIfThereAreEnoughSleepers() async throws {
        try await clock.waitForSleepers(0)
        _ = NetworkClock.manual(clock).alarm(at: .seconds(1)) {}

        try await clock.waitForSleepers(1)
    }

    @Test func cancelledWaiterThrowsAndOtherWaitersContinue() async throws {
        let leaving = Task { try await clock.waitForSleepers(1) }
        let staying = Task { try await clock.waitForSleepers(1) }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }

        let sleeper = Task { try await sleep(.seconds(1)) }
        try await staying.value

        clock.advance(by: .seconds(1))
        try await sleeper.value
    }

    @Test func advancesToADate() async throws {
        let call = Task { try await sleep(.seconds(90)) }
        try await clock.waitForSleepers()

        clock.advance(to: Date(timeIntervalSince1970: 1_700_000_090))

        try await call.value
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_000_090))
        // Advancing to the current date is allowed, as is a date that differs by less than the precision of `Date`.
        clock.advance(to: clock.date)
        let other = ManualClock()
        other.advance(to: other.date.addingTimeInterval(-0.000_000_3))
        #expect(other.now.offset == .zero)
    }

    /// Arithmetic with `Date` is inexact by a fraction of a microsecond.
    @Test func roundsDatesToTheMicrosecond() async throws {
        let call = Task { try await sleep(.milliseconds(1_100)) }
        try await clock.waitForSleepers()

        clock.advance(to: Date(timeIntervalSince1970: 1_700_000_001.1))

        try await call.value
        #expect(clock.now.offset == .milliseconds(1_100))
    }

    @Test func descriptionListsTheWaits() async throws {
        #expect("\(clock)" == "0.0 seconds; no waits")
        clock.advance(by: .seconds(1))
        let alarm = NetworkClock.manual(clock).alarm(at: .seconds(10)) {}
        let call = Task { try await sleep(.seconds(5)) }
        try await clock.waitForSleepers(2)

        #expect("\(clock)" == "1.0 seconds; waiting: a task until 5.0 seconds, a timeout at 10.0 seconds")

        alarm.cancel()
        call.cancel()
        _ = await call.result
    }

    @Test func runAdvancesThroughEachSleep() async throws {
        let network = MockTransport([.status(.serviceUnavailable), .status(.serviceUnavailable), .ok()])
            .delayed(by: .seconds(2)).timeout(.seconds(3)).retry(.constant(.seconds(5)))
            .environment(\.clock, .manual(clock))

        let response = try await clock.run { try await network.data(.lawful) }

        #expect(response.status == .ok)
        #expect(clock.now.offset == .seconds(3 * 2 + 2 * 5))
        #expect(clock.sleepers == 0)
    }

    /// The order of a timeout and the first sleep of the work depends on the platform.
    @Test func timeoutsDoNotFireDuringARun() async throws {
        let fired = Journal()
        let alarm = NetworkClock.manual(clock).alarm(at: .seconds(2)) { fired.note("rang") }
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(3)).timeout(.seconds(1))
            .environment(\.clock, .manual(clock))

        try await clock.run { _ = try await network.data(.lawful) }

        #expect(clock.now.offset == .seconds(3))
        #expect(clock.sleepers == 1)
        clock.advance(by: .zero)
        #expect(fired.entries == ["rang"])
        alarm.cancel()
    }

    @Test func runEndsExistingWaits() async throws {
        let before = Task { try await sleep(.seconds(4)) }
        try await clock.waitForSleepers()

        try await clock.run { try await before.value }
        let after = Task { try await sleep(.seconds(5)) }
        try await clock.waitForSleepers()

        #expect(clock.now.offset == .seconds(4))
        clock.advance(by: .seconds(1))
        try await after.value
    }

    /// The sleep can start before or during the run; it ends in both cases.
    @Test func runEndsASleepThatStartsAtTheSameTime() async throws {
        for _ in 0..<2_000 {
            let clock = ManualClock()
            let call = Task.detached { try await clock.sleep(until: ManualClock.Instant(offset: .seconds(5))) }
            try await clock.run { try await call.value }
        }
    }

    @Test func cancelledSleepDuringARunDoesNotAdvanceTheClock() async throws {
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.run { try await sleep(.seconds(1)) }
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.now.offset == .zero)
    }

    @Test func worksAsAClockOfTheStandardLibrary() async throws {
        let call = Task { try await Task.sleep(for: .seconds(1), clock: clock) }

        try await clock.advance(by: .seconds(1), afterSleepers: 1)

        try await call.value
    }

    @Test func manySleepersCanBeCancelledAndWoken() async throws {
        let calls = (0..<2_000)
            .map { number in
                Task { () -> Int? in
                    // A stored error would slow down every other test, because Swift Testing looks through all of them.
                    guard (try? await sleep(.seconds(number % 10 + 1))) != nil else { return nil }
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
            if let number = await call.value {
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
