#if SQLite
import Foundation
import GRDB
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingSQLite

/// Cache groups (RFC 9875) in the file of the cache.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct SQLiteCacheGroupsTests {
    private let scope = CacheGroupScope(origin: "https://a.example")

    private func entry(_ groups: String) -> CachedEntry {
        var response = CachedEntry.sample().response
        response.headerFields[HTTPField.Name("Cache-Groups")!] = groups
        return CachedEntry.sample(groups).with(response: response)
    }

    @Test(arguments: CacheVector.all)
    func storeFollowsTheVector(vector: CacheVector) async throws {
        try await withTemporaryDirectory { directory in
            try await vector.run(over: SQLiteCacheStore(file: directory.appending(path: "cache")))
        }
    }

    /// Two stores represent two processes.
    @Test(arguments: CacheVector.all)
    func processesThatShareAFileFollowTheVector(vector: CacheVector) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await vector.run(over: SQLiteCacheStore(file: file), SQLiteCacheStore(file: file))
        }
    }

    @Test func removalOutdatesEntriesOfTheGroupInOtherProcesses() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let (mine, other) = (SQLiteCacheStore(file: file), SQLiteCacheStore(file: file))
            let change = try #require(try await mine.changeNumber())
            try await other.remove(groups: ["x"], at: scope)
            #expect(try await mine.store(entry("\"x\""), for: .named("a"), ifUnchangedSince: change) == nil)
            #expect(try await mine.store(entry("\"y\""), for: .named("a"), ifUnchangedSince: change) == 0)
            let elsewhere = CacheKey(principal: nil, url: "https://b.example/a")
            #expect(try await mine.store(entry("\"x\""), for: elsewhere, ifUnchangedSince: change) == 0)
            let latest = try #require(try await mine.changeNumber())
            #expect(try await mine.store(entry("\"x\""), for: .named("b"), ifUnchangedSince: latest) == 0)
        }
    }

    @Test func largeGroupIsRemovedAsAWhole() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            for number in 0..<1_100 {
                try await store.store(entry(number == 500 ? "\"y\"" : "\"x\", \"z\""), for: .named("\(number)"))
            }
            try await store.remove(groups: ["x", "unknown"], at: scope)
            #expect(try await store.count == 1)
            try await store.remove(groups: ["y"], at: CacheGroupScope(origin: "https://b.example"))
            try await store.remove(
                groups: ["y"],
                at: CacheGroupScope(origin: scope.origin, principals: [.init(id: "a")])
            )
            #expect(try await store.count == 1)
        }
    }

    @Test func removedEntriesLeaveTheIndex() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file, costLimit: 5_000)
            for number in 0..<100 {
                try await store.store(entry("\"x\""), for: .named("\(number)"))
            }
            let (rows, count) = (try await memberships(in: file), try await store.count)
            #expect(rows == count && count < 100)
            try await store.removeAll { _ in true }
            #expect(try await memberships(in: file) == 0)
        }
    }

    private func memberships(in file: URL) async throws -> Int {
        try await DatabaseQueue(path: file.path)
            .read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM memberships") ?? 0 }
    }

    /// A file of format 4 has no index, and its entries have groups nevertheless.
    @Test func migrationAddsTheGroupsOfStoredEntries() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file)
            try await store.store(entry("\"x\""), for: .named("a"))
            try await store.store(entry("\"y\""), for: .named("b"))
            try await DatabaseQueue(path: file.path)
                .writeWithoutTransaction { db in
                    try db.execute(
                        sql: """
                            DROP TRIGGER entry_left_groups;
                            DROP TABLE memberships;
                            PRAGMA user_version = 4;
                            """
                    )
                }
            let migrated = SQLiteCacheStore(file: file)
            try await migrated.remove(groups: ["x"], at: scope)
            #expect(try await migrated.texts("a").isEmpty)
            #expect(try await migrated.texts("b") == ["\"y\""])
        }
    }
}
#endif
