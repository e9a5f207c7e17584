import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

/// A limit that ends early while many tasks set and cancel its alarms.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ExchangeLimitHammerTests {
    private let journal = Journal()
    private let limit = ExchangeLimit(endingUntil: .unlimited, on: .immediate(), isOnSystemClock: false) { nil }

    @Test(arguments: 0..<20)
    func eachAlarmRingsOnceUnlessItIsCancelled(round: Int) async {
        await withTaskGroup(of: Void.self) { [limit, journal] group in
            for index in 0..<64 {
                group.addTask {
                    if index == 3 * round { limit.end() }
                    _ = limit.alarm { journal.note("kept \(index)") }
                    let alarm = limit.alarm { journal.note("cancelled \(index)") }
                    alarm.cancel()
                    alarm.cancel()
                }
            }
        }
        limit.end()
        let entries = journal.entries
        #expect(limit.isReached)
        #expect(entries.count { $0.hasPrefix("kept") } == 64)
        #expect(Set(entries).count == entries.count, "No alarm rings twice.")
    }

    @Test func alarmOfALimitThatHasEndedRingsAtOnce() {
        limit.end()
        _ = limit.alarm { [journal] in journal.note("rung") }
        #expect(journal.entries == ["rung"])
        #expect(throws: CancellationError.self) { try limit.check() }
    }

    @Test func cancelledAlarmDoesNotRing() {
        limit.alarm { [journal] in journal.note("rung") }.cancel()
        limit.end()
        #expect(journal.entries.isEmpty)
    }
}
