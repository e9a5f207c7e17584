#if SQLite
import Foundation
import GRDB
import HTTPTypes
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

import Networking
@testable import NetworkingSQLite

/// Removals by one process that uses the file, and fetches in progress in another.
///
/// Two stores represent the two processes: they share nothing but the file.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct SQLiteCacheStoreChangesTests {
    private let url = HTTPRequestData.lawful.absoluteString ?? ""

    private func stores(in directory: URL) -> (SQLiteCacheStore, SQLiteCacheStore) {
        let file = directory.appending(path: "cache")
        return (SQLiteCacheStore(file: file), SQLiteCacheStore(file: file))
    }

    private func number(of store: SQLiteCacheStore) async throws -> Int64 {
        try #require(try await store.changeNumber())
    }

    // MARK: In a stack

    /// A server that delays its first response and sends later ones at once.
    private struct SlowServer {
        let arrived = Suspension<Void>()
        let gate = Suspension<Void>()
        let transport: MockTransport

        init(_ fields: HTTPFields = [.cacheControl: "max-age=100"]) {
            let count = Mutex(0)
            transport = MockTransport { [arrived, gate] request in
                let number = count.withLock {
                    $0 += 1
                    return $0
                }
                if number == 1 {
                    arrived.resume()
                    try await gate.value()
                }
                return .ok(Data("\(number)".utf8), headerFields: fields)
            }
        }
    }

    @Test(arguments: ["post", "remove", "removeAll"])
    func changeInAnotherProcessOutdatesAFetchInProgress(_ change: String) async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            let server = SlowServer()
            let network = server.transport.cached(in: mine)
            async let before = network.data(.lawful)
            try await server.arrived.value()
            let cache = ResponseCache(in: other)
            switch change {
            case "post": try await server.transport.cached(in: cache).data(.lawful.with { $0.method = .post })
            case "remove": try await cache.remove(url: #require(HTTPRequestData.lawful.url))
            default: try await cache.removeAll()
            }
            server.gate.resume()
            #expect(try await before.data == Data("1".utf8))
            #expect(try await before.cacheStatus?.detail == "outdated")
            #expect(try await mine.count == 0)
            #expect(try await network.data(.lawful).data == Data((change == "post" ? "3" : "2").utf8))
        }
    }

    @Test func changeOfAnotherURLOutdatesNothing() async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            let server = SlowServer()
            async let response = server.transport.cached(in: mine).data(.lawful)
            try await server.arrived.value()
            try await ResponseCache(in: other).remove(url: #require(URL(string: "https://api.example.com/other")))
            server.gate.resume()
            #expect(try await response.cacheStatus?.isStored == true)
            #expect(try await mine.count == 1)
        }
    }

    /// The removal happens after the entry is read and before its validation remembers the change number.
    @Test func revalidationDoesNotRestoreAnEntryRemovedByAnotherProcess() async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            let store = StoreWithHook(mine)
            let transport = MockTransport { request in
                request.headerFields.contains(.ifNoneMatch)
                    ? .status(.notModified) : .ok(headerFields: [.cacheControl: "max-age=0", .eTag: "\"a\""])
            }
            let network = transport.cached(in: store)
            try await network.data(.lawful)
            #expect(try await mine.count == 1)
            store.beforeNumber.withLock { $0 = { [url] in try await other.remove(url: url) } }
            let response = try await network.data(.lawful)
            #expect(transport.requests.count == 2 && response.isCached)
            #expect(try await mine.count == 0)
        }
    }

    /// A response to POST is stored only if no other process has changed the URL since the POST was sent.
    @Test(arguments: [true, false]) func storesAResponseToPostOnlyIfTheURLIsUnchanged(isAlone: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            let server = SlowServer([.cacheControl: "max-age=100", .contentLocation: "/"])
            let network = server.transport.cached(in: mine)
            let request = HTTPRequestData.lawful.with { $0.target = "/" }
            async let post = network.data(request.with { $0.method = .post })
            try await server.arrived.value()
            if !isAlone {
                try await other.remove(url: #require(request.absoluteString))
            }
            server.gate.resume()
            #expect(try await post.data == Data("1".utf8))
            #expect(try await network.data(request).isCached == isAlone)
        }
    }

    /// A store that runs a hook before it returns its change number.
    private final class StoreWithHook: CacheStore {
        let store: SQLiteCacheStore
        let beforeNumber = Mutex<(@Sendable () async throws -> Void)?>(nil)

        init(_ store: SQLiteCacheStore) {
            self.store = store
        }

        var entryCostLimit: Int { store.entryCostLimit }

        func changeNumber() async throws -> Int64? {
            try await beforeNumber.withLock { $0 }?()
            return try await store.changeNumber()
        }

        func entries(for key: CacheKey) async throws -> [CachedEntry] { try await store.entries(for: key) }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            try await store.store(entry, for: key)
        }

        func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
            try await store.store(entry, for: key, ifUnchangedSince: change)
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { try await store.remove(id, for: key) }

        func remove(url: String) async throws { try await store.remove(url: url) }

        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
            try await store.removeAll(where: isUnwanted)
        }
    }

    // MARK: In the store

    @Test func storesAnEntryUnlessItsURLWasRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            let start = try await number(of: mine)
            try await other.remove(url: CacheKey.named("b").url)
            // Entries removed for other reasons are not counted as changes.
            try await other.remove(nil, for: .named("a"))
            try await other.trim(toCost: 0)
            #expect(try await number(of: mine) == start + 1)
            for name in ["a", "b"] {
                let evicted = try await mine.store(.sample(), for: .named(name), ifUnchangedSince: start)
                #expect(evicted == (name == "a" ? 0 : nil))
            }
            #expect(try await mine.store(.sample(), for: .named("b"), ifUnchangedSince: start + 1) == 0)
            try await other.removeAll { _ in false }
            #expect(try await mine.store(.sample("new"), for: .named("a"), ifUnchangedSince: start + 1) == nil)
            #expect(try await mine.texts("a") == ["text"])
            let now = try await number(of: mine)
            #expect(try await mine.store(.sample("new"), for: .named("a"), ifUnchangedSince: now) == 0)
            #expect(try await StackedCacheStore(over: other).changeNumber() == now)
        }
    }

    /// A removal of many keys takes several transactions, and a fetch may begin between two of them.
    @Test func eachTransactionOfARemovalOfManyKeysIsAChange() async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            try await mine.store(.sample(), for: .named("a"))
            let start = try await number(of: mine)
            let keys = try await other.database.using { try await $0.keys(after: .min, most: 10) }
            try await other.database.using { try await $0.remove(keys) }
            #expect(try await mine.store(.sample(), for: .named("a"), ifUnchangedSince: start) == nil)
            #expect(try await mine.count == 0)
        }
    }

    @Test func removalReportsOtherRemovals() async throws {
        try await withTemporaryDirectory { directory in
            let (mine, other) = stores(in: directory)
            let start = try await number(of: mine)
            let first = try await mine.remove(url: url, checkingSince: start)
            #expect(first == start + 1)
            #expect(try await other.remove(url: url, checkingSince: start) == nil)
            #expect(try await other.remove(url: url, checkingSince: start + 2) == start + 3)
        }
    }

    @Test(arguments: [3, 4]) func treatsForgottenChangesAsChanges(count: Int) async throws {
        try await withTemporaryDirectory { directory in
            let settings = CacheFile.Settings(costLimit: 1 << 20, maximumChanges: 3)
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"), settings: settings)
            let start = try await number(of: store)
            for number in 0..<count {
                try await store.remove(url: "\(number)")
            }
            let evicted = try await store.store(.sample(), for: .named("a"), ifUnchangedSince: start)
            #expect(evicted == (count == 3 ? 0 : nil))
            await store.close()
            let kept = try await DatabaseQueue(path: store.file.path)
                .read { try Int.fetchOne($0, sql: "SELECT count(*) FROM changes") }
            #expect(kept == 3)
        }
    }

    @Test func treatsANumberOfAnotherFileAsOutdated() async throws {
        try await withTemporaryDirectory { directory in
            let (store, _) = stores(in: directory)
            let start = try await number(of: store)
            await store.close()
            try FileManager.default.removeItem(at: store.file)
            #expect(try await store.store(.sample(), for: .named("a"), ifUnchangedSince: start) == nil)
            #expect(try await store.count == 0)
        }
    }

    /// The file stores only digests of URLs, and none of them after all entries were removed.
    @Test func fileContainsNoURLsOfChanges() async throws {
        try await withTemporaryDirectory { directory in
            let (store, _) = stores(in: directory)
            try await store.remove(url: "https://a.example/secret-name")
            try await store.removeAll { _ in true }
            await store.close()
            #expect(try Data(contentsOf: store.file).range(of: Data("secret-name".utf8)) == nil)
            let kept = try await DatabaseQueue(path: store.file.path)
                .read { try Int.fetchOne($0, sql: "SELECT count(*) FROM changes") }
            #expect(kept == 1)
        }
    }

    // MARK: The log

    /// Opens a connection that can keep a transaction open.
    private static func reader(of file: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: file.path, configuration: configuration)
    }

    /// Opens a store, and a connection that is reading from its file.
    private static func storeWithReader(
        _ file: URL,
        _ settings: CacheFile.Settings
    ) async throws -> (SQLiteCacheStore, DatabaseQueue) {
        let store = SQLiteCacheStore(file: file, settings: settings)
        try await store.open()
        let reader = try reader(of: file)
        try await reader.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN; SELECT count(*) FROM keys")
        }
        return (store, reader)
    }

    /// SQLite alone gives up if a connection reads, and a busy file always has a reader.
    @Test func emptiesALongLogWhenItsReaderEnds() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let settings = CacheFile.Settings(costLimit: 1 << 30, logLimit: 1 << 20, checkpointPatience: .seconds(60))
            let (store, reader) = try await Self.storeWithReader(file, settings)
            try await store.store(.sample(length: 6 << 20), for: .named("a"))
            let location = DatabaseLocation(path: file.path)
            #expect(location.logLength > 6 << 20)
            try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            // A small write, which runs after the checkpoint.
            try await store.remove(nil, for: .named("none"))
            #expect(location.logLength < 1 << 20)
        }
    }

    /// Each attempt to empty the log would wait for the reader as long as a write waits for another process.
    @Test(.timeLimit(.minutes(20)))
    func writesDoNotWaitForALongReader() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let settings = CacheFile.Settings(
                costLimit: 1 << 30,
                patience: .seconds(15),
                logLimit: 1 << 20,
                checkpointPatience: .zero,
                longLogPatience: .zero
            )
            let (store, reader) = try await Self.storeWithReader(file, settings)
            for name in 0..<10 {
                try await store.store(.sample(length: 1 << 20), for: .named("\(name)"))
            }
            #expect(try await store.count == 10)
            try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            for name in 10..<14 {
                try await store.store(.sample(length: 1 << 20), for: .named("\(name)"))
            }
            #expect(DatabaseLocation(path: file.path).logLength < 5 << 20)
        }
    }

    @Test func emptiesTheLogAgainAfterAnotherProcessEmptiedIt() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let settings = CacheFile.Settings(costLimit: 1 << 30, logLimit: 1 << 20, checkpointPatience: .zero)
            let (store, reader) = try await Self.storeWithReader(file, settings)
            try await store.store(.sample(length: 8 << 20), for: .named("long"))
            try await store.remove(nil, for: .named("none"))
            try await reader.writeWithoutTransaction { db in
                try db.execute(sql: "COMMIT")
                _ = try db.checkpoint(.truncate)
            }
            // The first write notices the short log, the second makes it long, and the third runs after the checkpoint.
            for length in [1, 2 << 20, 1] {
                try await store.store(.sample(length: length), for: .named("\(length)"))
            }
            #expect(DatabaseLocation(path: file.path).logLength < 1 << 20)
        }
    }

    /// The time limit for readers of the log does not apply to other writers.
    @Test func writesWaitForAnotherWriterAfterALongLog() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let settings = CacheFile.Settings(
                costLimit: 1 << 30,
                patience: .seconds(600),
                logLimit: 1 << 20,
                checkpointPatience: .zero
            )
            let store = SQLiteCacheStore(file: file, settings: settings)
            try await store.store(.sample(length: 2 << 20), for: .named("long"))
            // A small write, which runs after the checkpoint.
            try await store.remove(nil, for: .named("none"))
            let writer = try Self.reader(of: file)
            try await writer.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let write = Task { try await store.store(.sample(), for: .named("a")) }
            // Reads are not blocked. They take long enough for a write that does not wait to fail.
            for _ in 0..<100 { _ = try await store.count }
            try await writer.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            _ = try await write.value
            #expect(try await store.texts("a") == ["text"])
        }
    }
}
#endif
