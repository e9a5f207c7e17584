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
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct LockedCacheFileTests {
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
            let store = SQLiteCacheStore(file: file)
            try await store.open()
            let cache = ResponseCache(in: store)
            let network = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }.cached(in: cache)
                .deadline(.seconds(60))
            let other = try await lock(file)
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { _ = try await network.data(.lawful.with { $0.target = "/\(number)" }) }
                }
                try await group.waitForAll()
            }
            // Eight writes one after the other would wait for five seconds each.
            #expect(ContinuousClock.now - start < .seconds(30))
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
            let store = SQLiteOutboxStore(file: file)
            let outbox = Outbox(in: store, over: MockTransport { _ in .ok() })
            try await outbox.enqueue(.order)
            let other = try await lock(file)
            let start = ContinuousClock.now
            let calls = [
                Task { _ = try await outbox.enqueue(.order) }, Task { _ = try await outbox.flush() },
                Task { try await outbox.run() },
            ]
            try await Task.sleep(for: .milliseconds(50))
            for call in calls {
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            // Three waits for the file one after the other would take 15 seconds.
            #expect(ContinuousClock.now - start < .seconds(12))
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await eventually("all entries are sent") { try await outbox.flush() == 0 }
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
                // A request does not wait for a slow machine to open the file.
                try await store.open()
                let cache = ResponseCache(in: store)
                let response = try await transport.cached(in: cache).data(request)
                try await cache.flush()
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
