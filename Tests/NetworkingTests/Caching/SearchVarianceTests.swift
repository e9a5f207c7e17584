import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCaching

/// `No-Vary-Search`; `CacheGroupsTests` runs the vectors of caches.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct SearchVarianceTests {
    private struct Document: Decodable {
        let exact: [String]
        let equivalences: [Equivalence]
    }

    private struct Equivalence: Decodable {
        let field: String
        let first: String?
        let second: String?
        let areEquivalent: Bool
    }

    private func document() throws -> Document {
        let text = try Repository.text(at: "Tests/Vectors/no-vary-search.json")
        return try JSONDecoder().decode(Document.self, from: Data(text.utf8))
    }

    private func url(_ query: String?) -> String {
        "https://a.example/a" + (query.map { "?\($0)" } ?? "")
    }

    @Test func malformedFieldsMeanTheExactURL() throws {
        for field in try document().exact {
            #expect(SearchVariance(field) == nil, "\(field)")
        }
    }

    @Test func queriesAreCompared() throws {
        let equivalences = try document().equivalences
        #expect(equivalences.count >= 40)
        for vector in equivalences {
            let variance = try #require(SearchVariance(vector.field), "\(vector.field)")
            let (first, second) = (url(vector.first), url(vector.second))
            #expect(
                variance.isEquivalent(first, second) == vector.areEquivalent
                    && variance.isEquivalent(second, first) == vector.areEquivalent,
                "\(vector.field): \(first) \(second)"
            )
            #expect(variance.isEquivalent(first, first))
        }
    }

    @Test func otherPathsAndHostsAreNotEquivalent() throws {
        let variance = try #require(SearchVariance("except=()"))
        for other in ["https://a.example/b", "https://b.example/a", "http://a.example/a", "https://a.example/a/"] {
            #expect(!variance.isEquivalent("https://a.example/a", other))
        }
    }

    @Test func hugeInputsMustMatchExactly() throws {
        let variance = try #require(SearchVariance("params=(\"a\")"))
        let long = url(String(repeating: "b", count: 10_000))
        #expect(!variance.isEquivalent(long, long + "&a=1"))
        #expect(variance.isEquivalent(long, long))
        let many = url(String(repeating: "b&", count: 1_000))
        #expect(!variance.isEquivalent(many, many + "a=1"))
        #expect(SearchVariance("params=(\"\(String(repeating: "a", count: 10_000))\")") == nil)
    }

    @Test func indexIsBoundedAndReadBack() throws {
        var index = SearchIndex()
        for number in 0..<10 {
            #expect(index.add(try #require(SearchVariance("params=(\"\(number)\")"))))
        }
        #expect(!index.add(try #require(SearchVariance("params=(\"9\"), key-order=?0"))))
        #expect(index.rules.map(\.text) == (6...9).reversed().map { "params=(\"\($0)\")" })
        let read = try #require(SearchIndex(index.entry))
        #expect(read.rules == index.rules)
        let (key, digestKey) = (CacheKey(principal: nil, url: url("a=1")), CacheDigestKey())
        // The keys of another index are different ones.
        let keys = [index, read, SearchIndex()].map { $0.key(of: key, under: index.rules[0], digestKey) }
        #expect(keys[0] == keys[1] && keys[0] != keys[2])
        for lines in [[], [""], ["a", "rubbish", "params=("]] {
            #expect(SearchIndex(SearchIndex.entry(lines))?.rules.isEmpty ?? true)
        }
    }

    /// A response from before the change of an equivalent URL is not stored.
    @Test(arguments: [("/a?utm=2", false), ("/a?id=2", true), ("/b", true)])
    func changeOfAnEquivalentURLOutdatesAResponseInFlight(_ target: String, isStored: Bool) async throws {
        let (arrived, gate) = (Suspension<Void>(), MockGate())
        let transport = MockTransport { request in
            guard request.method == .get else { return .ok() }
            arrived.resume()
            try await gate.wait()
            return .ok(headerFields: [.cacheControl: "max-age=100", .noVarySearch: "params=(\"utm\")"])
        }
        let network = transport.cached()
        let request = HTTPRequestData(authority: "a.example").with { $0.target = "/a?utm=1" }
        async let first = network.data(request)
        try await arrived.value()
        try await network.data(request.with { ($0.method, $0.target) = (.post, target) })
        gate.open()
        #expect(try await first.cacheStatus?.isStored == isStored)
    }

    @Test func removalByTheAppRemovesWhatWouldBeReturned() async throws {
        let transport = MockTransport { _ in
            .ok(headerFields: [.cacheControl: "max-age=100", .noVarySearch: "params=(\"utm\")"])
        }
        let cache = ResponseCache()
        let network = transport.cached(in: cache)
        let request = HTTPRequestData(authority: "a.example").with { $0.target = "/a?utm=1" }
        let other = request.with { $0.target = "/a?utm=2" }
        try await network.data(request)
        let response = try await network.data(other)
        #expect(response.isCached)
        #expect(response.cachedOriginalRequest?.url == request.url)
        try await cache.remove(url: #require(other.url))
        #expect(try await !network.data(other).isCached)
    }

    /// The body is stored once, whichever URL was validated.
    @Test func confirmedResponseStaysWhereItIsStored() async throws {
        let clock = ManualClock()
        let transport = MockTransport { request in
            let fields: HTTPFields = [.cacheControl: "max-age=10", .eTag: "\"a\"", .noVarySearch: "params=(\"utm\")"]
            return request.headerFields.contains(.ifNoneMatch)
                ? .status(.notModified, headerFields: fields) : .ok(headerFields: fields)
        }
        let store = MemoryCacheStore()
        let network = transport.cached(in: store).environment(\.clock, .manual(clock))
        let request = HTTPRequestData(authority: "a.example").with { $0.target = "/a?utm=1" }
        try await network.data(request)
        let count = store.count
        clock.advance(by: .seconds(20))
        let other = request.with { $0.target = "/a?utm=2" }
        let response = try await network.data(other)
        #expect(response.isCached && response.cacheStatus?.isStored == true)
        #expect(response.cachedOriginalRequest?.url == request.url)
        #expect(transport.requests.last?.url == other.url)
        #expect(store.count == count)
    }

    /// The number of reads does not grow with the number of stored URLs.
    @Test func lookupsReadABoundedNumberOfKeys() async throws {
        let transport = MockTransport { request in
            let rule = (request.target ?? "").utf8.count.isMultiple(of: 2) ? "params=(\"a\")" : "params=(\"b\")"
            return .ok(headerFields: [.cacheControl: "max-age=100", .noVarySearch: rule])
        }
        let store = CountingStore()
        let network = transport.cached(in: store)
        for number in 0..<200 {
            let target = "/a?a=\(number)"
            try await network.data(
                HTTPRequestData(authority: "a.example")
                    .with {
                        $0.target = target
                        $0.cacheMode = .reload
                    }
            )
        }
        store.reads.withLock { $0 = 0 }
        try await network.data(HTTPRequestData(authority: "a.example").with { $0.target = "/a?c=1" })
        #expect(store.reads.withLock { $0 } <= 40)
    }

    private final class CountingStore: CacheStore {
        let entryCostLimit = 1 << 20
        let isInMemory = true
        let memory = MemoryCacheStore()
        let reads = Locked(0)

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            reads.withLock { $0 += 1 }
            return memory.entries(for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            memory.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            memory.remove(id, for: key)
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            memory.removeAll(where: isUnwanted)
        }
    }
}
