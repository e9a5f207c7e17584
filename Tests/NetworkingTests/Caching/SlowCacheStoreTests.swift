import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// Stores that take long or never return.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct SlowCacheStoreTests {
    /// A store in which some methods wait until a gate opens.
    private final class Held: CacheStore {
        let entryCostLimit = 1 << 20
        let memory = MemoryCacheStore()
        let gate = MockGate()
        let holdsReads = Atomic(false)
        let holdsWrites = Atomic(false)
        let writes = Atomic(0)

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            if holdsReads.load(ordering: .relaxed) { await passGate() }
            return memory.entries(for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            writes.add(1, ordering: .relaxed)
            if holdsWrites.load(ordering: .relaxed) { await passGate() }
            return memory.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            if holdsWrites.load(ordering: .relaxed) { await passGate() }
            memory.remove(id, for: key)
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            if holdsWrites.load(ordering: .relaxed) { await passGate() }
            memory.removeAll(where: isUnwanted)
        }

        /// Waits for the gate without regard to cancellation.
        private func passGate() async {
            await Task.detached { [gate] in try? await gate.wait() }.value
        }
    }

    private let store = Held()
    private let clock = ManualClock()

    /// A server that numbers its responses.
    private func server() -> MockTransport {
        let count = Mutex(0)
        return MockTransport { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return .ok(Data("\(number)".utf8), headerFields: [.cacheControl: "max-age=100"])
        }
    }

    private func text(
        _ network: some NetworkingComponent,
        _ change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws -> String {
        String(decoding: try await network.data(.lawful.with(change)).data, as: UTF8.self)
    }

    @Test func responsesDoNotWaitForASlowWrite() async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        store.holdsWrites.store(true, ordering: .relaxed)
        let start = ContinuousClock.now
        for number in 1...8 {
            #expect(try await text(network) { $0.target = "/\(number)" } == "\(number)")
        }
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(store.memory.count == 0)
        store.gate.open()
        try await cache.flush()
        #expect(store.memory.count == 8)
        #expect(try await network.data(.lawful.with { $0.target = "/8" }).isCached)
    }

    @Test func flushEndsWhenItsCallerIsCancelled() async throws {
        let cache = ResponseCache(in: store)
        store.holdsWrites.store(true, ordering: .relaxed)
        _ = try await text(server().cached(in: cache))
        let flush = Task { try await cache.flush() }
        flush.cancel()
        await #expect(throws: CancellationError.self) { try await flush.value }
        store.gate.open()
    }

    /// An older response must not come back after a newer one was returned.
    @Test(arguments: [HTTPRequest.Method.get, .put])
    func olderEntryIsNotUsedWhileANewerOneIsWritten(method: HTTPRequest.Method) async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache)
        #expect(try await text(network) == "1")
        store.holdsWrites.store(true, ordering: .relaxed)
        let second = try await text(network) {
            $0.method = method
            $0.cacheMode = .reload
        }
        #expect(second == "2")
        #expect(try await text(network) == "3")
        store.gate.open()
        try await cache.flush()
        let last = try await network.data(.lawful)
        #expect(last.isCached && last.data == Data("3".utf8))
    }

    @Test func readEndsAtTheCallersCancellation() async throws {
        let network = server().cached(in: store)
        store.holdsReads.store(true, ordering: .relaxed)
        let call = Task { try await network.data(.lawful) }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        store.gate.open()
    }

    @Test func readEndsAtTheCallersDeadline() async throws {
        let network = server().cached(in: store).deadline(.seconds(2)).environment(\.clock, .manual(clock))
        store.holdsReads.store(true, ordering: .relaxed)
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        store.gate.open()
    }

    @Test func readThatTakesTooLongIsAMiss() async throws {
        let events = EventRecorder()
        let network = server().cached(in: store)
        store.holdsReads.store(true, ordering: .relaxed)
        #expect(try await text(network) { $0.addObserver(events) } == "1")
        #expect(events.names.contains("cacheFailed"))
        store.gate.open()
    }

    @Test func changesInProgressAreLimited() async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache)
        store.holdsWrites.store(true, ordering: .relaxed)
        for number in 0..<CacheWrites.maximumCount + 10 {
            _ = try await text(network) { $0.target = "/\(number)" }
        }
        let last = try await network.data(.lawful.with { $0.target = "/last" })
        #expect(last.cacheStatus?.detail == "store")
        store.gate.open()
        try await cache.flush()
        #expect(store.memory.count == CacheWrites.maximumCount)
    }

    @Test func explicitRemovalEndsWhenItsCallerIsCancelled() async throws {
        let cache = ResponseCache(in: store)
        store.holdsWrites.store(true, ordering: .relaxed)
        let url = try #require(HTTPRequestData.lawful.url)
        for removal in [
            Task { try await cache.removeAll() }, Task { try await cache.remove(url: url) },
            Task { try await cache.remove(principal: Principal(id: "a")) },
        ] {
            removal.cancel()
            await #expect(throws: CancellationError.self) { try await removal.value }
        }
        store.gate.open()
    }

    /// All callers of a shared exchange receive the same response.
    @Test(arguments: [true, false]) func sharedResponseIsStoredOnce(isInMemory: Bool) async throws {
        let (gate, events) = (MockGate(), EventRecorder())
        let transport = MockTransport { _ in
            try await gate.wait()
            return .ok(headerFields: [.cacheControl: "max-age=100"])
        }
        let cache = isInMemory ? ResponseCache() : ResponseCache(in: store)
        let network = transport.deduplicated().cached(in: cache).environment(\.clock, .manual(clock))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { _ = try await network.data(.lawful.with { $0.addObserver(events) }) }
            }
            try await eventually("all callers have missed") {
                events.names.count { $0 == "cacheMissed" } == 50
            }
            gate.open()
            try await group.waitForAll()
        }
        try await cache.flush()
        #expect(transport.requests.count == 1)
        #expect(events.names.count { $0 == "cacheStored" } == 1)
    }

    @Test func memoryStoreReturnsAtOnce() {
        #expect(MemoryCacheStore().isInMemory)
        #expect(!store.isInMemory)
        #expect(!StackedCacheStore(over: store).isInMemory)
    }

    /// A server that hangs stops background validations of its own host only, and not for ever.
    @Test func hungValidationsConcernTheirHostOnly() async throws {
        let isHung = Atomic(false)
        let validated = Journal()
        let transport = MockTransport { [clock] request in
            let host = request.authority ?? ""
            if request.headerFields.contains(.ifNoneMatch) {
                validated.note(host + (request.path ?? ""))
                if host == "hung.example", isHung.load(ordering: .relaxed) { return .never }
            }
            return .ok(
                headerFields: [
                    .cacheControl: "max-age=1, stale-while-revalidate=10000", .eTag: "\"a\"",
                    .date: NetworkClock.manual(clock).date.httpDate,
                ]
            )
        }
        let network = transport.cached().environment(\.clock, .manual(clock))
        func get(_ host: String, _ path: String) async throws {
            try await network.data(HTTPRequestData(authority: host, path: path))
        }
        for number in 1...9 { try await get("hung.example", "/\(number)") }
        try await get("other.example", "/")
        isHung.store(true, ordering: .relaxed)
        clock.advance(by: .seconds(5))
        for number in 1...8 { try await get("hung.example", "/\(number)") }
        try await get("other.example", "/")
        try await eventually("nine validations") { validated.entries.count >= 9 }
        #expect(validated.entries.contains("other.example/"))
        // The time limit frees the places.
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        try await eventually("another validation of the host") {
            try await get("hung.example", "/9")
            return validated.entries.contains("hung.example/9")
        }
    }
}
