import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct NetworkClockTests {
    @Test func startsAtZero() {
        let manual = ManualClock()
        manual.advance(by: .seconds(100))
        let clock = NetworkClock(manual)
        #expect(clock.now == .zero)

        manual.advance(by: .seconds(3))

        #expect(clock.now == .seconds(3))
    }

    @Test func hasItsDate() {
        let date = Date(timeIntervalSince1970: 1_000)

        #expect(NetworkClock(ManualClock(), date: { date }).date == date)
    }

    @Test func networkClocksShareTheirManualClock() {
        let manual = ManualClock(start: Date(timeIntervalSince1970: 1_000))
        let (first, second) = (NetworkClock.manual(manual), NetworkClock.manual(manual))

        manual.advance(by: .milliseconds(1_500))

        #expect(first.now == second.now)
        #expect(first.date == Date(timeIntervalSince1970: 1_001.5))
    }

    @Test(arguments: [Kind.wrapped, .manual])
    func sleepsUntilAMoment(kind: Kind) async throws {
        let manual = ManualClock()
        let clock = kind.clock(of: manual)
        let sleep = Task { try await clock.sleep(until: .seconds(3)) }

        try await manual.waitForSleepers()
        #expect(manual.nextDeadline?.offset == .seconds(3))
        manual.advance(by: .seconds(3))

        try await sleep.value
        #expect(clock.now == .seconds(3))
    }

    @Test(arguments: [Kind.wrapped, .manual])
    func sleepsForADuration(kind: Kind) async throws {
        let manual = ManualClock()
        let clock = kind.clock(of: manual)
        manual.advance(by: .seconds(10))
        let sleep = Task { try await clock.sleep(for: .seconds(3)) }

        try await manual.waitForSleepers()
        #expect(manual.nextDeadline?.offset == .seconds(13))
        manual.advance(by: .seconds(3))

        try await sleep.value
    }

    @Test(arguments: [Kind.wrapped, .manual, .immediate, .continuous], [.zero, .seconds(-1)] as [Duration])
    func sleepUntilAPastMomentEndsAtOnce(kind: Kind, duration: Duration) async throws {
        try await kind.clock(of: ManualClock()).sleep(for: duration)
    }

    @Test(arguments: [Kind.wrapped, .manual, .continuous])
    func cancelledSleeperGetsCancellationErrorAtOnce(kind: Kind) async throws {
        let manual = ManualClock()
        let clock = kind.clock(of: manual)
        let sleep = OwnedTask.immediate { try await clock.sleep(for: .seconds(3_600)) }

        sleep.cancel()

        await #expect(throws: CancellationError.self) { try await sleep.value }
        #expect(manual.sleepers == 0)
    }

    @Test(
        arguments: [Kind.wrapped, .manual, .immediate, .continuous],
        [.zero, .seconds(-1), .seconds(3_600)] as [Duration]
    )
    func sleeperThatStartsCancelledGetsCancellationError(kind: Kind, duration: Duration) async {
        let clock = kind.clock(of: ManualClock())
        let sleep = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: duration)
        }

        await #expect(throws: CancellationError.self) { try await sleep.value }
    }

    @Test(arguments: [Kind.wrapped, .manual])
    func alarmRingsAtItsMoment(kind: Kind) async throws {
        let manual = ManualClock()
        let clock = kind.clock(of: manual)
        let rang = Suspension<Duration>()
        _ = clock.alarm(at: .seconds(3)) { rang.resume(with: .success(clock.now)) }

        try await manual.advance(by: .seconds(4), afterSleepers: 1)

        #expect(try await rang.value() == .seconds(4))
    }

    @Test(arguments: [Kind.wrapped, .manual, .continuous])
    func alarmOfAPastMomentRingsAtOnce(kind: Kind) async throws {
        let clock = kind.clock(of: ManualClock())
        let rang = Suspension<Void>()

        _ = clock.alarm(at: .zero) { rang.resume() }

        try await rang.value()
        withExtendedLifetime(clock) {}
    }

    /// An object that cancels an alarm when it is released.
    private final class Canceller: Sendable {
        private let alarm: Alarm
        private let journal: Journal

        init(of alarm: Alarm, _ journal: Journal) {
            self.alarm = alarm
            self.journal = journal
        }

        deinit {
            alarm.cancel()
            journal.note("cancelled")
        }
    }

    /// The clock releases the action of a cancelled alarm, and with it the last reference to an object.
    @Test(arguments: [Kind.wrapped, .manual, .continuous])
    func objectOfACancelledAlarmMayCancelAnother(kind: Kind) {
        let manual = ManualClock()
        let clock = kind.clock(of: manual)
        let journal = Journal()
        let end = clock.now + .seconds(3_600)
        func action(with canceller: Canceller) -> @Sendable () -> Void {
            { withExtendedLifetime(canceller) {} }
        }
        let other = clock.alarm(at: end) {}
        let alarm = clock.alarm(at: end, action(with: Canceller(of: other, journal)))

        alarm.cancel()

        #expect(journal.entries == ["cancelled"])
        if kind == .manual {
            #expect(manual.sleepers == 0)
        }
        withExtendedLifetime(clock) {}
    }

    /// Apps use a very long timeout to disable it.
    @Test(arguments: [.seconds(Int64.max), .seconds(10_000_000_000), .seconds(100 * 365 * 86_400)] as [Duration])
    func alarmFarInTheFutureDoesNotRing(after duration: Duration) async throws {
        let clock = NetworkClock(ContinuousClock())
        let journal = Journal()
        let rang = Suspension<Void>()

        let alarm = clock.alarm(at: clock.now + duration) { journal.note("rang") }
        _ = clock.alarm(at: clock.now) { rang.resume() }
        try await rang.value()

        #expect(journal.entries.isEmpty)
        alarm.cancel()
    }

    @Test(arguments: [.seconds(Int64.max), .seconds(10_000_000_000)] as [Duration])
    func veryLongSleepEndsAtItsCancellation(duration: Duration) async throws {
        let sleep = OwnedTask.immediate { try await NetworkClock.continuous.sleep(for: duration) }

        sleep.cancel()

        await #expect(throws: CancellationError.self) { try await sleep.value }
    }

    @Test func systemClockIsMonotonic() {
        let clock = NetworkClock.continuous
        let moments = (0..<1_000).map { _ in clock.now }

        #expect(moments == moments.sorted())
    }

    @Test func releasedClockEndsItsSleepers() async throws {
        let manual = ManualClock()
        var clock: NetworkClock? = NetworkClock(manual)
        _ = clock?.alarm(at: .seconds(3_600)) {}
        try await manual.waitForSleepers()

        clock = nil

        #expect(manual.sleepers == 0)
    }
}

extension NetworkClockTests {
    /// The kinds of clocks.
    enum Kind: String, CustomTestStringConvertible {
        case wrapped
        case manual
        case immediate
        case continuous

        var testDescription: String {
            rawValue
        }

        func clock(of clock: ManualClock) -> NetworkClock {
            switch self {
            case .wrapped: NetworkClock(clock)
            case .manual: .manual(clock)
            case .immediate: .immediate()
            case .continuous: .continuous
            }
        }
    }
}
