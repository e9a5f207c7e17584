import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Stores of an outbox and of cookies that never return, and outboxes that share a store.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SlowOutboxStoreTests {
    /// A store in which each call waits for the gate, without regard to cancellation.
    private struct Hung: OutboxStore, CookieStorage {
        let gate = MockGate()

        private func passGate() async {
            await Task.detached { [gate] in try? await gate.wait() }.value
        }

        func ids() async throws -> [OutboxEntry.ID] {
            await passGate()
            return []
        }

        func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
            await passGate()
            return nil
        }

        func add(_ entry: OutboxEntry) async throws { await passGate() }

        func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws { await passGate() }

        func remove(_ id: OutboxEntry.ID) async throws -> Bool {
            await passGate()
            return false
        }

        func claim() async throws -> Bool {
            await passGate()
            return true
        }

        func release() async { await passGate() }

        func load() async throws -> CookieArchive? {
            await passGate()
            return nil
        }

        func save(_ archive: CookieArchive) async throws { await passGate() }
    }

    @Test func callsEndWhenTheirCallerIsCancelled() async throws {
        let store = Hung()
        let outbox = Outbox(in: store, over: MockTransport { _ in .ok() })
        let id = try #require(OutboxEntry.ID("0000000000000001-0000000000000001"))
        let calls = [
            Task { _ = try await outbox.enqueue(.order) }, Task { _ = try await outbox.entries() },
            Task { _ = try await outbox.cancel(id) }, Task { _ = try await outbox.retry(id) },
            Task { _ = try await outbox.flush() }, Task { try await outbox.run() },
            Task { _ = try await CookieJar(in: store) },
        ]
        for call in calls {
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        store.gate.open()
    }

    /// A delivery usually takes less than five seconds.
    @Test func waitsAShortTimeForAnotherOutbox() async throws {
        let (clock, store) = (ManualClock(), MemoryOutboxStore())
        let transport = MockTransport { _ in .ok() }
        let outbox = Outbox(in: store, over: transport)
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            try await outbox.enqueue(.order)
            #expect(store.claim())
            let run = Task { try await outbox.run() }
            try await clock.waitForSleepers()
            #expect(transport.requests.isEmpty)
            store.release()
            clock.advance(by: .milliseconds(100))
            try await transport.waitForRequests(1)
            run.cancel()
            await #expect(throws: CancellationError.self) { try await run.value }
        }
    }
}
