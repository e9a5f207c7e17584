import NetworkingHAR
import NetworkingTesting
import Testing

@testable import Networking
@testable import NetworkingInspector

@Suite(.timeLimit(.minutes(5)))
struct CallShelfTests {
    private let inspector = NetworkInspector(keeping: 3)
    private let clock = ManualClock()

    private var shelf: CallShelf {
        inspector.shelf
    }

    private func call(_ count: Int = 1) async throws {
        for _ in 0..<count {
            try await MockTransport { _ in .ok() }.inspected(by: inspector).data(.lawful)
        }
    }

    private func changes(since revision: Int, of epoch: String, upTo limit: Int = 100) -> CallShelf.Changes {
        shelf.changes(since: revision, of: epoch, upTo: limit)
    }

    @Test func aPageGetsWhatIsNewToIt() async throws {
        try await call(2)
        let first = changes(since: 0, of: "")
        #expect(first.captures.map(\.id) == [1, 2])
        #expect(changes(since: first.revision, of: first.epoch).captures.isEmpty)
        try await call()
        let second = changes(since: first.revision, of: first.epoch)
        #expect(second.captures.map(\.id) == [3])
        #expect(second.epoch == first.epoch)
    }

    @Test func manyComeInPortions() async throws {
        try await call(3)
        let first = changes(since: 0, of: "", upTo: 2)
        #expect(first.captures.count == 2)
        #expect(first.hasMore)
        let second = changes(since: first.revision, of: first.epoch, upTo: 2)
        #expect(second.captures.count == 1)
        #expect(!second.hasMore)
        #expect(Set((first.captures + second.captures).map(\.id)) == [1, 2, 3])
    }

    /// Several that change at once must not have one revision, at which a page would go on reading.
    @Test func manyThatAreEmptiedAtOnceComeInPortionsToo() async throws {
        let inspector = NetworkInspector(mostBodyBytes: 12)
        let shelf = inspector.shelf
        for text in ["12345", "12345", "0123456789AB"] {
            try await MockTransport { _ in .text(text) }.inspected(by: inspector).data(.lawful)
        }
        var (revision, epoch, ids) = (0, "", [Int]())
        for _ in 0..<4 {
            let changes = shelf.changes(since: revision, of: epoch, upTo: 1)
            (revision, epoch) = (changes.revision, changes.epoch)
            ids += changes.captures.map(\.id)
        }
        #expect(Set(ids) == [1, 2, 3])
    }

    /// Calls that are not kept are no news.
    @Test func whatPassesWakesNobody() async throws {
        inspector.pause()
        let before = changes(since: 0, of: "")
        try await call()
        inspector.pause()
        #expect(changes(since: 0, of: "").revision == before.revision)
    }

    @Test func whatMadeRoomIsTold() async throws {
        try await call(5)
        let changes = changes(since: 0, of: "")
        #expect(changes.oldest == 3)
        #expect(changes.captures.map(\.id) == [3, 4, 5])
    }

    @Test func aClearingBeginsAnotherEpoch() async throws {
        try await call()
        let first = changes(since: 0, of: "")
        inspector.clear()
        let cleared = changes(since: first.revision, of: first.epoch)
        #expect(cleared.epoch != first.epoch)
        #expect(cleared.captures.isEmpty)
        #expect(cleared.oldest == 2)
        try await call()
        // A page that has not heard of it gets all there is.
        #expect(changes(since: first.revision, of: first.epoch).captures.map(\.id) == [2])
    }

    @Test func whoWaitsHearsOfACallAtOnce() async throws {
        let now = changes(since: 0, of: "")
        let wait = Task {
            try await shelf.waitForChange(
                since: now.revision,
                of: now.epoch,
                until: .seconds(20),
                on: .manual(clock)
            )
        }
        try await clock.waitForSleepers()
        try await call()
        try await wait.value
        #expect(clock.sleepers == 0)
    }

    @Test func aWaitHasAnEndAndCanBeCancelled() async throws {
        let now = changes(since: 0, of: "")
        let deadline = NetworkClock.manual(clock).now + .seconds(20)
        let wait = Task {
            try await shelf.waitForChange(since: now.revision, of: now.epoch, until: deadline, on: .manual(clock))
        }
        try await clock.advance(by: .seconds(20), afterSleepers: 1)
        try await wait.value
        let other = Task {
            try await shelf.waitForChange(
                since: now.revision,
                of: now.epoch,
                until: deadline + .seconds(20),
                on: .manual(clock)
            )
        }
        try await clock.waitForSleepers()
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(clock.sleepers == 0)
    }

    @Test func whatIsNewAlreadyIsNotWaitedFor() async throws {
        try await call()
        try await shelf.waitForChange(since: 0, of: "another", until: .zero, on: .manual(clock))
    }

    /// Calls that begin, end, make room and are forgotten at the same time leave it whole.
    @Test func itStandsCrowds() async throws {
        let inspector = NetworkInspector(keeping: 8, mostBodyBytes: 20)
        let network = MockTransport { _ in .text("hello") }.inspected(by: inspector)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                group.addTask {
                    _ = try? await network.data(.lawful)
                    if index % 25 == 0 { inspector.clear() }
                    _ = inspector.archive
                    _ = inspector.shelf.changes(since: 0, of: "", upTo: 3)
                }
            }
        }
        inspector.clear()
        for _ in 0..<9 { try await network.data(.lawful) }
        let entries = inspector.archive.har.log.entries
        #expect(entries.count == 8)
        #expect(entries.count { $0.response.content.text != nil } == 4)
    }
}
