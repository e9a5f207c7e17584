#if SQLite
import Foundation
import GRDB
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingSQLite

/// Files that are damaged, of other versions, or somebody else's, and disks that are full.
@Suite(.tags(.memory), .timeLimit(.minutes(5)))
struct DamageTests {
    private static let names = (0..<30).map { "\($0)" }

    // Made once for all tests, and copied: thirty transactions each time would be most of what they do. Detached, since
    // nobody's cancellation and nobody's time limit is that of all.
    private static let filled = Task.detached {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file)
            for name in names {
                try await store.store(.sample(name, length: 1000), for: .named(name))
            }
            await store.close()
            return try Data(contentsOf: file)
        }
    }

    /// A file with an entry for each name, that nobody has open.
    private func fill(_ file: URL) async throws {
        try await Self.filled.value.write(to: file)
    }

    /// How many of the entries are there; none is another than was stored.
    private func whole(in store: SQLiteCacheStore) async throws -> Int {
        var count = 0
        for name in Self.names {
            let found = try await store.entries(for: .named(name))
            #expect(found.allSatisfy { $0.body == CachedEntry.sample(name, length: 1000).body })
            count += found.count
        }
        return count
    }

    enum Damage: CaseIterable {
        case otherText, firstPage, half, allButHeader, tables, totals
    }

    @Test(arguments: Damage.allCases)
    func aDamagedFileIsSetAsideOnce(_ damage: Damage) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            var data = try Data(contentsOf: file)
            switch damage {
            case .otherText: data = Data(String(repeating: "This is no database.\n", count: 1000).utf8)
            case .firstPage: data.replaceSubrange(100..<4096, with: repeatElement(0x5a, count: 3996))
            case .half: data = data.prefix(data.count / 2)
            case .allButHeader: data.replaceSubrange(4096..., with: repeatElement(0xa5, count: data.count - 4096))
            case .tables, .totals: break
            }
            try data.write(to: file)
            if damage == .tables || damage == .totals {
                try await DatabaseQueue(path: file.path)
                    .write { db in
                        try db.execute(sql: damage == .tables ? "DROP TABLE entries" : "DELETE FROM totals")
                    }
            }
            let reports = Mutex<[String]>([])
            let store = SQLiteCacheStore(file: file) { error in reports.withLock { $0.append(error.description) } }
            let aside = URL(fileURLWithPath: file.path + ".damaged-1")
            var errors: [SQLiteCacheError] = []
            for name in Self.names {
                do {
                    _ = try await store.entries(for: .named(name))
                } catch let error as SQLiteCacheError {
                    errors.append(error)
                }
            }
            #expect(errors.map { $0.description } == reports.withLock { $0 })
            guard case .damaged(let moved)? = errors.first, errors.count == 1 else {
                Issue.record("\(errors)")
                return
            }
            #expect(moved?.path == aside.path)
            #expect(FileManager.default.fileExists(atPath: aside.path))
            try await store.store(.sample("new"), for: .named("a"))
            #expect(try await SQLiteCacheStore(file: file).texts("a") == ["new"])
            #expect(try await store.count == 1)
        }
    }

    /// Wherever the damage is: no crash, nothing that was not stored, and a store that works.
    @Test(arguments: 0..<40)
    func bytesThatHaveTurned(_ seed: UInt64) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            var data = try Data(contentsOf: file)
            var random = SeededGenerator(seed: seed)
            for _ in 0..<(seed % 2 == 0 ? 3 : 100) {
                data[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            try data.write(to: file)
            let store = SQLiteCacheStore(file: file)
            for name in Self.names {
                let found = (try? await store.entries(for: .named(name))) ?? []
                #expect(found.allSatisfy { $0.body == CachedEntry.sample(name, length: 1000).body })
            }
            // Once for each damage that is found; a byte of the header may make it somebody else's.
            for _ in 0..<3 {
                try? await store.removeAll { _ in true }
                _ = try? await store.store(.sample("new"), for: .named("a"))
            }
            do {
                #expect(try await store.texts("a").contains("new"))
            } catch SQLiteCacheError.newer {
            } catch SQLiteCacheError.unusable(let reason) {
                #expect(reason.contains("something else"))
            }
        }
    }

    @Test func aLogOfAnotherFileIsNotUsed() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            try Data(repeating: 0x37, count: 100_000).write(to: URL(fileURLWithPath: file.path + "-wal"))
            try Data(repeating: 0x73, count: 50_000).write(to: URL(fileURLWithPath: file.path + "-shm"))
            #expect(try await whole(in: SQLiteCacheStore(file: file)) == Self.names.count)
        }
    }

    @Test(arguments: [
        "UPDATE entries SET body = zeroblob(1000) WHERE id = 3",
        "UPDATE entries SET body = substr(body, 2) WHERE id = 3",
        "UPDATE entries SET body = NULL WHERE id = 3", "UPDATE entries SET head = x'01' WHERE id = 3",
        "UPDATE entries SET uuid = randomblob(16) WHERE id = 3", "UPDATE entries SET uuid = 'text' WHERE id = 3",
        "UPDATE keys SET url = CAST('https://a.example/x' AS BLOB) WHERE id = 3",
        "UPDATE keys SET owner = x'0161' WHERE id = 3", "UPDATE entries SET key = 4 WHERE id = 3",
    ])
    func anEntryThatDoesNotCheckOutIsRemoved(_ sql: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            try await DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
            let store = SQLiteCacheStore(file: file) { Issue.record($0) }
            #expect(try await whole(in: store) == Self.names.count - 1)
            #expect(try await store.entries(for: .named("x")).isEmpty)
            #expect(try await store.entries(for: .named("2", Principal(id: "a"))).isEmpty)
            #expect(try await store.count == Self.names.count - 1)
        }
    }

    @Test func fewAreKept() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            for _ in 0..<4 {
                try Data("no database, but longer than a header is, which would be 100 bytes".utf8).write(to: file)
                await #expect(throws: SQLiteCacheError.self) { try await SQLiteCacheStore(file: file).open() }
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            #expect(names == ["cache-lock", "cache.damaged-3", "cache.damaged-4"])
        }
    }

    /// The others that have the file open go over to the new one.
    @Test func aFileThatIsSetAsideIsSoForAll() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            let stores = (0..<2).map { _ in SQLiteCacheStore(file: file) }
            for store in stores {
                #expect(try await store.texts("0").count == 1)
            }
            // Not through the file system, which would end the locks of this process.
            try await DatabaseQueue(path: file.path)
                .write { try $0.execute(sql: "UPDATE totals SET cost = 1, count = 1") }
            await #expect(throws: SQLiteCacheError.self) { try await stores[0].removeAll { _ in true } }
            try await stores[0].store(.sample("new"), for: .named("a"))
            #expect(try await stores[1].texts("a") == ["new"])
            try await stores[1].store(.sample("newer"), for: .named("b"))
            #expect(try await stores[0].texts("b") == ["newer"])
            #expect(CacheLocation(path: file.path).setAsideNumbers() == [1])
        }
    }

    // MARK: Versions

    private static let next = CacheSchema(steps: CacheSchema.current.steps + ["ALTER TABLE keys ADD COLUMN note TEXT"])

    @Test func anOlderFileIsMigrated() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            let settings = CacheFile.Settings(costLimit: 1 << 20, schema: Self.next)
            let store = SQLiteCacheStore(file: file, settings: settings)
            #expect(try await whole(in: store) == Self.names.count)
            let (version, columns) = try await DatabaseQueue(path: file.path)
                .read { db in
                    (try Int.fetchOne(db, sql: "PRAGMA user_version"), try db.columns(in: "keys").map { $0.name })
                }
            #expect(version == 4 && columns.contains("note"))
        }
    }

    @Test func aMigrationThatFailsLeavesTheFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            let steps = CacheSchema.current.steps + ["DROP TABLE totals; INSERT INTO nowhere VALUES (1)"]
            let settings = CacheFile.Settings(costLimit: 1 << 20, schema: CacheSchema(steps: steps))
            await #expect(throws: SQLiteCacheError.self) {
                try await SQLiteCacheStore(file: file, settings: settings).open()
            }
            #expect(try await whole(in: SQLiteCacheStore(file: file)) == Self.names.count)
        }
    }

    @Test func aNewerFileIsLeftAlone() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let old = SQLiteCacheStore(file: file) { Issue.record($0) }
            try await old.store(.sample("old"), for: .named("a"))
            let new = SQLiteCacheStore(file: file, settings: CacheFile.Settings(costLimit: 1 << 20, schema: Self.next))
            #expect(try await new.texts("a") == ["old"])
            // One that has it open notices when it writes.
            let error = await #expect(throws: SQLiteCacheError.self) {
                try await old.store(.sample(), for: .named("b"))
            }
            #expect(error?.description.contains("format 4") == true)
            await #expect(throws: SQLiteCacheError.self) { try await old.texts("a") }
            await #expect(throws: SQLiteCacheError.self) { try await SQLiteCacheStore(file: file).open() }
            #expect(try await new.count == 1)
        }
    }

    @Test(arguments: [
        "CREATE TABLE mine (a)", "CREATE TABLE mine (a); PRAGMA application_id = 7; PRAGMA user_version = 1",
    ])
    func somebodyElsesDatabaseIsLeftAlone(_ sql: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "mine")
            try await DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
            let store = SQLiteCacheStore(file: file) { Issue.record($0) }
            let error = await #expect(throws: SQLiteCacheError.self) { try await store.open() }
            #expect(error?.description.contains("another program") == true)
            #expect(try await DatabaseQueue(path: file.path).read { try $0.tableExists("mine") })
        }
    }

    // MARK: Full disks

    @Test func aFullDiskMakesRoomOrSaysSo() async throws {
        try await withTemporaryDirectory { directory in
            let settings = CacheFile.Settings(costLimit: 1 << 30, pageLimit: 100)
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"), settings: settings)
            var evicted = 0
            for index in 0..<200 {
                evicted += try await store.store(.sample(length: 5000), for: .named("\(index)"))
                #expect(try await store.entries(for: .named("\(index)")).count == 1)
            }
            #expect(evicted > 100)
            #expect(try await store.count == 200 - evicted)
            let error = await #expect(throws: SQLiteCacheError.self) {
                try await store.store(.sample(length: 500_000), for: .named("large"))
            }
            guard case .full? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try await store.entries(for: .named("large")).isEmpty)
            try await store.store(.sample(length: 5000), for: .named("small"))
            #expect(try await store.entries(for: .named("small")).count == 1)
        }
    }

    // MARK: In a stack

    @Test func aStackGoesOnWithoutADamagedStore() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try Data(repeating: 0x41, count: 5000).write(to: file)
            let transport = MockTransport { _ in
                MockResponse(status: .ok, data: Data("answer".utf8), headerFields: [.cacheControl: "max-age=60"])
            }
            let network = transport.cached(in: SQLiteCacheStore(file: file))
            let failures = Failures()
            var request = HTTPRequestData(authority: "a.example", path: "/")
            request.addObserver(failures)
            #expect(try await network.data(request).isCached == false)
            #expect(failures.count == 1)
            #expect(try await network.data(request).isCached)
            #expect(failures.count == 1)
            #expect(transport.requests.count == 1)
        }
    }

    private final class Failures: NetworkEventObserver {
        private let failures = Atomic(0)

        var count: Int {
            failures.load(ordering: .relaxed)
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            if case CacheEvent.failed(SQLiteCacheError.damaged) = event {
                failures.add(1, ordering: .relaxed)
            }
        }
    }
}

/// The same numbers for a seed, on every machine.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &+ 0x9e37_79b9_7f4a_7c15
    }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
#endif
