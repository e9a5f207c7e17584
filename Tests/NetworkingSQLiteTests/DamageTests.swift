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

/// Damaged files of the cache, older files and full disks; ``DatabaseFileTests`` tests the files of all stores.
@Suite(.tags(.memory), .stoppedClock, .timeLimit(.minutes(20)))
struct DamageTests {
    private static let names = (0..<30).map { "\($0)" }

    // Created once and copied for each test, because thirty transactions would take most of a test's time. The task is
    // detached, so one test's cancellation or time limit does not affect the others.
    private static let filledFile = Task.detached {
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

    /// Writes a file with an entry for each name.
    ///
    /// No store has it open.
    private func fill(_ file: URL) async throws {
        try await Self.filledFile.value.write(to: file)
    }

    /// Returns the number of entries that are still in the store, and checks their bodies.
    private func countOfIntactEntries(in store: SQLiteCacheStore) async throws -> Int {
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
    func setsADamagedFileAsideOnce(_ damage: Damage) async throws {
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

    /// A store must not crash or return changed bodies, and must work afterwards.
    @Test(arguments: 0..<40)
    func survivesRandomlyChangedBytes(_ seed: UInt64) async throws {
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
            // The store throws once for each damage that it finds. A changed header can look like the database of
            // another program.
            for _ in 0..<3 {
                try? await store.removeAll { _ in true }
                _ = try? await store.store(.sample("new"), for: .named("a"))
            }
            do {
                #expect(try await store.texts("a").contains("new"))
            } catch SQLiteCacheError.newer {
            } catch SQLiteCacheError.unusable(let reason) {
                #expect(reason.contains("another program"))
            }
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
    func removesAnInvalidEntry(_ sql: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            try await DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
            let store = SQLiteCacheStore(file: file) { Issue.record($0) }
            #expect(try await countOfIntactEntries(in: store) == Self.names.count - 1)
            #expect(try await store.entries(for: .named("x")).isEmpty)
            #expect(try await store.entries(for: .named("2", Principal(id: "a"))).isEmpty)
            #expect(try await store.count == Self.names.count - 1)
        }
    }

    /// The other stores that have the file open switch to the new one.
    @Test func everyStoreSwitchesToTheNewFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            let stores = (0..<2).map { _ in SQLiteCacheStore(file: file) }
            for store in stores {
                #expect(try await store.texts("0").count == 1)
            }
            // Opening the file directly would release the locks of this process.
            try await DatabaseQueue(path: file.path)
                .write { try $0.execute(sql: "UPDATE totals SET cost = 1, count = 1") }
            await #expect(throws: SQLiteCacheError.self) { try await stores[0].removeAll { _ in true } }
            try await stores[0].store(.sample("new"), for: .named("a"))
            #expect(try await stores[1].texts("a") == ["new"])
            try await stores[1].store(.sample("newer"), for: .named("b"))
            #expect(try await stores[0].texts("b") == ["newer"])
            #expect(try DatabaseLocation(path: file.path).setAsideNumbers() == [1])
        }
    }

    // MARK: Versions

    private static let next = DatabaseSchema.cache.adding("ALTER TABLE keys ADD COLUMN note TEXT")

    @Test func migratesAnOlderFile() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try await fill(file)
            let settings = CacheFile.Settings(costLimit: 1 << 20, schema: Self.next)
            let store = SQLiteCacheStore(file: file, settings: settings)
            #expect(try await countOfIntactEntries(in: store) == Self.names.count)
            let (version, columns) = try await DatabaseQueue(path: file.path)
                .read { db in
                    (try Int.fetchOne(db, sql: "PRAGMA user_version"), try db.columns(in: "keys").map { $0.name })
                }
            #expect(version == Self.next.version && columns.contains("note"))
        }
    }

    // MARK: Full disks

    @Test func fullDiskEvictsEntriesOrThrows() async throws {
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

    @Test func stackContinuesAfterDamageToItsStore() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            try Data(repeating: 0x41, count: 5000).write(to: file)
            let transport = MockTransport { _ in
                MockResponse(status: .ok, data: Data("hello".utf8), headerFields: [.cacheControl: "max-age=60"])
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

/// A generator that gives the same numbers for a seed on every machine.
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
