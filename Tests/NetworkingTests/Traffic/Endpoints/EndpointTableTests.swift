import Networking
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The state machine of the endpoints, without a stack.
@Suite
struct EndpointTableTests {
    /// A table with a clock in seconds, whose picks end in order.
    private struct Run {
        var table: EndpointTable
        var now = Duration.zero
        var random = RandomSource.seeded(1)

        init(_ groups: [Double]...) {
            self.init(groups)
        }

        init(_ groups: [[Double]]) {
            table = EndpointTable(groups: groups)
        }

        mutating func pick(excluding excluded: UInt64 = 0) -> EndpointTable.Pick? {
            table.pick(at: now, excluding: excluded, random: random.next()).pick
        }

        @discardableResult
        mutating func end(_ pick: EndpointTable.Pick, _ outcome: EndpointTable.Outcome) -> EndpointTable.Change? {
            table.end(pick, as: outcome, at: now, jitter: 0)
        }

        /// Sends attempts to a given member.
        @discardableResult
        mutating func send(_ outcomes: [EndpointTable.Outcome], to index: Int) -> EndpointTable.Change? {
            var last: EndpointTable.Change?
            for outcome in outcomes {
                last = end(table.pick(only: index), outcome)
            }
            return last
        }

        mutating func fail(_ index: Int, times count: Int = 5) -> EndpointTable.Change? {
            send(Array(repeating: .failure, count: count), to: index)
        }

        var ejected: [Int] {
            table.members.indices.filter { table.members[$0].ejectedUntil != nil }
        }
    }

    // MARK: Ejection

    @Test(
        arguments: [
            (outcomes: [.failure, .failure, .failure, .failure], isEjected: false),
            (outcomes: [.failure, .failure, .failure, .failure, .failure], isEjected: true),
            (outcomes: [.failure, .failure, .failure, .failure, .success, .failure], isEjected: false),
            (outcomes: [.failure, .failure, .nothing, .failure, .failure, .nothing, .failure], isEjected: true),
            (
                outcomes: [
                    .success, .success, .success, .success, .success, .failure, .failure, .failure, .failure, .success,
                ], isEjected: false
            ),
            (
                outcomes: [
                    .failure, .failure, .success, .failure, .failure, .success, .success, .success, .success, .failure,
                ], isEjected: true
            ),
            (
                outcomes: [
                    .failure, .success, .failure, .success, .failure, .success, .failure, .success, .failure,
                ], isEjected: false
            ),
        ] as [(outcomes: [EndpointTable.Outcome], isEjected: Bool)]
    )
    func ejectsAfterFailures(outcomes: [EndpointTable.Outcome], isEjected: Bool) {
        var run = Run([1, 1, 1])
        run.send(outcomes, to: 1)
        #expect(run.ejected == (isEjected ? [1] : []))
    }

    @Test func failuresOlderThanTheWindowDoNotCount() {
        var run = Run([1, 1])
        for _ in 0..<20 {
            run.now += .seconds(5)
            run.send([.failure, .failure, .success], to: 0)
        }
        #expect(run.ejected == [])
        #expect(run.table.members[0].window.total.calls == 6)
        run.now += .seconds(3_600)
        run.send([.success], to: 0)
        #expect(run.table.members[0].window.total.calls == 1)
    }

    @Test(arguments: [
        (weights: [1.0], maximum: 0), (weights: [1, 1], maximum: 1), (weights: [1, 1, 1], maximum: 1),
        (weights: [1, 1, 1, 1], maximum: 2), (weights: [1, 1, 1, 1, 1], maximum: 2),
    ])
    func atMostHalfOfTheMembersAreEjected(weights: [Double], maximum: Int) {
        var run = Run(weights)
        for index in weights.indices {
            _ = run.fail(index)
        }
        #expect(run.ejected.count == maximum)
    }

    @Test func ejectionsGrowAndShrinkAgain() {
        var run = Run([1, 1])
        for seconds in [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300] {
            #expect(run.fail(0) == .ejected(0, for: .seconds(seconds)))
            run.now += .seconds(seconds)
            let probe = run.pick()
            #expect(probe?.probe != nil)
            probe.map { #expect(run.end($0, .success) == .returned(0)) }
        }
        // 11 ejections, and 9 of them are forgotten.
        run.now += .seconds(99)
        #expect(run.fail(0) == .ejected(0, for: .seconds(90)))
    }

    @Test func jitterMakesAnEjectionUpToATenthLonger() {
        var table = EndpointTable(groups: [[1, 1]])
        var change: EndpointTable.Change?
        for _ in 0..<5 {
            change = table.end(table.pick(only: 0), as: .failure, at: .zero, jitter: .max)
        }
        guard case .ejected(0, let time) = change else {
            Issue.record("The member is not ejected.")
            return
        }
        #expect(time > .seconds(32.9) && time <= .seconds(33))
    }

    // MARK: Probes

    @Test func oneProbeAtATimeAfterAnEjection() {
        var run = Run([1, 1])
        _ = run.fail(0)
        run.now = .seconds(29.9)
        #expect((0..<50).allSatisfy { _ in run.pick()?.index == 1 })
        run.now = .seconds(30)
        let probe = run.pick()
        #expect(probe?.index == 0 && probe?.probe != nil)
        #expect((0..<50).allSatisfy { _ in run.pick()?.index == 1 })
    }

    @Test func cancelledProbeLeavesRoomForTheNext() {
        var run = Run([1, 1])
        _ = run.fail(0)
        run.now = .seconds(30)
        for _ in 0..<1_000 {
            guard let probe = run.pick() else { return #expect(Bool(false)) }
            #expect(probe.probe != nil)
            #expect(run.end(probe, .nothing) == nil)
        }
        #expect(run.ejected == [0])
        #expect(run.table.members[0].inFlight == 0)
    }

    @Test func failedProbeEjectsAgain() throws {
        var run = Run([1, 1])
        _ = run.fail(0)
        run.now = .seconds(30)
        let picked = run.pick()
        let probe = try #require(picked)
        #expect(run.end(probe, .failure) == .ejected(0, for: .seconds(60)))
    }

    @Test func probeWithoutAnEndCountsAsFailed() throws {
        var run = Run([1, 1])
        _ = run.fail(0)
        run.now = .seconds(30)
        let first = run.pick()
        let old = try #require(first)
        run.now = .seconds(40)
        let (pick, change) = run.table.pick(at: run.now, random: 0)
        #expect(pick?.index == 1)
        #expect(change == .ejected(0, for: .seconds(60)))
        // Its late success does not count.
        #expect(run.end(old, .success) == nil)
        #expect(run.ejected == [0])
    }

    @Test func resultOfAnEarlierAttemptDoesNotEndAnEjection() {
        var run = Run([1, 1])
        let early = run.table.pick(only: 0)
        _ = run.fail(0)
        #expect(run.end(early, .success) == nil)
        #expect(run.ejected == [0])
        #expect(run.table.members[0].inFlight == 0)
    }

    @Test func failureFromBeforeAReturnDoesNotCount() throws {
        var run = Run([1, 1])
        let early = (0..<9).map { _ in run.table.pick(only: 0) }
        _ = run.fail(0)
        run.now = .seconds(30)
        let next = run.pick()
        run.end(try #require(next), .success)
        for pick in early { run.end(pick, .failure) }
        #expect(run.ejected == [])
        #expect(run.table.members[0].consecutiveFailures == 0)
    }

    @Test(arguments: [[[1.0, 1], [1]], [[1, 1, 1, 1], [1]], [[1], [1, 1], [1]]])
    func groupThatFailsIsReplacedByTheNext(groups: [[Double]]) {
        var run = Run(groups)
        let last = groups.joined().count - 1
        // Until no attempt is picked for a member that is down.
        for _ in 0..<200 {
            guard let pick = run.pick() else { break }
            run.end(pick, pick.index == last ? .success : .failure)
        }
        #expect((0..<50).allSatisfy { _ in run.pick()?.index == last })
        #expect(!run.table.isInPanic)
        // Each member of the first group is probed, and returns.
        run.now = .seconds(400)
        for index in 0..<groups[0].count {
            guard let probe = run.pick() else { break }
            #expect(probe.probe != nil && run.end(probe, .success) == .returned(index))
        }
        #expect(run.pick()?.index ?? last < groups[0].count)
    }

    @Test func membersOfOneGroupAreNotLeftToTheLastThatWorks() {
        var run = Run([1, 1, 1])
        _ = run.fail(0)
        #expect(run.fail(1) == nil)
        #expect(run.ejected == [0])
    }

    // MARK: Panic

    @Test func allAreUsedWhenNoneWorks() throws {
        var run = Run([1, 1], [1, 1])
        #expect(run.fail(0) != nil)
        #expect(run.fail(1) != nil)
        #expect(run.pick()?.index ?? 0 >= 2)
        #expect(run.fail(2) == nil)
        #expect(run.fail(3) == .panic)
        #expect(run.table.isInPanic)
        // In the order of the groups.
        let picks = (0..<100).compactMap { _ in run.pick() }
        #expect(Set(picks.map(\.index)) == [0, 1])
        let last = try #require(picks.last)
        #expect(run.end(last, .success) == .returned(last.index))
        #expect(!run.table.isInPanic)
    }

    @Test func panicIsReportedOnce() {
        var run = Run([1, 1])
        _ = run.fail(0)
        #expect(run.fail(1) == .panic)
        #expect(run.fail(1) == nil)
        #expect(run.send([.success, .success], to: 1) == nil)
        run.now = .seconds(20)
        #expect(run.fail(1) == .panic)
    }

    @Test func soleMemberIsNeverLeftOut() {
        var run = Run([1])
        #expect(run.fail(0, times: 100) == nil)
        #expect(run.pick()?.index == 0)
    }

    // MARK: Choice

    @Test func groupsAreUsedInOrder() {
        var run = Run([1], [1], [1])
        #expect(run.pick()?.index == 0)
        #expect(run.pick(excluding: 0b1)?.index == 1)
        #expect(run.pick(excluding: 0b11)?.index == 2)
        #expect(run.pick(excluding: 0b111) == nil)
        _ = run.fail(0)
        #expect(run.pick()?.index == 1)
    }

    @Test func endpointWithFewerAttemptsInFlightIsPicked() {
        var run = Run([1, 1])
        let counts = (0..<1_000).reduce(into: [0, 0]) { counts, _ in counts[run.pick()?.index ?? 0] += 1 }
        #expect(abs(counts[0] - counts[1]) <= 1, "\(counts)")
    }

    @Test func weightsAreSharesOfTheRequests() {
        var run = Run([3, 1])
        var counts = [0, 0]
        for _ in 0..<1_000 {
            // Without attempts in flight, the weights decide alone.
            if let pick = run.pick() {
                counts[pick.index] += 1
                run.end(pick, .success)
            }
        }
        #expect((700...800).contains(counts[0]), "\(counts)")
        let inFlight = (0..<1_000).reduce(into: [0, 0]) { counts, _ in counts[run.pick()?.index ?? 0] += 1 }
        #expect((745...755).contains(inFlight[0]), "\(inFlight)")
    }

    @Test(arguments: [UInt64.min, .max, 1 << 63, 0xFFFF_FFFF])
    func extremeRandomnessPicksAMember(random: UInt64) {
        var table = EndpointTable(groups: [[1, .leastNonzeroMagnitude, .greatestFiniteMagnitude]])
        for _ in 0..<10 {
            #expect(table.pick(at: .zero, random: random).pick != nil)
        }
    }
}
