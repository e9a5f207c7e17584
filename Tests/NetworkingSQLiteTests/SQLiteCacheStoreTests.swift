#if SQLite
import Foundation
import NetworkingTesting
import GRDB
import HTTPTypes
import Networking
import Synchronization
import TestSupport
import Testing

@testable import NetworkingSQLite

@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct SQLiteCacheStoreTests {
    @Test func readsStoredEntriesInANewStore() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "deep/er/cache.sqlite")
            var response = CachedEntry.sample().response
            response.status = HTTPResponse.Status(code: 299, reasonPhrase: "Très bien")
            response.headerFields.append(HTTPField(name: .setCookie, value: "a=b"))
            response.headerFields.append(HTTPField(name: .setCookie, lenientValue: [0xff, 0x20, 0xe9]))
            let entry = CachedEntry.sample("one")
                .with(
                    response: response,
                    part: CachedEntry.Part(range: 3..<6, length: nil),
                    varying: ["accept": "text/plain", "accept-language": ""]
                )
            try await SQLiteCacheStore(file: file).store(entry, for: .named("a"))
            let store = SQLiteCacheStore(file: file)
            let found = try await store.entries(for: .named("a"))
            #expect(found == [entry])
            #expect(found.first?.response.headerFields.map { $0 } == entry.response.headerFields.map { $0 })
            #expect(try await store.count == 1)
            #expect(try await store.cost == entry.cost)
            #expect(try await store.entries(for: .named("b")).isEmpty)
        }
    }

    /// One of the lengths is the limit up to which bodies are read on the caller's thread.
    @Test(arguments: [0, 1, 16 << 10, 1 << 20, 5 << 20])
    func storesBodiesOfEveryLength(_ length: Int) async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            let entries = [CachedEntry.sample(length: length), CachedEntry.sample("small")]
            for entry in entries {
                try await store.store(entry, for: .named("a"))
            }
            #expect(Set(try await store.entries(for: .named("a"))) == Set(entries))
        }
    }

    @Test func replacesAnEntryWithTheSameID() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            var entry = CachedEntry.sample("old")
            try await store.store(entry, for: .named("a"))
            entry = entry.with(body: Data("new one".utf8))
            #expect(try await store.store(entry, for: .named("a")) == 0)
            #expect(try await store.texts("a") == ["new one"])
            #expect(try await store.cost == entry.cost)
            try await store.store(entry, for: .named("b"))
            try await store.remove(entry.id, for: .named("a"))
            #expect(try await store.texts("a").isEmpty)
            #expect(try await store.texts("b") == ["new one"])
        }
    }

    @Test func separatesKeysByTheirBytes() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            let owners = [nil, "", "\0", "a", "a\0", "a\0b", "nil", "\u{1}"].map { $0.map { Principal(id: $0) } }
            let urls = ["", "https://a.example/", "https://a.example/\0", "https://a.example/\0b"]
            let keys = urls.flatMap { url in owners.map { CacheKey(principal: $0, url: url) } }
            for (index, key) in keys.enumerated() {
                try await store.store(.sample("\(index)"), for: key)
            }
            for (index, key) in keys.enumerated() {
                #expect(try await store.entries(for: key).map { $0.body } == [Data("\(index)".utf8)])
            }
            try await store.remove(url: "https://a.example/\0")
            #expect(try await store.count == keys.count - owners.count)
            try await store.remove(url: "")
            #expect(try await store.count == keys.count - 2 * owners.count)
            try await store.removeAll { $0.principal == Principal(id: "a\0") }
            #expect(try await store.count == keys.count - 2 * owners.count - 2)
            try await store.remove(nil, for: CacheKey(principal: nil, url: "https://a.example/"))
            #expect(try await store.entries(for: CacheKey(principal: nil, url: "https://a.example/")).isEmpty)
            #expect(
                try await store.entries(for: CacheKey(principal: Principal(id: ""), url: "https://a.example/")).count
                    == 1
            )
        }
    }

    @Test func separatesQueriesOfAURL() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file)
            let keys = [nil, Principal(id: "a")]
                .flatMap { owner in
                    [nil, "a", "aa", "\0"].map { CacheKey(principal: owner, url: "https://a.example/", query: $0) }
                }
            for (index, key) in keys.enumerated() {
                try await store.store(.sample("\(index)"), for: key)
            }
            let again = SQLiteCacheStore(file: file)
            for (index, key) in keys.enumerated() {
                #expect(try await again.entries(for: key).map { $0.body } == [Data("\(index)".utf8)])
            }
            try await again.removeAll { $0.query == "a" && $0.principal == nil }
            #expect(try await again.count == keys.count - 1)
            try await again.remove(url: "https://a.example/")
            #expect(try await again.count == 0)
        }
    }

    @Test func evictsTheLeastRecentlyUsedKeyFirst() async throws {
        try await withTemporaryDirectory { directory in
            let cost = CachedEntry.sample(length: 100).cost
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file, costLimit: 4 * cost)
            for name in ["a", "b", "b", "c"] {
                #expect(try await store.store(.sample(length: 100), for: .named(name)) == 0)
            }
            #expect(try await store.texts("a").count == 1)
            // All entries of a key are evicted together.
            #expect(try await store.store(.sample(length: 100), for: .named("d")) == 2)
            #expect(try await store.texts("b").isEmpty)
            #expect(try await store.cost == 3 * cost)
            #expect(try await store.texts("a").count == 1)
            #expect(try await SQLiteCacheStore(file: file).texts("c").count == 1)
            // A later write saves which keys were read, so a store that opens the file later knows it.
            try await store.remove(nil, for: .named("none"))
            let second = SQLiteCacheStore(file: file, costLimit: 2 * cost)
            #expect(try await second.store(.sample(length: 100), for: .named("e")) == 2)
            #expect(try await second.texts("a").count == 1)
            try await second.trim(toCost: 0)
            #expect(try await second.count == 0)
        }
    }

    @Test func dropsEntriesAboveTheLimit() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(
                file: directory.appending(path: "cache"),
                costLimit: 10_000,
                entryCostLimit: 5000
            )
            var entry = CachedEntry.sample("small")
            try await store.store(entry, for: .named("a"))
            entry = entry.with(body: Data(count: 5000))
            #expect(try await store.store(entry, for: .named("a")) == 0)
            #expect(try await store.entries(for: .named("a")).isEmpty)
            #expect(SQLiteCacheStore(file: store.file, costLimit: 10).entryCostLimit == 10)
            // If one key alone exceeds the limit of the store, its oldest entries are evicted.
            for _ in 0..<2 {
                #expect(try await store.store(.sample(length: 4000), for: .named("b")) == 0)
            }
            #expect(try await store.store(.sample(length: 4000), for: .named("b")) == 1)
            #expect(try await store.count == 2)
        }
    }

    @Test func evictsTheOldestOfManyVariants() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            for index in 10..<43 {
                let evicted = try await store.store(.sample("\(index)"), for: .named("a"))
                #expect(evicted == (index == 42 ? 1 : 0))
            }
            let texts = try await store.texts("a")
            #expect(texts == (11..<43).map { "\($0)" })
        }
    }

    @Test func removeAllCallsItsClosureOncePerKey() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            // More keys than the store reads at a time.
            let names = (0..<1100).map { "\($0)" }
            for name in names {
                try await store.store(.sample(), for: .named(name))
            }
            try await store.store(.sample("second"), for: .named("7"))
            let asked = Mutex<[CacheKey]>([])
            try await store.removeAll { key in
                asked.withLock { $0.append(key) }
                return !key.url.hasSuffix("7")
            }
            #expect(asked.withLock { $0 } == names.map { .named($0) })
            #expect(try await store.count == 111)
            #expect(try await store.texts("7").count == 2)
            try await store.removeAll { _ in true }
            #expect(try await store.count == 0)
            #expect(try await store.cost == 0)
        }
    }

    @Test func filesShrinkAfterRemoval() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file)
            for index in 0..<25 {
                try await store.store(.sample(length: 1_000_000), for: .named("\(index)"))
            }
            #expect(try file.size > 20_000_000)
            try await store.removeAll { _ in true }
            // The last store to close moves the log into the file.
            await store.close()
            #expect(try file.size < 200_000)
            #expect(!FileManager.default.fileExists(atPath: file.path + "-wal"))
        }
    }

    @Test func throwsForFilesThatCannotBeOpened() async throws {
        try await withTemporaryDirectory { directory in
            let occupied = directory.appending(path: "file")
            try Data().write(to: occupied)
            let folder = directory.appending(path: "folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let files = [
                (folder, "\(folder.path) is not a regular file"),
                (occupied.appending(path: "cache"), "\(occupied.path)"),
                (URL(string: "https://a.example/")!, "needs a file URL (is https)"),
            ]
            for (file, text) in files {
                let store = SQLiteCacheStore(file: file)
                let error = await #expect(throws: SQLiteCacheError.self) { try await store.open() }
                #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
                await #expect(throws: SQLiteCacheError.self) { try await store.entries(for: .named("a")) }
            }
        }
    }

    @Test func recreatesARemovedFile() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appending(path: "folder")
            let store = SQLiteCacheStore(file: folder.appending(path: "cache"))
            try await store.store(.sample(), for: .named("a"))
            try FileManager.default.removeItem(at: folder)
            #expect(try await store.texts("a").isEmpty)
            try await store.store(.sample(), for: .named("b"))
            // Only the log remains.
            try FileManager.default.removeItem(at: store.file)
            #expect(try await store.count == 0)
            try await store.store(.sample(), for: .named("c"))
            #expect(try await SQLiteCacheStore(file: store.file).texts("c") == ["text"])
        }
    }

    @Test func writesUsesInBatches() async throws {
        try await withTemporaryDirectory { directory in
            let location = DatabaseLocation(path: directory.appending(path: "cache").path)
            try location.prepareFiles()
            let file = try CacheFile(at: location, CacheFile.Settings(costLimit: 1 << 20, maximumUses: 2))
            for name in ["a", "b", "c"] {
                _ = try await file.store(.sample(), for: .named(name))
            }
            _ = try await file.entries(for: .named("b"))
            try await file.checkpoint()
            let reader = try DatabaseQueue(path: location.path)
            let order = { @Sendable (db: Database) in
                try Data.fetchAll(db, sql: "SELECT url FROM keys ORDER BY used")
                    .map {
                        String(decoding: $0.suffix(1), as: UTF8.self)
                    }
            }
            #expect(try await reader.read(order) == ["a", "b", "c"])
            _ = try await file.entries(for: .named("a"))
            // The checkpoint runs after the write that the second use has started.
            try await file.checkpoint()
            #expect(try await reader.read(order) == ["c", "b", "a"])
        }
    }

    @Test func completesTheOperationsOfACancelledTask() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            try await store.store(.sample("old"), for: .named("a"))
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                #expect(Task.isCancelled)
                try await store.remove(nil, for: .named("a"))
                try await store.store(.sample("new"), for: .named("b"))
                #expect(try await store.texts("b") == ["new"])
                #expect(try await store.texts("a").isEmpty)
            }
            .value
        }
    }

    @Test func twoStoresShareAFileConcurrently() async throws {
        try await withTemporaryDirectory { directory in
            let stores = (0..<2).map { _ in SQLiteCacheStore(file: directory.appending(path: "cache")) }
            try await withThrowingDiscardingTaskGroup { group in
                for task in 0..<8 {
                    group.addTask {
                        let store = stores[task % 2]
                        for index in 0..<20 {
                            let entry = CachedEntry.sample("\(task) \(index)", length: index * 1000)
                            try await store.store(entry, for: .named("\(task)/\(index)"))
                            #expect(try await stores[index % 2].entries(for: .named("\(task)/\(index)")) == [entry])
                        }
                    }
                }
            }
            #expect(try await stores[0].count == 160)
        }
    }
}

extension URL {
    fileprivate var size: Int {
        get throws { try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0 }
    }
}
#endif
