#if SQLite
import Foundation
import GRDB
import HTTPTypes
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingSQLite

/// `cached` and an outbox over an SQLite file that another process has locked, and credentials in such a file.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct LockedCacheFileTests {
    /// The time that a store waits for another process; no test waits that long.
    private let patience = Duration.seconds(250)

    private func lock(_ file: URL) async throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: file.path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        return other
    }

    @Test func lockedFileHoldsBackNoResponse() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            var settings = CacheFile.Settings(costLimit: 1 << 20, schema: .cache)
            settings.patience = patience
            let store = SQLiteCacheStore(file: file, settings: settings)
            try await store.open()
            let (clock, cache) = (ManualClock(), ResponseCache(in: store))
            let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
            let network = transport.cached(in: cache).environment(\.clock, .manual(clock))
            let other = try await lock(file)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { _ = try await network.data(.lawful.with { $0.target = "/\(number)" }) }
                }
                // Each response waits for its write.
                try await transport.waitForRequests(8)
                try await clock.waitForSleepers(8)
                clock.advance(by: .milliseconds(250))
                try await group.waitForAll()
            }
            #expect(try await store.count == 0)
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await cache.flush()
            _ = try await network.data(.lawful.with { $0.target = "/8" })
            try await cache.flush()
            #expect(try await network.data(.lawful.with { $0.target = "/8" }).isCached)
        }
    }

    @Test func callsOfAnOutboxEndAtTheirCancellation() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "outbox")
            var settings = SQLiteOutboxStore.settings
            settings.patience = patience
            let store = WatchedStore(SQLiteOutboxStore(file: file, settings: settings))
            let outbox = Outbox(in: store, over: MockTransport { _ in .ok() })
            try await outbox.enqueue(.order)
            let other = try await lock(file)
            let calls = [
                Task { _ = try await outbox.enqueue(.order) }, Task { _ = try await outbox.flush() },
                Task { try await outbox.run() },
            ]
            // Each of them is the second use of its kind: the first entry was added before.
            try await eventually("the calls use the file") {
                store.begun.entries.count { $0 == "add" } == 2 && store.begun.entries.count { $0 == "ids" } == 2
            }
            for call in calls {
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await eventually("all entries are sent") { try await outbox.flush() == 0 }
        }
    }

    /// A store that notes the beginning of some calls.
    private final class WatchedStore: OutboxStore {
        let begun = Journal()
        private let store: SQLiteOutboxStore

        init(_ store: SQLiteOutboxStore) { self.store = store }

        func ids() async throws -> [OutboxEntry.ID] {
            begun.note("ids")
            return try await store.ids()
        }

        func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? { try await store.entry(id) }

        func add(_ entry: OutboxEntry) async throws {
            begun.note("add")
            try await store.add(entry)
        }

        func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws {
            try await store.update(progress, of: id)
        }

        func remove(_ id: OutboxEntry.ID) async throws -> Bool { try await store.remove(id) }
        func claim() async throws -> Bool { try await store.claim() }
        func release() async { await store.release() }
    }

    /// All waits of an app for a locked file.
    enum Wait: String, CaseIterable {
        case removal, removalOfAll, enqueue, cancellation, flush, run, flushOfCookies
    }

    @Test(arguments: Wait.allCases, [true, false])
    func waitForALockedFileEndsWithItsCaller(wait: Wait, isLimit: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let files = ["cache", "outbox", "cookies"].map { directory.appending(path: $0) }
            let clock = ManualClock()
            let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
            let store = SQLiteCacheStore(file: files[0])
            try await store.open()
            let cache = ResponseCache(in: store)
            let outbox = Outbox(in: SQLiteOutboxStore(file: files[1]), over: transport)
            let id = try await outbox.enqueue(.order)
            let jar = try await CookieJar(in: SQLiteCookieStorage(file: files[2]))
            let cookies = ["b", "c"]
                .map {
                    Cookie(name: "a", value: $0, domain: "a.example", expires: clock.date + 1_000, created: clock.date)
                }
            try jar.set(cookies[0])
            try await jar.flush()
            var others: [DatabaseQueue] = []
            for file in files { others.append(try await lock(file)) }
            let limit = ExchangeLimit(until: .seconds(1), on: .manual(clock))
            let begun = Journal()
            let operation: @Sendable () async throws -> Void = {
                begun.note("\(wait)")
                switch wait {
                case .removal: try await cache.remove(url: #require(HTTPRequestData.lawful.url))
                case .removalOfAll: try await cache.removeAll()
                case .enqueue: try await outbox.enqueue(.order)
                case .cancellation: _ = try await outbox.cancel(id)
                case .flush: _ = try await outbox.flush()
                case .run: try await outbox.run()
                case .flushOfCookies:
                    try jar.set(cookies[1])
                    try await jar.flush()
                }
            }
            let call = Task { try await limit.run { try await operation() } }
            try await eventually("the call has begun") { !begun.entries.isEmpty }
            if isLimit { clock.advance(by: .seconds(1)) } else { call.cancel() }
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(limit.isReached == isLimit)
            for other in others { try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") } }
            // The work that the caller has left continues, and must end before its files are removed.
            try await cache.flush()
            _ = try await outbox.flush()
            try await jar.flush()
        }
    }

    /// All bytes of a store's files.
    private func bytes(of file: URL) throws -> Data {
        try ["", "-wal"]
            .reduce(into: Data()) { bytes, suffix in
                let path = file.path + suffix
                guard FileManager.default.fileExists(atPath: path) else { return }
                bytes += try Data(contentsOf: URL(fileURLWithPath: path))
            }
    }

    @Test func fileContainsNoCredentialOfAURL() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let link = "</items?page=2&api_key=emily-secret>; rel=next"
            let transport = MockTransport { _ in
                .ok(headerFields: [.cacheControl: "max-age=100", HTTPField.Name("Link")!: link])
            }
            var request = HTTPRequestData(authority: "api.example.com", path: "/items")
            request.query["api_key"] = "emily-secret"
            for isCached in [false, true] {
                let store = SQLiteCacheStore(file: file)
                let response = try await transport.cached(in: store).data(request)
                #expect(response.isCached == isCached)
                #expect(response.headerFields[HTTPField.Name("Link")!] == link)
                await store.close()
            }
            #expect(try bytes(of: file).range(of: Data("emily-secret".utf8)) == nil)
            let store = SQLiteCacheStore(file: file)
            let cache = ResponseCache(in: store)
            try await cache.remove(url: #require(request.url))
            try await cache.flush()
            #expect(try await store.count == 0)
        }
    }

    /// Such a file contains the credentials of URLs, so even its free pages are removed.
    @Test func replacesAFileOfTheFormatWithPlainURLs() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let old = try DatabaseQueue(path: file.path)
            try await old.write { db in
                for step in DatabaseSchema.cache.steps.prefix(3) { try db.execute(sql: step) }
                try DatabaseSchema.cache.addRows(db)
                try db.execute(
                    sql: "PRAGMA application_id = \(DatabaseSchema.cache.applicationID); PRAGMA user_version = 3"
                )
                try db.execute(
                    sql: "INSERT INTO keys VALUES (1, 1, CAST('https://a.example/?token=emily-secret' AS BLOB), x'00')"
                )
            }
            try old.close()
            let store = SQLiteCacheStore(file: file) { Issue.record($0) }
            try await store.store(.sample("new"), for: .named("a"))
            #expect(try await store.texts("a") == ["new"])
            #expect(try bytes(of: file).range(of: Data("emily-secret".utf8)) == nil)
        }
    }

    /// A fetch that begins or ends while the keys are read is outdated.
    @Test func removalOfManyKeysIsAChangeAtItsStartAndAtItsEnd() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            try await store.store(.sample(), for: .named("a"))
            let before = try #require(try await store.changeNumber())
            try await store.removeAll { _ in false }
            #expect(try await store.changeNumber() == before + 2)
        }
    }

    @Test func fieldKeepsItsMarkAsASecret() throws {
        var response = HTTPResponse(status: .ok)
        response.headerFields.append(HTTPField(name: .init("X-Ticket")!, value: "1"))
        response.headerFields[fields: .init("X-Ticket")!][0].indexingStrategy = .disallow
        let entry = CachedEntry.sample().with(response: response)
        let decoded = EntryHead.encode(entry).withUnsafeBytes { EntryHead.decode($0, id: entry.id, body: entry.body) }
        #expect(decoded?.response.headerFields.first?.indexingStrategy == .disallow)
    }

    /// More fields than a list can have would end the process.
    @Test func headWithTooManyFieldsIsDamaged() {
        var bytes: [UInt8] = [1, 0xc8, 1, 0, 0x80, 0x80, 0x40]
        for _ in 0..<70_000 { bytes += [0, 1, 0x61, 0] }
        let decoded = bytes.withUnsafeBytes { EntryHead.decode($0, id: UUID(), body: Data()) }
        #expect(decoded == nil)
    }
}
#endif
