#if SQLite
import Foundation
import GRDB
import HTTPTypes
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingSQLite

/// The key for digests of credentials belongs to the file.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct DigestKeyTests {
    private let apiKey = HTTPField.Name("X-API-Key")!

    /// All bytes of a store's files.
    private func bytes(of file: URL) throws -> Data {
        try ["", "-wal"]
            .reduce(into: Data()) { bytes, suffix in
                let path = file.path + suffix
                guard FileManager.default.fileExists(atPath: path) else { return }
                bytes += try Data(contentsOf: URL(fileURLWithPath: path))
            }
    }

    @Test func keepsTheDigestKeyInTheFile() async throws {
        try await withTemporaryDirectory { directory in
            let (file, other) = (directory.appending(path: "a"), directory.appending(path: "b"))
            let store = SQLiteCacheStore(file: file)
            let key = try #require(try await store.digestKey())
            #expect(try await SQLiteCacheStore(file: file).digestKey() == key)
            #expect(try await StackedCacheStore(over: store).digestKey() == key)
            #expect(try await SQLiteCacheStore(file: other).digestKey() != key)
            await store.close()
            #expect(try await store.digestKey() == key)
            #expect(try bytes(of: file).range(of: Data(key.bytes)) != nil)
        }
    }

    @Test func findsResponsesByCredentialsThatAreNotInTheFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
            var cached: [Bool] = []
            for secret in ["emily-secret", "james-secret", "emily-secret", "james-secret"] {
                let store = SQLiteCacheStore(file: file)
                let request = HTTPRequestData.lawful.with { $0.headerFields[apiKey] = secret }
                let cache = ResponseCache(in: store)
                cached.append(try await transport.cached(in: cache).data(request).isCached)
                await store.close()
            }
            #expect(cached == [false, false, true, true])
            #expect(try bytes(of: file).range(of: Data("emily-secret".utf8)) == nil)
        }
    }

    /// The digests in such a file could be reversed, so even its free pages are removed.
    @Test func replacesAFileWithoutAKey() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let old = try DatabaseQueue(path: file.path)
            try await old.write { db in
                try db.execute(sql: DatabaseSchema.cache.steps[0])
                try db.execute(
                    sql: "PRAGMA application_id = \(DatabaseSchema.cache.applicationID); PRAGMA user_version = 1"
                )
                try db.execute(sql: "INSERT INTO keys VALUES (1, 1, CAST('old url' AS BLOB), x'00')")
                try db.execute(
                    sql: "INSERT INTO entries VALUES (1, 1, 9, 0, x'00', CAST('old digest' AS BLOB), x'00')"
                )
            }
            try old.close()
            let store = SQLiteCacheStore(file: file) { Issue.record($0) }
            #expect(try await store.count == 0)
            try await store.store(.sample("new"), for: .named("a"))
            #expect(try await store.texts("a") == ["new"])
            #expect(try await store.digestKey() != nil)
            #expect(try bytes(of: file).range(of: Data("old digest".utf8)) == nil)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            #expect(names == ["cache", "cache-lock", "cache-shm", "cache-wal"])
        }
    }

    @Test(arguments: ["DELETE FROM secrets", "UPDATE secrets SET digest_key = 7", "DROP TABLE secrets"])
    func setsAFileWithADamagedKeyAside(_ sql: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file)
            try await store.store(.sample(), for: .named("a"))
            await store.close()
            let queue = try DatabaseQueue(path: file.path)
            try await queue.write { try $0.execute(sql: sql) }
            try queue.close()
            await #expect(throws: SQLiteCacheError.self) { try await store.open() }
            #expect(try await store.digestKey() != nil)
            #expect(try await store.count == 0)
        }
    }

    @Test func descriptionsRedactTheDigestKey() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            let key = try #require(try await store.digestKey())
            let file = everyPrint(of: store)
            #expect(!file.contains("\(key.bytes.map(Int.init))"))
        }
    }
}
#endif
