#if Valkey
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingValkey

extension Servers {
    /// The store in a real server, with two clients as two machines.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)), .requires(.valkey))
    struct ValkeyCacheStoreTests {
        // MARK: Entries

        @Test func readsWhatAnotherMachineHasStored() async throws {
            try await withTwoStores { _, mine, other in
                var response = CachedEntry.sample().response
                response.status = HTTPResponse.Status(code: 299, reasonPhrase: "Très bien")
                response.headerFields.append(HTTPField(name: .setCookie, value: "a=b"))
                response.headerFields.append(HTTPField(name: .setCookie, lenientValue: [0xff, 0x20, 0xe9]))
                let entry = CachedEntry(
                    response: response,
                    body: Data("one".utf8),
                    part: CachedEntry.Part(range: 3..<6, length: nil),
                    varying: ["accept": "text/plain", "accept-language": ""],
                    requestDate: Date(timeIntervalSince1970: 1000.25),
                    responseDate: Date(timeIntervalSince1970: 1001)
                )
                #expect(try await mine.store(entry, for: .named("a")) == 0)
                let found = try await other.entries(for: .named("a"))
                #expect(found == [entry])
                #expect(found.first?.response.headerFields.map { $0 } == response.headerFields.map { $0 })
                #expect(try await other.entries(for: .named("b")).isEmpty)
                let key = await mine.digestKey()
                #expect(await other.digestKey() == key && key != nil)
                #expect(!mine.isInMemory)
            }
        }

        @Test(arguments: [0, 1, 16 << 10, 1_000_000])
        func storesBodiesOfEveryLength(_ length: Int) async throws {
            try await withTwoStores { _, mine, other in
                let entries = [CachedEntry.sample(length: length), CachedEntry.sample("small")]
                for entry in entries {
                    try await mine.store(entry, for: .named("a"))
                }
                #expect(Set(try await other.entries(for: .named("a"))) == Set(entries))
            }
        }

        @Test func replacesAndRemovesAnEntryByItsID() async throws {
            try await withTwoStores { _, mine, other in
                let id = UUID()
                try await mine.store(.sample("old", id: id), for: .named("a"))
                #expect(try await other.store(.sample("new", id: id), for: .named("a")) == 0)
                try await mine.store(.sample("other"), for: .named("a"))
                #expect(try await mine.texts("a") == ["new", "other"])
                try await other.store(.sample("b", id: id), for: .named("b"))
                try await other.remove(id, for: .named("a"))
                #expect(try await mine.texts("a") == ["other"])
                #expect(try await mine.texts("b") == ["b"])
                try await other.remove(nil, for: .named("a"))
                #expect(try await mine.texts("a").isEmpty)
                // A later entry does not bring the others back.
                try await other.store(.sample("later"), for: .named("a"))
                #expect(try await mine.texts("a") == ["later"])
            }
        }

        @Test func separatesKeysByTheirBytes() async throws {
            try await withTwoStores { _, mine, other in
                let owners = [nil, "", "\0", "a", "a\0", "a\0b", "nil", "\u{1}"].map { $0.map { Principal(id: $0) } }
                let urls = ["", "https://a.example/", "https://a.example/\0", "https://a.example/\0b"]
                let keys = urls.flatMap { url in owners.map { CacheKey(principal: $0, url: url) } }
                for (index, key) in keys.enumerated() {
                    try await mine.store(.sample("\(index)"), for: key)
                }
                func texts() async throws -> [String] {
                    var texts: [String] = []
                    for key in keys {
                        texts += try await other.entries(for: key).map { String(decoding: $0.body, as: UTF8.self) }
                    }
                    return texts
                }
                #expect(try await texts() == keys.indices.map { "\($0)" })
                // For all users at once.
                try await mine.remove(url: "https://a.example/\0")
                #expect(try await texts() == keys.indices.filter { !(16..<24).contains($0) }.map { "\($0)" })
                let asked = Mutex<[CacheKey]>([])
                try await mine.removeAll { key in
                    asked.withLock { $0.append(key) }
                    return key.principal == Principal(id: "a\0")
                }
                // The keys of the removed URL are still there, without a use.
                #expect(Set(asked.withLock { $0 }) == Set(keys))
                #expect(asked.withLock { $0.count } == keys.count)
                #expect(try await texts().count == 21)
                try await mine.removeAll { _ in true }
                #expect(try await texts().isEmpty)
            }
        }

        @Test func separatesQueriesOfAURL() async throws {
            try await withTwoStores { _, mine, other in
                let keys = [nil, Principal(id: "a")]
                    .flatMap { owner in
                        [nil, "a", "aa", "\0"].map { CacheKey(principal: owner, url: "https://a.example/", query: $0) }
                    }
                for (index, key) in keys.enumerated() {
                    try await mine.store(.sample("\(index)"), for: key)
                }
                for (index, key) in keys.enumerated() {
                    #expect(try await other.entries(for: key).map { $0.body } == [Data("\(index)".utf8)])
                }
                let asked = Mutex<Set<CacheKey>>([])
                try await mine.removeAll { key in
                    _ = asked.withLock { $0.insert(key) }
                    return key.query == "a"
                }
                #expect(asked.withLock { $0 } == Set(keys))
                #expect(try await other.entries(for: keys[1]).isEmpty)
                try await mine.remove(url: "https://a.example/")
                for key in keys { #expect(try await other.entries(for: key).isEmpty) }
            }
        }

        @Test func storesWithOtherKeysOrNamespacesAreApart() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    let store = ValkeyCacheStore.patient(client)
                    try await store.store(.sample(), for: .named("a"))
                    let keys = [SymmetricKey.ofCache, SymmetricKey(data: Array(repeating: 2, count: 32))]
                    for (key, namespace) in zip(keys, ["shop2", "shop"]) {
                        let other = ValkeyCacheStore(client, namespace: namespace, key: key, timeout: .seconds(60))
                        #expect(try await other.texts("a").isEmpty)
                        let digestKeys = (await store.digestKey(), await other.digestKey())
                        #expect((digestKeys.0 == digestKeys.1) == (namespace == "shop2"))
                    }
                    #expect(try await store.texts("a") == ["text"])
                }
            }
        }

        // MARK: Bounds

        @Test func dropsEntriesAboveTheLimit() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    let store = ValkeyCacheStore.patient(client, entryCostLimit: 5_000)
                    #expect(store.entryCostLimit == 5_000)
                    #expect(ValkeyCacheStore.patient(client, entryCostLimit: .max).entryCostLimit == 8 << 20)
                    let id = UUID()
                    try await store.store(.sample(id: id), for: .named("a"))
                    #expect(try await store.store(.sample(length: 5_000, id: id), for: .named("a")) == 0)
                    #expect(try await store.texts("a").isEmpty)
                    // Together, the variants of a key have four times the limit.
                    for number in 1...5 {
                        let evicted = try await store.store(.sample(length: 4_500), for: .named("b"))
                        #expect(evicted == (number == 5 ? 1 : 0))
                    }
                    #expect(try await store.entries(for: .named("b")).count == 4)
                }
            }
        }

        @Test func evictsTheOldestOfManyVariants() async throws {
            try await withTwoStores { _, mine, other in
                for index in 10..<43 {
                    let evicted = try await mine.store(.sample("\(index)"), for: .named("a"))
                    #expect(evicted == (index == 42 ? 1 : 0))
                }
                #expect(try await other.texts("a") == (11..<43).map { "\($0)" })
            }
        }

        @Test func indexHasAMaximumNumberOfKeys() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    // One for each of the 256 parts.
                    let store = ValkeyCacheStore.patient(client, countLimit: 256)
                    var evicted = 0
                    for number in 0..<400 {
                        evicted += try await store.store(.sample(), for: .named("\(number)"))
                    }
                    var found = 0
                    for number in 0..<400 {
                        found += try await store.texts("\(number)").count
                    }
                    #expect(found <= 256 && found == 400 - evicted)
                    // The last one of a part is never the one that is evicted.
                    #expect(try await store.texts("399") == ["text"])
                }
            }
        }

        @Test func everyKeyExpiresAndNothingIsReadable() async throws {
            try await withTwoStores { server, mine, other in
                let key = CacheKey.named("secret-path", Principal(id: "emily"))
                let entry = CachedEntry.sample("secret body")
                try await mine.store(entry, for: key)
                _ = try await other.changeNumber(of: "https://a.example/other")
                #expect(try await other.claimRevalidation(of: entry, for: key))
                let names = try server.command("KEYS", "*").split(separator: "\r\n").filter { $0.hasPrefix("{") }
                #expect(names.count >= 4)
                let pattern = /\{shop:[0-9a-f]{2}\}:(index|(url|entries|claim|groups):[0-9a-f]{32})/
                for name in names {
                    #expect(name.wholeMatch(of: pattern) != nil)
                    let time = try server.command("PTTL", String(name)).dropFirst().prefix { $0.isNumber }
                    #expect((1...86_400_000).contains(Int(time) ?? 0), "\(name): \(time)")
                }
                let entries = try #require(names.first { $0.contains("entries") })
                let contents = try server.command("HGETALL", String(entries)) + names.joined()
                for text in ["secret", "emily", "a.example", "text/plain"] {
                    #expect(!contents.contains(text))
                }
            }
        }

        // MARK: Changes

        @Test func storesAnEntryUnlessItsURLWasRemoved() async throws {
            try await withTwoStores { _, mine, other in
                let (a, b) = (
                    try #require(try await mine.number(of: "a")), try #require(try await mine.number(of: "b"))
                )
                #expect(try await other.number(of: "a") == a)
                try await other.remove(url: CacheKey.named("b").url)
                // Entries removed for other reasons are not counted as changes.
                try await other.remove(nil, for: .named("a"))
                #expect(try await mine.store(.sample(), for: .named("a"), ifUnchangedSince: a) == 0)
                #expect(try await mine.store(.sample(), for: .named("b"), ifUnchangedSince: b) == nil)
                // A number is that of its URL.
                #expect(try await mine.store(.sample(), for: .named("b"), ifUnchangedSince: a) == nil)
                #expect(try await other.texts("b").isEmpty)
                let now = try #require(try await other.number(of: "b"))
                #expect(now != b)
                #expect(try await mine.store(.sample(), for: .named("b"), ifUnchangedSince: now) == 0)
                #expect(try await other.texts("b") == ["text"])
                try await other.removeAll { _ in false }
                #expect(try await mine.store(.sample("new"), for: .named("a"), ifUnchangedSince: a) == nil)
                #expect(try await mine.texts("a") == ["text"])
                let later = try #require(
                    try await StackedCacheStore(over: other).changeNumber(of: CacheKey.named("a").url)
                )
                #expect(try await mine.store(.sample("new"), for: .named("a"), ifUnchangedSince: later) == 0)
            }
        }

        @Test func removalReportsOtherRemovals() async throws {
            try await withTwoStores { _, mine, other in
                let url = CacheKey.named("a").url
                try await mine.store(.sample(), for: .named("a", Principal(id: "emily")))
                let start = try #require(try await mine.number(of: "a"))
                let first = try #require(try await mine.remove(url: url, checkingSince: start))
                #expect(first != start)
                #expect(try await other.texts("a", Principal(id: "emily")).isEmpty)
                #expect(try await mine.number(of: "a") == first)
                #expect(try await other.remove(url: url, checkingSince: start) == nil)
                #expect(try await mine.store(.sample(), for: .named("a"), ifUnchangedSince: first) == nil)
            }
        }

        @Test func numbersOfAllURLsAreUnsupported() async throws {
            try await withTwoStores { _, mine, _ in
                let error = await #expect(throws: ValkeyError.self) { try await mine.changeNumber() }
                #expect(error?.kind == .unsupported)
            }
        }

        /// A server that evicts keys, or has lost them, no longer knows whether a URL was removed.
        @Test(arguments: ["url", "index"]) func evictedStateCountsAsAChange(part: String) async throws {
            try await withTwoStores { server, mine, other in
                try await mine.store(.sample("old"), for: .named("a"))
                let number = try #require(try await mine.number(of: "a"))
                let keys = try server.command("KEYS", "*:\(part)*").split(separator: "\r\n")
                try server.command("DEL", String(try #require(keys.last)))
                #expect(try await other.texts("a").isEmpty)
                #expect(try await mine.store(.sample(), for: .named("a"), ifUnchangedSince: number) == nil)
                #expect(try await mine.number(of: "a") != number)
                // The entries from before do not come back, because no removal would have found them.
                #expect(try await mine.store(.sample("new"), for: .named("a")) == 0)
                #expect(try await other.texts("a") == ["new"])
            }
        }

        /// An entry whose key cannot be decrypted may be any.
        @Test func removalOfSeveralKeysIncludesDamagedOnes() async throws {
            try await withTwoStores { server, mine, other in
                let id = UUID()
                try await mine.store(.sample(id: id), for: .named("a"))
                try await mine.store(.sample(), for: .named("b"))
                let names = try server.command("KEYS", "*:entries:*").split(separator: "\r\n")
                    .filter { $0.hasPrefix("{") }
                let damaged = try #require(
                    names.first { (try? server.command("HEXISTS", String($0), id.name)) == ":1\r\n" }
                )
                try server.command("HSET", String(damaged), "key", "damaged")
                try await other.removeAll { _ in false }
                #expect(try await mine.texts("a").isEmpty)
                #expect(try await mine.texts("b") == ["text"])
            }
        }

        // MARK: Revalidation

        @Test func oneMachineRevalidatesAnEntry() async throws {
            try await withTwoStores { server, mine, other in
                let entry = CachedEntry.sample()
                #expect(try await mine.claimRevalidation(of: entry, for: .named("a")))
                #expect(try await !other.claimRevalidation(of: entry, for: .named("a")))
                #expect(try await other.claimRevalidation(of: entry, for: .named("a", Principal(id: "emily"))))
                let successor = CachedEntry(
                    id: entry.id,
                    response: entry.response,
                    body: entry.body,
                    requestDate: entry.requestDate.addingTimeInterval(1),
                    responseDate: entry.responseDate
                )
                #expect(try await StackedCacheStore(over: other).claimRevalidation(of: successor, for: .named("a")))
                #expect(try await !mine.claimRevalidation(of: successor, for: .named("a")))
                // The claim of a process that is killed ends.
                let claims = try server.command("KEYS", "*:claim:*").split(separator: "\r\n")
                    .filter { $0.hasPrefix("{") }
                #expect(!claims.isEmpty)
                for claim in claims { try server.command("PEXPIRE", String(claim), "1") }
                try await eventually("the claim has ended") {
                    try await other.claimRevalidation(of: entry, for: .named("a"))
                }
            }
        }

        // MARK: Many entries

        /// Ten thousand of them take 7 seconds in a build for tests, and 1,000 are enough for all parts.
        @Test func entriesOfOneMachineAnswerAnother() async throws {
            try await withTwoStores { server, mine, other in
                func forEach(_ body: @escaping @Sendable (Int) async throws -> Void) async throws {
                    try await withThrowingDiscardingTaskGroup { group in
                        for worker in 0..<20 {
                            group.addTask {
                                for number in stride(from: worker, to: 1_000, by: 20) { try await body(number) }
                            }
                        }
                    }
                }
                let found = Counter()
                let time = try await ContinuousClock()
                    .measure {
                        try await forEach { try await mine.store(.sample("\($0)"), for: .named("\($0)")) }
                        try await forEach { number in
                            let texts = try await other.texts("\(number)")
                            if texts == ["\(number)"] { _ = found.next() }
                        }
                    }
                #expect(found.value == 1_000)
                #expect(time < .seconds(200))
                try await mine.removeAll { _ in true }
                #expect(try server.command("KEYS", "*:entries:*") == "*0\r\n")
            }
        }

        // MARK: A cluster

        @Test func partsAreOnAllNodesOfACluster() async throws {
            try await Servers.ValkeyTopologyTests.withCluster { servers in
                try await withClient(servers[0].address) { mine async throws in
                    try await withClient(servers[1].address) { other async throws in
                        let (mine, other) = (ValkeyCacheStore.patient(mine), ValkeyCacheStore.patient(other))
                        for number in 0..<60 { try await mine.store(.sample(), for: .named("\(number)")) }
                        for server in servers {
                            #expect(try server.command("KEYS", "*:entries:*") != "*0\r\n")
                        }
                        try await other.remove(url: CacheKey.named("0").url)
                        try await other.removeAll { $0.url.hasSuffix("1") }
                        for number in 0..<60 {
                            let isGone = number == 0 || number % 10 == 1
                            #expect(try await mine.texts("\(number)").isEmpty == isGone)
                        }
                    }
                }
            }
        }
    }
}
#endif
