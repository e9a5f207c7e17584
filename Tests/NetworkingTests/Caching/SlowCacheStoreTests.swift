import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// Stores that take long or never return.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SlowCacheStoreTests {
    enum Method { case key, number, read, write }

    /// A store in which some methods wait until a gate opens.
    private final class Held: CacheStore {
        let entryCostLimit = 1 << 20
        let memory = MemoryCacheStore()
        let gate = MockGate()
        let held = Locked<Set<Method>>([])
        let failsWrites = Atomic(false)
        /// The methods that were called.
        let calls = Locked<[Method]>([])
        private let key = CacheDigestKey()

        func digestKey() async throws -> CacheDigestKey? {
            await begin(.key)
            return key
        }

        func changeNumber() async throws -> Int64? {
            await begin(.number)
            return nil
        }

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            await begin(.read)
            return memory.entries(for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            await begin(.write)
            if failsWrites.load(ordering: .relaxed) { throw CocoaError(.fileWriteOutOfSpace) }
            return memory.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            await begin(.write)
            memory.remove(id, for: key)
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            await begin(.write)
            memory.removeAll(where: isUnwanted)
        }

        func count(of method: Method) -> Int {
            calls.withLock { $0.count { $0 == method } }
        }

        /// Waits for the gate without regard to cancellation, if the method is held.
        private func begin(_ method: Method) async {
            calls.withLock { $0.append(method) }
            guard held.withLock({ $0.contains(method) }) else { return }
            await Task.detached { [gate] in try? await gate.wait() }.value
        }

        func hold(_ method: Method) {
            held.withLock { _ = $0.insert(method) }
        }

        /// Ends all waits, and holds no method any more.
        func release() {
            held.withLock { $0 = [] }
            gate.open()
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

    /// Returns the text of a response for which the store takes longer than a wait.
    private func text(
        _ network: some NetworkingComponent,
        past patience: Duration,
        of method: Method,
        _ change: @escaping @Sendable (inout HTTPRequestData) -> Void = { _ in }
    ) async throws -> String {
        let before = store.count(of: method)
        let call = Task { try await text(network, change) }
        try await eventually("the store is used") { store.count(of: method) > before }
        try await clock.advance(by: patience, afterSleepers: 1)
        return try await call.value
    }

    @Test func changeThatRunsAtOnceMustBeTheFirstOfItsURL() throws {
        let writes = CacheWrites()
        let first = try #require(writes.place(for: "a"))
        #expect(writes.place(for: "a", onlyIfFirst: true) == nil)
        #expect(writes.place(for: "b", onlyIfFirst: true) != nil)
        writes.end(first, nil)
        #expect(writes.place(for: "a", onlyIfFirst: true) != nil)
    }

    /// The store has removed everything when it stores the response.
    @Test func responseIsNotStoredIfAllAreRemovedDuringItsWrite() async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        store.hold(.write)
        let call = Task { try await text(network) }
        try await eventually("the response is written") { store.count(of: .write) == 1 }
        // Only the first write waits.
        store.held.withLock { $0 = [] }
        try await cache.removeAll()
        store.release()
        #expect(try await call.value == "1")
        try await cache.flush()
        #expect(store.memory.count == 0)
        #expect(try await text(network) == "2")
    }

    @Test func responsesDoNotWaitForASlowWrite() async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        store.hold(.write)
        #expect(try await text(network, past: CacheWrites.patience, of: .write) { $0.target = "/1" } == "1")
        for number in 2...8 {
            #expect(try await text(network) { $0.target = "/\(number)" } == "\(number)")
        }
        #expect(store.memory.count == 0)
        store.release()
        try await cache.flush()
        #expect(store.memory.count == 8)
        #expect(try await network.data(.lawful.with { $0.target = "/8" }).isCached)
    }

    /// An older response must not come back after a newer one was returned.
    @Test(arguments: [HTTPRequest.Method.get, .put])
    func olderEntryIsNotUsedWhileANewerOneIsWritten(method: HTTPRequest.Method) async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        #expect(try await text(network) == "1")
        store.hold(.write)
        let second = try await text(network, past: CacheWrites.patience, of: .write) {
            $0.method = method
            $0.cacheMode = .reload
        }
        #expect(second == "2")
        let third = Task { try await text(network) }
        try await clock.advance(by: CacheWrites.readPatience, afterSleepers: 1)
        #expect(try await third.value == "3")
        store.release()
        try await cache.flush()
        let last = try await network.data(.lawful)
        #expect(last.isCached && last.data == Data("3".utf8))
    }

    // MARK: A store without its key

    /// Sets a credential, so that the key of the store is needed.
    private static let credentials: [@Sendable (inout HTTPRequestData) -> Void] = [
        { $0.setCredential("emily", forQueryItem: "ticket") },
        { $0.headerFields[HTTPField.Name("X-API-Key")!] = "emily" },
    ]

    /// No request would find an entry under another key, and no removal would match it.
    @Test(arguments: [0, 1], [Method.key, .number, .read])
    func responseIsNotStoredIfTheStoreTakesTooLong(credential: Int, method: Method) async throws {
        let change = Self.credentials[credential]
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        store.hold(method)
        #expect(try await text(network, past: CacheWrites.readPatience, of: method, change) == "1")
        store.release()
        try await cache.flush()
        #expect(store.memory.count == 0)
        #expect(try await text(network, change) == "2")
        try await cache.flush()
        #expect(store.memory.count == 1)
        #expect(try await text(network, change) == "2")
        // The removal matches the entry.
        try await cache.remove(url: #require(HTTPRequestData.lawful.with(change).url))
        #expect(store.memory.count == 0)
    }

    /// The caller has received a newer response than the one in the store.
    @Test(arguments: [0, 1], [Method.key, .number, .read])
    func olderEntryIsNotUsedAfterAResponseThatWasNotStored(credential: Int, method: Method) async throws {
        let change = Self.credentials[credential]
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        #expect(try await text(network, change) == "1")
        store.hold(method)
        let second = try await text(network, past: CacheWrites.readPatience, of: method) {
            change(&$0)
            if method != .read { $0.cacheMode = .reload }
        }
        #expect(second == "2")
        store.release()
        #expect(try await text(network, change) == "3")
        #expect(try await text(network, change) == "3")
        #expect(store.memory.count == 1)
    }

    @Test func olderEntryIsNotUsedAfterAWriteThatFailed() async throws {
        let network = server().cached(in: store).environment(\.clock, .manual(clock))
        #expect(try await text(network) == "1")
        store.failsWrites.store(true, ordering: .relaxed)
        let response = try await network.data(.lawful.with { $0.cacheMode = .reload })
        #expect(response.cacheStatus?.detail == "store")
        store.failsWrites.store(false, ordering: .relaxed)
        #expect(try await text(network) == "3")
        #expect(try await text(network) == "3")
    }

    /// A change must not be forgotten because the store was slow or has failed.
    @Test(arguments: [0, 1], [Method.key, .write])
    func changeOfAURLIsNotLost(credential: Int, method: Method) async throws {
        let change = Self.credentials[credential]
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        #expect(try await text(network, change) == "1")
        store.hold(method)
        let put = try await text(network, past: CacheWrites.patience, of: method) {
            change(&$0)
            $0.method = .put
        }
        #expect(put == "2")
        store.release()
        #expect(try await text(network, change) == "3")
        try await cache.flush()
        #expect(try await text(network, change) == "3")
        #expect(store.memory.count == 1)
    }

    // MARK: Reads

    @Test func readEndsAtTheCallersDeadline() async throws {
        let network = server().cached(in: store).deadline(.milliseconds(500)).environment(\.clock, .manual(clock))
        store.hold(.read)
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .milliseconds(500), afterSleepers: 2)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        store.release()
    }

    @Test func readThatTakesTooLongIsAMiss() async throws {
        let events = EventRecorder()
        let network = server().cached(in: store).environment(\.clock, .manual(clock))
        store.hold(.read)
        let text = try await text(network, past: CacheWrites.readPatience, of: .read) { $0.addObserver(events) }
        #expect(text == "1")
        #expect(events.names.contains("cacheFailed"))
        store.release()
    }

    @Test func changesInProgressAreLimited() async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        store.hold(.write)
        _ = try await text(network, past: CacheWrites.patience, of: .write) { $0.target = "/0" }
        for number in 1..<CacheWrites.maximumCount + 10 {
            _ = try await text(network) { $0.target = "/\(number)" }
        }
        let last = try await network.data(.lawful.with { $0.target = "/last" })
        #expect(last.cacheStatus?.detail == "store")
        store.release()
        try await cache.flush()
        #expect(store.memory.count == CacheWrites.maximumCount)
    }

    /// The store works again, so that a response waits for its entry.
    @Test func responsesWaitForTheirWritesAgainAfterASlowOne() async throws {
        let writes = CacheWrites()
        let gates = [MockGate(), MockGate()]
        @Sendable func change(_ number: Int) async -> CacheBypass? {
            guard let place = writes.place(for: "/\(number)") else { return .store }
            return await writes.run(place, isInline: false) {
                try? await gates[number].wait()
                return .size
            }
        }
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            let slow = Task { await change(0) }
            try await clock.advance(by: CacheWrites.patience, afterSleepers: 1)
            #expect(await slow.value == nil)
            gates[0].open()
            try await writes.flush()
            let later = Task { await change(1) }
            try await eventually("the response waits") { clock.sleepers == 1 }
            gates[1].open()
            #expect(await later.value == .size)
        }
    }

    /// Each change makes room for another one.
    @Test func changesThatHaveEndedDoNotCount() async throws {
        let network = server().cached(in: ResponseCache(in: store)).environment(\.clock, .manual(clock))
        for number in 1...CacheWrites.maximumCount + 10 {
            _ = try await text(network) { $0.target = "/\(number)" }
            #expect(store.memory.count == number)
        }
    }

    /// A change of one URL does not hold back reads of another one.
    @Test func readsOfOtherURLsDoNotWaitForASlowWrite() async throws {
        let cache = ResponseCache(in: store)
        let network = server().cached(in: cache).environment(\.clock, .manual(clock))
        _ = try await text(network) { $0.target = "/stored" }
        store.hold(.write)
        _ = try await text(network, past: CacheWrites.patience, of: .write) { $0.target = "/slow" }
        #expect(try await network.data(.lawful.with { $0.target = "/stored" }).isCached)
        store.release()
        try await cache.flush()
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
            try await eventually("all callers have joined the exchange of the first") {
                events.names.count { $0 == "shared" } == 49
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
