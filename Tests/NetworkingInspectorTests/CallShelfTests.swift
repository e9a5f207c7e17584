import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingInspector

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
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

    @Test func returnsOnlyCallsSinceTheRevision() async throws {
        try await call(2)
        let first = changes(since: 0, of: "")
        #expect(first.captures.map(\.id) == [1, 2])
        #expect(changes(since: first.revision, of: first.epoch).captures.isEmpty)
        try await call()
        let second = changes(since: first.revision, of: first.epoch)
        #expect(second.captures.map(\.id) == [3])
        #expect(second.epoch == first.epoch)
    }

    @Test func returnsManyCallsInPages() async throws {
        try await call(3)
        let first = changes(since: 0, of: "", upTo: 2)
        #expect(first.captures.count == 2)
        #expect(first.hasMore)
        let second = changes(since: first.revision, of: first.epoch, upTo: 2)
        #expect(second.captures.count == 1)
        #expect(!second.hasMore)
        #expect(Set((first.captures + second.captures).map(\.id)) == [1, 2, 3])
    }

    /// Captures that change together need different revisions, or a page could skip some of them.
    @Test func returnsManyCallsEvictedAtOnceInPages() async throws {
        let inspector = NetworkInspector(maximumBytes: 300_000)
        let shelf = inspector.shelf
        for count in [100_000, 100_000, 200_000] {
            let text = String(repeating: "x", count: count)
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

    @Test func pausedCallsDoNotChangeTheRevision() async throws {
        inspector.pause()
        let before = changes(since: 0, of: "")
        try await call()
        inspector.pause()
        #expect(changes(since: 0, of: "").revision == before.revision)
    }

    @Test func reportsTheOldestKeptCall() async throws {
        try await call(5)
        let changes = changes(since: 0, of: "")
        #expect(changes.oldest == 3)
        #expect(changes.captures.map(\.id) == [3, 4, 5])
    }

    @Test func clearingStartsANewEpoch() async throws {
        try await call()
        let first = changes(since: 0, of: "")
        inspector.clear()
        let cleared = changes(since: first.revision, of: first.epoch)
        #expect(cleared.epoch != first.epoch)
        #expect(cleared.captures.isEmpty)
        #expect(cleared.oldest == 2)
        try await call()
        // A page that has not seen the clearing gets every call since.
        #expect(changes(since: first.revision, of: first.epoch).captures.map(\.id) == [2])
    }

    @Test func waitReturnsWhenACallArrives() async throws {
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

    @Test func waitEndsAtItsDeadlineOrByCancellation() async throws {
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

    @Test func waitReturnsAtOnceIfThereAreChanges() async throws {
        try await call()
        try await shelf.waitForChange(since: 0, of: "another", until: .zero, on: .manual(clock))
    }

    /// Calls that start, end, are evicted and are cleared concurrently leave the counts correct.
    @Test func staysConsistentUnderConcurrentCalls() async throws {
        let inspector = NetworkInspector(keeping: 8, maximumBytes: 480_000)
        let text = String(repeating: "x", count: 100_000)
        let network = MockTransport { _ in .text(text) }.inspected(by: inspector)
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

    // MARK: Memory

    private static let large = String(repeating: "x", count: 4_000)

    /// A response without a body and with large header fields.
    private static let largeHead = MockResponse.status(
        .noContent,
        headerFields: HTTPFields((0..<5).map { HTTPField(name: HTTPField.Name("X-Large-\($0)")!, value: large) })
    )

    /// The size of the text in an archive of all captures.
    private func textBytes(of inspector: NetworkInspector) -> Int {
        inspector.archive.har.log.entries.reduce(0) { sum, entry in
            let fields = entry.request.headers + entry.response.headers
            return sum + fields.reduce(entry.request.url.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        }
    }

    @Test func boundsTheMemoryOfCallsWithoutBodies() async throws {
        let maximum = 8 << 20
        let inspector = NetworkInspector(keeping: 20_000, maximumBytes: maximum)
        let network = MockTransport { _ in Self.largeHead }.inspected(by: inspector)
        let request = HTTPRequestData.lawful.with { $0.headerFields[.userAgent] = Self.large }
        for _ in 0..<10_000 {
            try await network.data(request)
        }
        #expect((50..<10_000).contains(inspector.callCount))
        #expect(inspector.shelf.size.rest <= maximum / 2)
        #expect(textBytes(of: inspector) <= maximum / 2)
        // The newest calls are kept.
        #expect(inspector.shelf.captures.last?.id == 10_000)
    }

    @Test func boundsTheMemoryOfOneCallWithManyAttempts() async throws {
        let maximum = 8 << 20
        let inspector = NetworkInspector(maximumBytes: maximum)
        let transport = MockTransport { _ in Self.largeHead }
        try await transport.modified(Repeating(count: 2_000)).inspected(by: inspector).data(.lawful)
        let state = try #require(inspector.shelf.captures.first).snapshot.state
        #expect((10..<1_000).contains(state.exchanges.count))
        #expect(textBytes(of: inspector) <= maximum / 8 + 50_000)
        #expect(state.end != nil)
    }

    private struct Repeating: NetworkingModifier {
        let count: Int

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            for _ in 1..<count {
                _ = try await upstream.send(request)
            }
            return try await upstream.send(request)
        }
    }

    /// The text of errors and of their responses counts against the limit.
    @Test func boundsTheMemoryOfCallsThatFail() async throws {
        let maximum = 1 << 20
        let inspector = NetworkInspector(keeping: 20_000, maximumBytes: maximum)
        let failing = MockTransport { _ in
            .failure(NetworkingError(.connectionLost, request: .lawful, reason: Self.large))
        }
        for network in [
            AnyNetworkingComponent(failing),
            AnyNetworkingComponent(MockTransport { _ in Self.largeHead }.checkedStatusCode()),
        ] {
            let request = HTTPRequestData.lawful.with { $0.acceptedStatuses = [200] }
            for _ in 0..<300 {
                await #expect(throws: NetworkingError.self) {
                    try await network.inspected(by: inspector).data(request)
                }
            }
        }
        #expect((10..<300).contains(inspector.callCount))
        #expect(inspector.shelf.size.rest <= maximum / 2)
    }

    @Test func dropsACallLargerThanTheLimit() async throws {
        let inspector = NetworkInspector(maximumBytes: 10_000)
        let network = MockTransport { _ in Self.largeHead }.inspected(by: inspector)
        try await network.data(.lawful)
        #expect(inspector.callCount == 0)
        #expect(inspector.shelf.size == CaptureSize())
    }

    /// An evicted call is no longer counted, so it must not grow.
    @Test(arguments: [true, false])
    func recordsNothingMoreOfAnEvictedCall(byClearing: Bool) async throws {
        let inspector = NetworkInspector(keeping: 1)
        let gate = Suspension<Void>()
        let transport = MockTransport { request in
            if request.path == "/waiting" { try await gate.value() }
            return Self.largeHead
        }
        let network = transport.modified(Repeating(count: 3)).inspected(by: inspector)
        let call = Task { try await network.data(.lawful.with { $0.path = "waiting" }) }
        try await eventually("!transport.requests.isEmpty") { !transport.requests.isEmpty }
        let capture = try #require(inspector.shelf.captures.first)
        #expect(capture.snapshot.state.exchanges.count == 1)
        if byClearing {
            inspector.clear()
        } else {
            try await network.data(.lawful)
        }
        gate.resume()
        _ = try await call.value
        #expect(capture.snapshot.state.exchanges.isEmpty)
        #expect(capture.snapshot.state.end == nil)
        #expect(inspector.callCount == (byClearing ? 0 : 1))
    }
}
