import Networking
import TestSupport
import Testing

@testable import NetworkingTesting

@Suite(.tags(.memory)) struct CountWaitsTests {
    @Test func takesWaitsWhoseCountIsReached() {
        var waits = CountWaits()
        let (first, second, third) = (Suspension<Void>(), Suspension<Void>(), Suspension<Void>())
        _ = waits.add(first, until: 1, current: 0)
        _ = waits.add(third, until: 3, current: 0)
        _ = waits.add(second, until: 1, current: 0)

        #expect(waits.takeReached(0).isEmpty)
        #expect(waits.takeReached(2).map { ObjectIdentifier($0) } == [first, second].map { ObjectIdentifier($0) })
        #expect(waits.takeReached(2).isEmpty)
        #expect(waits.takeReached(3).count == 1)
        #expect(first.isPending && second.isPending && third.isPending)
    }

    @Test func waitForAReachedCountEndsAtOnce() {
        var waits = CountWaits()
        let wait = Suspension<Void>()

        _ = waits.add(wait, until: 2, current: 2)

        #expect(!wait.isPending)
        #expect(waits.takeReached(.max).isEmpty)
    }

    @Test func removedWaitIsNotTaken() {
        var waits = CountWaits()
        let (kept, removed) = (Suspension<Void>(), Suspension<Void>())
        let id = waits.add(removed, until: 1, current: 0)
        _ = waits.add(kept, until: 1, current: 0)

        waits.remove(id)

        #expect(waits.takeReached(1).map { ObjectIdentifier($0) } == [ObjectIdentifier(kept)])
    }
}
