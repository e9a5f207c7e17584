import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct StackedCacheStoreTests {
    /// A store that counts its reads and can block them.
    private final class Slow: CacheStore {
        let entryCostLimit = 10_000
        let store = MemoryCacheStore()
        let reads = Mutex(0)
        let gate = Mutex<Suspension<Void>?>(nil)
        let reading = Suspension<Void>()

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            reads.withLock { $0 += 1 }
            let entries = store.entries(for: key)
            if let gate = gate.withLock({ $0 }) {
                reading.resume()
                try await gate.value()
            }
            return entries
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            store.store(entry, for: key)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
            store.remove(id, for: key)
        }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            store.removeAll(where: isUnwanted)
        }
    }

    private let slow = Slow()
    private let key = CacheKey(principal: nil, url: "https://api.example.com/")

    private func entry(_ text: String, size: Int = 10, varying: [String: String] = [:]) -> CachedEntry {
        CachedEntry(
            id: CacheRules.id(of: varying),
            response: HTTPResponse(status: .ok, headerFields: [.eTag: text]),
            body: Data(count: size),
            varying: varying,
            requestDate: Date(timeIntervalSince1970: 0),
            responseDate: Date(timeIntervalSince1970: 0)
        )
    }

    @Test func repeatedLookupsReadTheDiskOnce() async throws {
        let store = StackedCacheStore(over: slow)
        #expect(try await store.store(entry("a"), for: key) == 0)
        for _ in 0..<3 {
            #expect(try await store.entries(for: key).map(\.facts.tag) == ["a"])
        }
        #expect(slow.reads.withLock { $0 } == 1)
        try await store.store(entry("b"), for: key)
        #expect(try await store.entries(for: key).map(\.facts.tag) == ["b"])
        #expect(slow.store.count == 1)
    }

    @Test func allVariantsAreReadTogether() async throws {
        let store = StackedCacheStore(MemoryCacheStore(countLimit: 2), over: slow)
        try await store.store(entry("a", varying: ["accept": "a"]), for: key)
        _ = try await store.entries(for: key)
        try await store.store(entry("b", varying: ["accept": "b"]), for: key)
        #expect(try await Set(store.entries(for: key).map(\.facts.tag)) == ["a", "b"])
        // Other entries evict both variants from memory.
        for number in 0..<3 {
            let other = CacheKey(principal: nil, url: "\(number)")
            try await store.store(entry("c"), for: other)
            _ = try await store.entries(for: other)
        }
        #expect(try await Set(store.entries(for: key).map(\.facts.tag)) == ["a", "b"])
    }

    @Test func entryTooLargeForMemoryStaysInTheBackingStore() async throws {
        let store = StackedCacheStore(MemoryCacheStore(entryCostLimit: 1_000), over: slow)
        #expect(store.entryCostLimit == 10_000)
        try await store.store(entry("small", varying: ["accept": "a"]), for: key)
        try await store.store(entry("large", size: 2_000, varying: ["accept": "b"]), for: key)
        for _ in 0..<2 {
            #expect(try await Set(store.entries(for: key).map(\.facts.tag)) == ["small", "large"])
        }
        #expect(slow.reads.withLock { $0 } == 2)
    }

    @Test func removalAppliesToBothStores() async throws {
        let store = StackedCacheStore(over: slow)
        for remove in [
            { try await store.remove(nil, for: key) },
            { try await store.remove(url: key.url) },
            { try await store.removeAll { _ in true } },
        ] {
            try await store.store(entry("a"), for: key)
            _ = try await store.entries(for: key)
            try await remove()
            #expect(try await store.entries(for: key).isEmpty)
            #expect(slow.store.count == 0)
        }
    }

    @Test func manyTasksShareAStack() async throws {
        let store = StackedCacheStore(MemoryCacheStore(countLimit: 5), over: slow)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask { [key, self] in
                    for round in 0..<200 {
                        let other = CacheKey(principal: nil, url: "\((number + round) % 9)")
                        switch (number * 7 + round) % 16 {
                        case 0: try await store.remove(nil, for: other)
                        case 1: try await store.removeAll { $0 == other }
                        case 2: try await store.remove(url: other.url)
                        case 3, 4, 5: try await store.store(entry("\(round)"), for: other)
                        default: #expect(try await store.entries(for: round.isMultiple(of: 5) ? key : other).count <= 1)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for number in 0..<9 {
            let other = CacheKey(principal: nil, url: "\(number)")
            #expect(
                try await store.entries(for: other).map(\.facts.tag) == slow.store.entries(for: other).map(\.facts.tag)
            )
        }
    }

    /// An entry that is removed during a read does not get into memory afterwards.
    @Test func readThatARemovalOvertakesIsNotStoredInMemory() async throws {
        let store = StackedCacheStore(over: slow)
        try await store.store(entry("a"), for: key)
        let gate = Suspension<Void>()
        slow.gate.withLock { $0 = gate }
        async let read = store.entries(for: key)
        try await slow.reading.value()
        slow.gate.withLock { $0 = nil }
        try await store.remove(nil, for: key)
        gate.resume()
        #expect(try await read.count == 1)
        #expect(try await store.entries(for: key).isEmpty)
    }
}
