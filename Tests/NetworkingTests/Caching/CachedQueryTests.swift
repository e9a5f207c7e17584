import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// QUERY requests (RFC 10008 section 2.7).
@Suite(.stoppedClock, .timeLimit(.minutes(20)))
struct CachedQueryTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore()

    /// A store that a cache treats like one outside the memory.
    private final class Outside: CacheStore {
        let entryCostLimit = 1 << 20
        let memory = MemoryCacheStore()
        let keys = Mutex<[CacheKey]>([])

        func digestKey() async throws -> CacheDigestKey? {
            CacheDigestKey(bytes: Array(repeating: 7, count: 16))
        }

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            memory.entries(for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            keys.withLock { $0.append(key) }
            return memory.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            memory.remove(id, for: key)
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            memory.removeAll(where: isUnwanted)
        }
    }

    private func server(_ fields: HTTPFields = [.cacheControl: "max-age=100"]) -> MockTransport {
        MockTransport { request in
            let text = "\(request.method) \(request.body?.data.map { String(decoding: $0, as: UTF8.self) } ?? "")"
            let tag = fields[.eTag].map { _ in "\"\(text.utf8.count)\"" }
            if let tag, request.headerFields[.ifNoneMatch] == tag { return .status(.notModified) }
            return .text(text).headerFields(fields).headerFields(tag.map { [.eTag: $0] } ?? [:])
        }
    }

    private func query(_ text: String, type: String = "text/plain") -> HTTPRequestData {
        .lawful.with {
            $0.method = .query
            $0.body = .data(Data(text.utf8), contentType: type)
        }
    }

    private func network(_ transport: MockTransport, _ store: some CacheStore) -> some NetworkingComponent {
        transport.cached(in: store).environment(\.clock, .manual(clock))
    }

    // MARK: Keys

    @Test func eachBodyHasAResponseOfItsOwn() async throws {
        let transport = server()
        let network = network(transport, store)
        for _ in 0..<2 {
            for text in ["a", "b", ""] {
                #expect(try await network.data(query(text)).text == "QUERY \(text)")
            }
            #expect(try await network.data(.lawful).text == "GET ")
        }
        #expect(transport.requests.count == 4)
        #expect(try await network.data(query("a")).isCached)
    }

    @Test func metadataOfTheBodyIsPartOfTheKey() async throws {
        let transport = server()
        let network = network(transport, store)
        let requests = [
            query("a"), query("a", type: "text/csv"),
            query("a").with { $0.headerFields[.contentType] = "application/sql" },
            query("a").with { $0.headerFields[.contentEncoding] = "gzip" },
            query("a").with { $0.headerFields[.contentLanguage] = "de" },
            query("a").with { $0.headerFields[.contentLanguage] = "gzip" },
            query("a").with { $0.query.page = "2" },
        ]
        for _ in 0..<2 {
            for request in requests { try await network.data(request) }
        }
        #expect(transport.requests.count == requests.count)
        // The field replaces the type of the body, so this is the same request.
        try await network.data(query("a", type: "text/csv").with { $0.headerFields[.contentType] = "text/plain" })
        #expect(transport.requests.count == requests.count)
    }

    @Test func otherFieldsCountIfVaryNamesThem() async throws {
        let transport = server([.cacheControl: "max-age=100", .vary: "Accept"])
        let network = network(transport, store)
        for accept in ["text/plain", "text/csv", "text/plain"] {
            try await network.data(query("a").with { $0.headerFields[.accept] = accept })
        }
        #expect(transport.requests.count == 2)
    }

    @Test func usersDoNotShareResponses() async throws {
        let transport = server()
        let network = network(transport, store)
        for cookie in ["user=1", "user=2", "user=1"] {
            try await network.data(query("a").with { $0.headerFields[.cookie] = cookie })
        }
        #expect(transport.requests.count == 2)
    }

    /// A store keeps at most 32 variants of a key, but any number of queries of a URL.
    @Test func manyQueriesOfAURLAreStored() async throws {
        let transport = server()
        let network = network(transport, store)
        for _ in 0..<2 {
            for number in 0..<100 { try await network.data(query("\(number)")) }
        }
        #expect(transport.requests.count == 100)
    }

    @Test func digestDependsOnTheKeyOfTheStore() async throws {
        let content = try #require(QueryContent(query("a")))
        let keys = [1, 2].compactMap { CacheDigestKey(bytes: Array(repeating: $0, count: 16)) }
        let digests = [await content.digest(with: keys[0]), await content.digest(with: keys[1])]
        #expect(digests[0] != digests[1] && digests[0].count == 32)
        #expect(await content.digest(with: keys[0]) == digests[0])
    }

    // MARK: Bodies

    @Test func bodyOfOneMegabyteIsPartOfTheKeyAndALargerOneIsNot() async throws {
        let transport = server()
        let network = network(transport, store)
        var response: HTTPResponseData?
        for length in [1 << 20, 1 << 20, 1 << 20 + 1, 1 << 20 + 1] {
            response = try await network.data(query(String(repeating: "a", count: length)))
        }
        #expect(transport.requests.count == 3)
        #expect(response?.cacheStatus?.detail == CacheBypass.body.rawValue)
    }

    @Test func bodyThatIsNotInMemoryBypassesTheCache() async throws {
        let transport = server()
        let network = network(transport, store)
        let events = EventRecorder()
        for _ in 0..<2 {
            let stream = RequestBody.stream { AsyncStream<[UInt8]> { $0.finish() } }
            try await network.data(
                query("")
                    .with {
                        $0.body = stream
                        $0.addObserver(events)
                    }
            )
        }
        #expect(transport.requests.count == 2)
        #expect(events.names.contains("cacheBypassed"))
        let response = try await network.data(
            query("")
                .with {
                    $0.body = .stream { AsyncStream<[UInt8]> { $0.finish() } }
                    $0.cacheMode = .onlyIfCached
                }
        )
        #expect(response.status == .gatewayTimeout)
        #expect(transport.requests.count == 2)
    }

    @Test func queryWithoutABodyIsCached() async throws {
        let transport = server()
        let network = network(transport, store)
        for _ in 0..<2 { try await network.data(.lawful.with { $0.method = .query }) }
        try await network.data(.lawful)
        #expect(transport.requests.map(\.method) == [.query, .get])
    }

    // MARK: Validation and removal

    @Test func staleResponseIsValidatedWithItsBody() async throws {
        let transport = server([.cacheControl: "max-age=1", .eTag: "yes"])
        let network = network(transport, store)
        try await network.data(query("a"))
        try await network.data(query("bcd"))
        clock.advance(by: .seconds(2))
        let response = try await network.data(query("a"))
        #expect(response.isCached && response.text == "QUERY a")
        #expect(transport.requests.count == 3)
        let sent = try #require(transport.requests.last)
        // The tag of another query must not confirm this one.
        #expect(sent.headerFields[.ifNoneMatch] == "\"7\"")
        #expect(sent.method == .query && sent.body?.data == Data("a".utf8))
    }

    @Test func staleWhileRevalidateSendsTheQueryAgain() async throws {
        let transport = server([.cacheControl: "max-age=1, stale-while-revalidate=100"])
        let network = network(transport, store)
        try await network.data(query("a"))
        clock.advance(by: .seconds(2))
        #expect(try await network.data(query("a")).isCached)
        try await eventually("the query is sent again") { transport.requests.count == 2 }
        #expect(transport.requests.allSatisfy { $0.method == .query && $0.body?.data == Data("a".utf8) })
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
    func unsafeRequestsRemoveTheResponsesOfAllQueries(method: HTTPRequest.Method) async throws {
        for store: any CacheStore in [store, Outside()] {
            let transport = server()
            let network = network(transport, AnyStore(store))
            let requests = [query("a"), query("b"), .lawful]
            for request in requests { try await network.data(request) }
            try await network.data(.lawful.with { $0.method = method })
            for request in requests { #expect(try await !network.data(request).isCached) }
        }
    }

    @Test func queriesRemoveNothing() async throws {
        let transport = server()
        let network = network(transport, store)
        try await network.data(.lawful)
        try await network.data(query("a"))
        #expect(try await network.data(.lawful).isCached)
        for method in [HTTPRequest.Method.options, .trace] {
            try await network.data(.lawful.with { $0.method = method })
        }
        #expect(try await network.data(query("a")).isCached)
    }

    @Test func removalByURLRemovesQueries() async throws {
        let transport = server()
        let cache = ResponseCache(in: store)
        let network = transport.cached(in: cache).environment(\.clock, .manual(clock))
        try await network.data(query("a"))
        try await cache.remove(url: try #require(HTTPRequestData.lawful.url))
        #expect(try await !network.data(query("a")).isCached)
        try await cache.removeAll { $0.query != nil }
        #expect(try await !network.data(query("a")).isCached)
    }

    // MARK: Modes and sinks

    @Test func modesApply() async throws {
        let transport = server()
        let network = network(transport, store)
        #expect(try await network.data(query("a").with { $0.cacheMode = .onlyIfCached }).status == .gatewayTimeout)
        try await network.data(query("a"))
        #expect(try await network.data(query("a").with { $0.cacheMode = .onlyIfCached }).text == "QUERY a")
        #expect(try await !network.data(query("a").with { $0.cacheMode = .reload }).isCached)
        #expect(try await network.data(query("a").with { $0.headerFields[.range] = "bytes=0-4" }).text == "QUERY")
    }

    @Test func storedThenFreshReturnsBoth() async throws {
        let number = Mutex(0)
        let transport = MockTransport { _ in
            let current = number.withLock { number in
                number += 1
                return number
            }
            return .text("\(current)").headerFields([.cacheControl: "max-age=100"])
        }
        let network = network(transport, store)
        try await network.data(query("a"))
        var texts: [String] = []
        for try await response in network.storedThenFresh(query("a")) { texts.append(response.text ?? "") }
        #expect(texts == ["1", "2"])
    }

    @Test func offlineFallbackUsesTheStoredResponse() async throws {
        let isDown = Mutex(false)
        let transport = MockTransport { _ in
            isDown.withLock { $0 }
                ? .status(.serviceUnavailable) : .text("a").headerFields([.cacheControl: "max-age=1"])
        }
        let network = transport.cached(in: store).fallbackToStoredResponse().environment(\.clock, .manual(clock))
        try await network.data(query("a"))
        isDown.withLock { $0 = true }
        clock.advance(by: .seconds(100))
        #expect(try await network.data(query("a")).text == "a")
        #expect(try await network.data(query("b")).status == .serviceUnavailable)
    }

    @Test func originalRequestIsAQueryWithoutItsBody() async throws {
        let network = network(server(), store)
        try await network.data(query("secret"))
        let original = try #require(try await network.data(query("secret")).cachedOriginalRequest)
        #expect(original.method == .query && original.body == nil)
    }

    // MARK: Stores

    @Test func storeReceivesADigestOfTheBody() async throws {
        let outside = Outside()
        let transport = server()
        let network = network(transport, outside)
        let other = transport.cached(in: ResponseCache(in: outside)).environment(\.clock, .manual(clock))
        try await network.data(query("password=secret"))
        #expect(try await other.data(query("password=secret")).isCached)
        let key = try #require(outside.keys.withLock { $0.first })
        #expect(key.query?.count == 32)
        #expect(
            !"\(key)".contains("secret") && !"\(key.customMirror.children.map { "\($0.value)" })".contains("secret")
        )
    }

    @Test func keysHaveDistinctBytes() throws {
        let principals = [nil, Principal(id: ""), Principal(id: "a"), Principal(id: "\0"), Principal(id: "2")]
        let keys = principals.flatMap { principal in
            [nil, "", "a", "aa", "\0", "2"].map { CacheKey(principal: principal, url: "https://a.example/", query: $0) }
        }
        #expect(Set(keys.map(\.ownerBytes)).count == keys.count)
        for key in keys {
            #expect(CacheKey(url: key.url, ownerBytes: key.ownerBytes) == key)
        }
        // A key without a query has the bytes that stores have used before there were queries.
        #expect(CacheKey(principal: nil, url: "").ownerBytes == [0])
        #expect(CacheKey(principal: Principal(id: "a"), url: "").ownerBytes == [1, 0x61])
    }

    @Test(arguments: [[], [4], [255], [2], [2, 1, 0, 0], [2, 1, 0, 0, 0], [3, 255, 255, 255, 255, 1], [1, 0xff]])
    func damagedBytesAreNoKey(bytes: [UInt8]) {
        #expect(CacheKey(url: "https://a.example/", ownerBytes: bytes) == nil)
    }
}

/// Any store, for a list of several.
private struct AnyStore: CacheStore {
    let base: any CacheStore

    init(_ base: any CacheStore) {
        self.base = base
    }

    var entryCostLimit: Int { base.entryCostLimit }
    var isInMemory: Bool { base.isInMemory }

    func digestKey() async throws -> CacheDigestKey? {
        try await base.digestKey()
    }

    func entries(for key: CacheKey) async throws -> [CachedEntry] {
        try await base.entries(for: key)
    }

    func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
        try await base.store(entry, for: key)
    }

    func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
        try await base.remove(id, for: key)
    }

    func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        try await base.removeAll(where: isUnwanted)
    }
}
