import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// Cache groups (RFC 9875), and the vectors in `Tests/Vectors/cache-groups.json` and `no-vary-search.json`.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct CacheGroupsTests {
    /// A store with only the methods that each store must have.
    private final class Bare: CacheStore {
        let entryCostLimit = 1 << 20
        let memory = MemoryCacheStore()
        let failures = Locked(0)

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            memory.entries(for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            memory.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            memory.remove(id, for: key)
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            let fails = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            if fails { throw CocoaError(.fileReadUnknown) }
            memory.removeAll(where: isUnwanted)
        }

        // The default would call `removeAll(where:)`, too.
        func remove(url: String) async throws {
            memory.removeAll { $0.url == url }
        }
    }

    // MARK: Vectors

    @Test func filesHaveVectors() {
        #expect(CacheVector.vectors(in: "cache-groups.json").count >= 30)
        #expect(CacheVector.vectors(in: "no-vary-search.json").count >= 20)
        #expect(Set(CacheVector.all.map(\.name)).count == CacheVector.all.count)
    }

    @Test(arguments: CacheVector.all)
    func storeInMemoryFollowsTheVector(vector: CacheVector) async throws {
        try await vector.run(over: MemoryCacheStore())
    }

    @Test(arguments: CacheVector.all)
    func storeWithTheRequiredMethodsFollowsTheVector(vector: CacheVector) async throws {
        try await vector.run(over: Bare())
    }

    @Test(arguments: CacheVector.all)
    func stackedStoreFollowsTheVector(vector: CacheVector) async throws {
        try await vector.run(over: StackedCacheStore(over: Bare()))
    }

    private struct Document: Decodable {
        let names: [Names]
    }

    struct Names: Decodable, Sendable {
        let value: String
        let groups: [String]
    }

    @Test func namesAreParsed() throws {
        let text = try Repository.text(at: "Tests/Vectors/cache-groups.json")
        for vector in try JSONDecoder().decode(Document.self, from: Data(text.utf8)).names {
            for name in [HTTPField.Name.cacheGroups, .cacheGroupInvalidation] {
                let response = HTTPResponse(status: .ok, headerFields: [name: vector.value])
                #expect(CacheGroups.names(name, in: response) == Set(vector.groups), "\(vector.value)")
            }
        }
    }

    @Test func hugeFieldsAreBounded() {
        let value = (0..<100_000).map { "\"\($0)\"" }.joined(separator: ", ")
        let response = HTTPResponse(status: .ok, headerFields: [.cacheGroups: value])
        #expect(CacheGroups.names(.cacheGroups, in: response).count == 32)
        let deep = HTTPResponse(status: .ok, headerFields: [.cacheGroups: String(repeating: "(", count: 100_000)])
        #expect(CacheGroups.names(.cacheGroups, in: deep).isEmpty)
    }

    // MARK: Scope

    @Test func scopeComparesOriginsAndUsers() {
        let user = Principal(id: "emily")
        let scope = CacheGroupScope(origin: "https://a.example", principals: [user, nil])
        for (principal, url, isIn) in [
            (user, "https://a.example/a", true), (nil, "https://a.example/b?c", true), (nil, "https://a.example", true),
            (nil, "https://a.example?c", true), (Principal(id: "jack"), "https://a.example/a", false),
            (user, "https://a.example.net/a", false), (user, "http://a.example/a", false),
            (user, "https://a.example:8443/a", false), (user, "", false),
        ] {
            #expect(scope.contains(CacheKey(principal: principal, url: url)) == isIn, "\(url)")
        }
        let all = CacheGroupScope(origin: "https://a.example")
        #expect(all.contains(CacheKey(principal: Principal(id: "jack"), url: "https://a.example/a")))
    }

    // MARK: Memory

    private func entry(_ groups: String?, id: UUID = UUID()) -> CachedEntry {
        var fields = HTTPFields()
        fields[.cacheGroups] = groups
        return CachedEntry(
            id: id,
            response: HTTPResponse(status: .ok, headerFields: fields),
            body: Data(),
            requestDate: .distantPast,
            responseDate: .distantPast
        )
    }

    /// The index of groups must not keep keys whose entries are gone, because their places are used again.
    @Test func evictedEntriesLeaveTheirGroups() {
        let store = MemoryCacheStore(countLimit: 2)
        let keys = (0..<4).map { CacheKey(principal: nil, url: "https://a.example/\($0)") }
        store.store(entry("\"x\""), for: keys[0])
        store.store(entry("\"x\""), for: keys[1])
        store.store(entry(nil), for: keys[2])
        store.store(entry(nil), for: keys[3])
        store.remove(groups: ["x"], at: CacheGroupScope(origin: "https://a.example"))
        #expect(store.count == 2)
        let id = UUID()
        store.store(entry("\"x\"", id: id), for: keys[3])
        store.store(entry("\"y\"", id: id), for: keys[3])
        store.remove(groups: ["x"], at: CacheGroupScope(origin: "https://a.example"))
        #expect(store.count == 2)
        store.remove(groups: ["y", "z"], at: CacheGroupScope(origin: "https://a.example"))
        #expect(store.count == 1)
    }

    // MARK: Requests in flight

    /// A server that delays the first response to a GET until the gate opens.
    private func slowServer(
        _ fields: HTTPFields,
        removing groups: String
    ) -> (MockTransport, Suspension<Void>, MockGate) {
        let (arrived, gate, count) = (Suspension<Void>(), MockGate(), Locked(0))
        let transport = MockTransport { request in
            guard request.method == .get else { return .ok(headerFields: [.cacheGroupInvalidation: groups]) }
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                arrived.resume()
                try await gate.wait()
            }
            return .ok(Data("\(number)".utf8), headerFields: fields)
        }
        return (transport, arrived, gate)
    }

    private let get = HTTPRequestData(authority: "a.example", path: "/a")
    private let post = HTTPRequestData(authority: "a.example", path: "/z").with { $0.method = .post }

    @Test(arguments: [("\"x\"", false), ("\"other\"", true)])
    func removalOutdatesResponsesOfTheGroupInFlight(_ groups: String, isStored: Bool) async throws {
        let (transport, arrived, gate) = slowServer(
            [.cacheControl: "max-age=100", .cacheGroups: "\"x\""],
            removing: groups
        )
        let network = transport.cached()
        async let first = network.data(get)
        try await arrived.value()
        try await network.data(post)
        gate.open()
        #expect(try await first.cacheStatus?.isStored == isStored)
        #expect(try await first.text == "1")
        #expect(try await network.data(get).isCached == isStored)
    }

    /// More removals than the cache remembers.
    @Test(arguments: [true, false])
    func manyRemovalsOutdateOnlyResponsesWithGroups(hasGroups: Bool) async throws {
        let fields: HTTPFields = hasGroups ? [.cacheGroups: "\"x\""] : [:]
        let (transport, arrived, gate) = slowServer(
            fields.merging([.cacheControl: "max-age=100"]),
            removing: "\"other\""
        )
        let network = transport.cached()
        async let first = network.data(get)
        try await arrived.value()
        for _ in 0..<100 {
            try await network.data(post)
        }
        gate.open()
        #expect(try await first.cacheStatus?.isStored == !hasGroups)
    }

    /// A 304 for a request from before the removal does not bring the entry back.
    @Test func removalOutdatesAValidationInFlight() async throws {
        let (arrived, gate) = (Suspension<Void>(), MockGate())
        let clock = ManualClock()
        let transport = MockTransport { request in
            guard request.method == .get else { return .ok(headerFields: [.cacheGroupInvalidation: "\"x\""]) }
            let fields: HTTPFields = [.cacheControl: "max-age=1", .cacheGroups: "\"x\"", .eTag: "\"a\""]
            guard request.headerFields[.ifNoneMatch] != nil else { return .ok(headerFields: fields) }
            arrived.resume()
            try await gate.wait()
            return .status(.notModified).headerFields(fields)
        }
        let store = MemoryCacheStore()
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        try await network.data(get)
        clock.advance(by: .seconds(5))
        async let second = network.data(get)
        try await arrived.value()
        try await network.data(post)
        gate.open()
        #expect(try await second.status == .ok)
        #expect(store.count == 0)
    }

    // MARK: Failures

    @Test func failedRemovalIsRepeatedBeforeTheNextUse() async throws {
        let transport = MockTransport { request in
            request.method == .get
                ? .ok(headerFields: [.cacheControl: "max-age=100", .cacheGroups: "\"x\""])
                : .ok(headerFields: [.cacheGroupInvalidation: "\"x\""])
        }
        let store = Bare()
        let network = transport.cached(in: store)
        try await network.data(get)
        store.failures.withLock { $0 = 2 }
        let events = EventRecorder()
        try await network.data(post.with { $0.addObserver(events) })
        #expect(events.names.contains("cacheFailed"))
        #expect(store.memory.count == 1)
        // It fails once more, and the entry is not used.
        #expect(try await !network.data(get).isCached)
        #expect(try await network.data(get).isCached)
    }
}

extension HTTPFields {
    fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
        HTTPFields(Array(self) + Array(others))
    }
}
