import Dispatch
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AlarmHeapTests {
    private let clock: ManualClock
    private let heap: AlarmHeap
    private let journal = Journal()

    init() {
        let clock = ManualClock()
        self.clock = clock
        heap = Self.heap(on: clock)
    }

    private static func heap(on clock: ManualClock) -> AlarmHeap {
        AlarmHeap(
            now: { clock.now.offset },
            sleep: { try await clock.sleep(until: ManualClock.Instant(offset: $0)) }
        )
    }

    /// Waits for a number of alarms, and then for an alarm that is set after them, so that additional rings are
    /// noticed.
    ///
    /// The count alone is not enough, because a replaced sleeper may still be ringing.
    private func waitForRings(after count: Int) async throws {
        try await eventually("journal.entries.count >= count") { journal.entries.count >= count }
        let rang = Suspension<Void>()
        _ = heap.set(at: clock.now.offset) { rang.resume() }
        try await rang.value()
    }

    @Test func ringsTheEarliestAlarmFirst() async throws {
        for second in [3, 1, 2] {
            _ = heap.set(at: .seconds(second)) { [journal] in journal.note("\(second)") }
        }

        try await clock.advance(by: .seconds(3), afterSleepers: 1)
        try await waitForRings(after: 3)

        #expect(journal.entries == ["1", "2", "3"])
    }

    @Test func ringsAlarmsOfOneMomentInTheOrderOfSetting() async throws {
        for name in ["first", "second", "third"] {
            _ = heap.set(at: .seconds(1)) { [journal] in journal.note(name) }
        }

        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await waitForRings(after: 3)

        #expect(journal.entries == ["first", "second", "third"])
    }

    @Test func ringsOnlyDueAlarms() async throws {
        _ = heap.set(at: .seconds(1)) { [journal] in journal.note("due") }
        _ = heap.set(at: .seconds(2)) { [journal] in journal.note("not due") }

        try await clock.advance(by: .milliseconds(1_999), afterSleepers: 1)
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(2))

        // The action runs on a thread of its own.
        try await eventually("the due alarm rings") { !journal.entries.isEmpty }
        #expect(journal.entries == ["due"])
        #expect(clock.sleepers == 1)
    }

    /// An alarm may run a cancellation handler of an app, which may block.
    @Test(arguments: [1, 20])
    func actionThatBlocksDelaysNoOther(blocked: Int) async throws {
        let release = DispatchSemaphore(value: 0)
        let ended = Journal()
        for number in 1...blocked {
            _ = heap.set(at: .seconds(1)) {
                // The limit ends the test if the other alarm waits for this action.
                let isReleased = release.wait(timeout: .now() + 300) == .success
                ended.note("\(number) \(isReleased)")
            }
        }
        let rang = Suspension<Void>()
        _ = heap.set(at: .seconds(1)) { rang.resume() }

        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await rang.value()

        #expect(ended.entries.isEmpty)
        for _ in 1...blocked {
            release.signal()
        }
        try await eventually("all actions have ended") { ended.entries.count == blocked }
        #expect(ended.entries.allSatisfy { $0.hasSuffix("true") })
    }

    @Test func timeLimitHoldsWhileACancellationHandlerBlocks() async throws {
        let release = DispatchSemaphore(value: 0)
        let entered = Journal()
        let blocking = Sending { _, _ in
            try await withTaskCancellationHandler {
                try await Suspension<Void>().value()
                return HTTPResponseData(request: .lawful)
            } onCancel: {
                entered.note("blocks")
                _ = release.wait(timeout: .now() + 300)
            }
        }
        // A clock of its own, because the system's clock has the alarms of other tests.
        let clock = NetworkClock(self.clock)
        let network = MockTransport { _ in .never }
        let blocked = network.modified(blocking).timeout(.seconds(1)).environment(\.clock, clock)
        let other = network.timeout(.seconds(2)).environment(\.clock, clock)
        let first = Task { try await blocked.data(.lawful) }
        try await self.clock.waitForSleepers()
        let second = Task { try await other.data(.lawful) }
        try await eventually("the other request is sent") { network.requests.count == 1 }
        self.clock.advance(by: .seconds(1))
        try await eventually("the handler blocks") { !entered.entries.isEmpty }
        try await self.clock.advance(by: .seconds(1), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(error?.kind == .timeout)
        release.signal()
        await #expect(throws: NetworkingError.self) { try await first.value }
    }

    /// The sleep of a clock of an app.
    private enum Sleep: CaseIterable {
        case fails, returnsEarly, pretendsACancellation
    }

    @Test(arguments: Sleep.allCases)
    private func clockThatCannotSleepStillRings(sleep: Sleep) async throws {
        struct NoSleep: Error {}
        let start = ContinuousClock.now
        let heap = AlarmHeap(
            now: { ContinuousClock.now - start },
            sleep: { _ in
                switch sleep {
                case .fails: throw NoSleep()
                case .returnsEarly: break
                case .pretendsACancellation: throw CancellationError()
                }
            }
        )
        for _ in 1...2 {
            let rang = Suspension<Void>()
            let deadline = ContinuousClock.now - start + .milliseconds(5)
            _ = heap.set(at: deadline) { rang.resume() }
            try await rang.value()
            #expect(ContinuousClock.now - start >= deadline)
        }
    }

    @Test func cancelledAlarmDoesNotRing() async throws {
        let cancelled = heap.set(at: .seconds(1)) { [journal] in journal.note("cancelled") }
        _ = heap.set(at: .seconds(1)) { [journal] in journal.note("kept") }

        cancelled.cancel()
        cancelled.cancel()
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await waitForRings(after: 1)

        #expect(journal.entries == ["kept"])
    }

    @Test func cancellingAfterTheRingDoesNothing() async throws {
        let alarm = heap.set(at: .seconds(1)) { [journal] in journal.note("rang") }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await waitForRings(after: 1)

        alarm.cancel()

        #expect(journal.entries == ["rang"])
    }

    @Test func earlierAlarmReplacesTheSleep() async throws {
        _ = heap.set(at: .seconds(10)) { [journal] in journal.note("late") }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(10))

        _ = heap.set(at: .seconds(5)) { [journal] in journal.note("early") }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(5))
        #expect(clock.sleepers == 1)

        clock.advance(by: .seconds(5))
        try await waitForRings(after: 1)
        #expect(journal.entries == ["early"])

        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        try await waitForRings(after: 2)
        #expect(journal.entries == ["early", "late"])
    }

    @Test func laterAlarmLeavesTheSleepAlone() async throws {
        _ = heap.set(at: .seconds(5)) {}
        try await clock.waitForSleepers()

        _ = heap.set(at: .seconds(10)) {}

        #expect(clock.sleepers == 1)
        #expect(clock.nextDeadline?.offset == .seconds(5))
    }

    @Test func cancellingTheEarliestAlarmKeepsTheNext() async throws {
        let early = heap.set(at: .seconds(5)) { [journal] in journal.note("early") }
        _ = heap.set(at: .seconds(10)) { [journal] in journal.note("late") }
        try await clock.waitForSleepers()

        early.cancel()
        clock.advance(by: .seconds(5))
        // The sleeper wakes, finds no due alarm and sleeps again.
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(10))
        clock.advance(by: .seconds(5))
        try await waitForRings(after: 1)

        #expect(journal.entries == ["late"])
    }

    @Test func endsItsSleepAfterTheLastAlarm() async throws {
        let rang = Suspension<Void>()
        _ = heap.set(at: .seconds(1)) { rang.resume() }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await rang.value()
        #expect(clock.sleepers == 0)

        _ = heap.set(at: .seconds(2)) { [journal] in journal.note("second life") }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await waitForRings(after: 1)

        #expect(journal.entries == ["second life"])
    }

    @Test func alarmMaySetAnother() async throws {
        let rang = Suspension<Void>()
        _ = heap.set(at: .seconds(1)) { [journal, heap] in
            journal.note("first")
            _ = heap.set(at: .seconds(2)) {
                journal.note("second")
                rang.resume()
            }
        }

        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await rang.value()

        #expect(journal.entries == ["first", "second"])
    }

    /// A clock may wake early, but an alarm may not ring early.
    @Test func sleepsAgainAfterAnEarlyWake() async throws {
        let rang = Suspension<Void>()
        let heap = AlarmHeap(
            now: { [journal] in .seconds(journal.entries.count) },
            sleep: { [journal] in journal.note("\($0)") }
        )

        _ = heap.set(at: .seconds(3)) { rang.resume() }
        try await rang.value()
        withExtendedLifetime(heap) {}

        #expect(journal.entries == ["3.0 seconds", "3.0 seconds", "3.0 seconds"])
    }

    @Test func releasedHeapEndsItsSleep() async throws {
        let ended = Suspension<Void>()
        var heap: AlarmHeap? = AlarmHeap(
            now: { [clock] in clock.now.offset },
            sleep: { [clock] deadline in
                defer { ended.resume() }
                try await clock.sleep(until: ManualClock.Instant(offset: deadline))
            }
        )
        _ = heap?.set(at: .seconds(3_600)) { [journal] in journal.note("rang") }
        try await clock.waitForSleepers()

        heap = nil
        try await ended.value()

        #expect(clock.sleepers == 0)
        #expect(journal.entries.isEmpty)
    }

    /// Cancelled alarms are removed long before their time, without affecting the other ones.
    @Test func cancelledAlarmsAreRemovedFromTheHeap() async throws {
        let kept = (1...10)
            .map { second in
                heap.set(at: .seconds(second)) { [journal] in journal.note("\(second)") }
            }
        for index in 0..<5_000 {
            heap.set(at: .seconds(100 + index)) { [journal] in journal.note("called off") }.cancel()
        }
        kept[4].cancel()

        try await clock.advance(by: .seconds(10_000), afterSleepers: 1)
        try await waitForRings(after: 9)

        #expect(journal.entries == ["1", "2", "3", "4", "6", "7", "8", "9", "10"])
    }

    @Test func thousandsOfTasksSetAndCancelAlarms() async throws {
        let count = 1_000
        await withDiscardingTaskGroup { group in
            for number in 0..<count {
                group.addTask { [journal] in
                    let alarm = heap.set(at: .seconds(number % 50 + 1)) { journal.note("\(number)") }
                    if number.isMultiple(of: 2) {
                        alarm.cancel()
                    }
                }
            }
        }

        try await clock.waitForSleepers()
        clock.advance(by: .seconds(100))
        try await waitForRings(after: count / 2)

        let numbers = journal.entries.compactMap { Int($0) }
        #expect(Set(numbers) == Set((0..<count).filter { !$0.isMultiple(of: 2) }))
        #expect(numbers.count == count / 2)
        #expect(numbers.map { $0 % 50 } == numbers.map { $0 % 50 }.sorted())
    }
}
