#if SQLite
import Foundation
import GRDB
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCookies
@testable import NetworkingSQLite

/// The rows of the principals.
///
/// ``CookieStorageConformanceTests`` and ``DatabaseFileTests`` test everything else.
@Suite(.timeLimit(.minutes(20)))
struct SQLiteCookieStorageTests {
    private func cookie(_ name: String) -> Cookie {
        Cookie(name: name, value: "1", domain: "a.example", expires: .now.addingTimeInterval(60), created: .now)
    }

    private func names(_ archive: CookieArchive?) -> [String: [String]] {
        let sessions = archive?.sessions ?? []
        return Dictionary(uniqueKeysWithValues: sessions.map { ($0.principal ?? "none", $0.cookies.map(\.name)) })
    }

    @Test func jarsOfDifferentPrincipalsShareAFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cookies")
            let (emily, fred) = (Principal(id: "emily"), Principal(id: "fred"))
            let jars = [
                try await CookieJar(in: SQLiteCookieStorage(file: file)),
                try await CookieJar(in: SQLiteCookieStorage(file: file)),
            ]
            try jars[0].set(cookie("a"), for: emily)
            try await jars[0].flush()
            try jars[1].set(cookie("b"), for: fred)
            try await jars[1].flush()
            try jars[0].set(cookie("c"), for: emily)
            try await jars[0].flush()
            jars[1].removeAll(of: fred)
            try jars[1].set(cookie("d"))
            try await jars[1].flush()
            let names = names(try await SQLiteCookieStorage(file: file).load())
            #expect(names == ["emily": ["a", "c"], "none": ["d"]])
        }
    }

    @Test func onlyChangedPrincipalsAreWritten() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cookies")
            let storage = SQLiteCookieStorage(file: file)
            let first = CookieArchive.Session(principal: "emily", id: "1", cookies: [cookie("a")])
            var second = CookieArchive.Session(principal: "fred", id: "1", cookies: [cookie("b")])
            try await storage.save(CookieArchive(key: [1], sessions: [first, second]))
            // A mark that any write of the row would replace.
            let other = try DatabaseQueue(path: file.path)
            try await other.write { try $0.execute(sql: "UPDATE sessions SET checksum = 7") }
            second = CookieArchive.Session(principal: "fred", id: "1", cookies: [cookie("c")])
            try await storage.save(CookieArchive(key: [1], sessions: [first, second]))
            let marks = try await other.read {
                try Int.fetchAll($0, sql: "SELECT checksum = 7 FROM sessions ORDER BY id")
            }
            #expect(marks.sorted() == [0, 1])
            // The mark is no checksum: that row is removed, and the other one stays.
            #expect(names(try await SQLiteCookieStorage(file: file).load()) == ["fred": ["c"]])
            let count = try await other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sessions") }
            #expect(count == 1)
        }
    }

    @Test func aNewFileReceivesAllCookies() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cookies")
            let storage = SQLiteCookieStorage(file: file)
            let sessions = ["emily", "fred"]
                .map { CookieArchive.Session(principal: $0, id: "1", cookies: [cookie($0)]) }
            try await storage.save(CookieArchive(key: [1], sessions: sessions))
            // The storage must not take the contents of the old file for those of the new one.
            try FileManager.default.removeItem(at: file)
            try await storage.save(CookieArchive(key: [1], sessions: sessions))
            #expect(names(try await SQLiteCookieStorage(file: file).load()) == ["emily": ["emily"], "fred": ["fred"]])
        }
    }

    @Test func aFileWithTooManyRowsIsDamaged() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cookies")
            let storage = SQLiteCookieStorage(file: file)
            try await storage.save(CookieArchive(key: [1], sessions: []))
            await storage.close()
            let other = try DatabaseQueue(path: file.path)
            try await other.write { db in
                try db.execute(
                    sql: """
                        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000)
                        INSERT INTO sessions (checksum, owner, session) SELECT 0, randomblob(8), x'00' FROM n
                        """
                )
            }
            try other.close()
            let error = await #expect(throws: CookieStorageError.self) { try await storage.load() }
            #expect(error?.description.contains("damaged-1") == true)
            #expect(try await storage.load() == nil)
        }
    }
}
#endif
