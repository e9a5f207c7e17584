#if SQLite
import Foundation
import GRDB
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingSQLite

/// The files of all stores: damage, other versions, links, other programs and full disks.
///
/// One after the other, because each cache has fifteen open files: Foundation's `Process` reads beyond its buffer in a
/// process with more than 1,300.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct DatabaseFileTests {
    /// Creates a file with some rows, which no store has open.
    private func fill(_ file: URL, _ kind: DatabaseStoreKind, _ numbers: Range<Int> = 0..<10) async throws {
        let store = kind.store(file)
        for number in numbers {
            try await store.add(number)
        }
        await store.close()
    }

    private func execute(_ sql: String, on file: URL) async throws {
        let queue = try DatabaseQueue(path: file.path)
        try await queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    private func tables(of file: URL) async throws -> [String] {
        try await DatabaseQueue(path: file.path)
            .read { try String.fetchAll($0, sql: "SELECT sql FROM sqlite_master WHERE sql NOT NULL") }
    }

    private func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    // MARK: Damage

    enum Damage: CaseIterable {
        case text, firstPage, half, allButHeader, unknownVersion, droppedTable, view, trigger
    }

    @Test(arguments: DatabaseStoreKind.allCases, Damage.allCases)
    func aDamagedFileIsSetAsideOnce(_ kind: DatabaseStoreKind, _ damage: Damage) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, kind)
            var data = try Data(contentsOf: file)
            let table = kind.table.name
            switch damage {
            case .text: data = Data(String(repeating: "This is no database.\n", count: 1_000).utf8)
            case .firstPage: data.replaceSubrange(100..<4_096, with: repeatElement(0x5a, count: 3_996))
            case .half: data = data.prefix(data.count / 2)
            case .allButHeader: data.replaceSubrange(4_096..., with: repeatElement(0xa5, count: data.count - 4_096))
            // SQLite then opens the file only for reading.
            case .unknownVersion: data[18] = 3
            case .droppedTable, .view, .trigger: break
            }
            try data.write(to: file)
            switch damage {
            case .droppedTable:
                try await execute("DROP TABLE \(table)", on: file)
            case .view:
                // Without a check, each read of this view would never end.
                try await execute(
                    """
                    ALTER TABLE \(table) RENAME TO other;
                    CREATE VIEW \(table) AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
                    SELECT other.* FROM other, n
                    """,
                    on: file
                )
            case .trigger:
                try await execute(
                    "CREATE TRIGGER mine AFTER INSERT ON \(table) BEGIN DELETE FROM \(table); END",
                    on: file
                )
            default: break
            }
            let store = kind.store(file)
            var errors: [String] = []
            for _ in 0..<4 {
                do {
                    _ = try await store.numbers()
                    try await store.add(70)
                } catch {
                    errors.append("\(error)")
                }
            }
            #expect(errors.count == 1, "\(errors)")
            #expect(errors.first?.contains(file.path + ".damaged-1") == true, "\(errors)")
            #expect(FileManager.default.fileExists(atPath: file.path + ".damaged-1"))
            #expect(try await kind.store(file).numbers() == [70])
        }
    }

    /// SQLite reports some errors of the disk as damage, and a missing permission or descriptor as a file for reading.
    @Test(arguments: DatabaseStoreKind.allCases, [ResultCode.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_READONLY])
    func anIntactFileIsKeptWhateverSQLiteReports(_ kind: DatabaseStoreKind, _ code: ResultCode) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let store = kind.store(file)
            try await store.add(1)
            let error = await #expect(throws: (any Error).self) {
                try await store.fail(with: DatabaseError(resultCode: code))
            }
            #expect(error.map { "\($0)" }?.contains(file.path) == true)
            #expect(try await store.numbers() == [1])
            try await store.add(2)
            #expect(try await kind.store(file).numbers() == [1, 2])
            #expect(try names(in: directory).allSatisfy { !$0.contains("damaged") })
        }
    }

    @Test func anIntactFileThatCannotBeReadWhenItIsOpenedIsKept() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, .outbox)
            let openings = Mutex(0)
            let settings = SQLiteOutboxStore.settings
            let handle = DatabaseHandle(file: file, settings: settings, failure: { fault, _ in fault }) { location in
                let isFirst = openings.withLock { count in
                    count += 1
                    return count == 1
                }
                guard !isFirst else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
                return try DatabaseFile(at: location, settings)
            }
            await #expect(throws: DatabaseFault.unreadable) { try await handle.open() }
            let count = try await handle.using { database in
                try await database.perform { try Int.fetchOne($0, sql: "SELECT count(*) FROM entries") }
            }
            #expect(count == 10)
        }
    }

    /// Wherever the damage is, no read crashes or returns other data, and the store works afterwards.
    @Test(arguments: DatabaseStoreKind.allCases, 0..<25)
    func changedBytesCauseNoCrashAndNoOtherData(_ kind: DatabaseStoreKind, _ seed: UInt64) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, kind)
            var data = try Data(contentsOf: file)
            var random = SeededRandom(seed: seed)
            // Not the header, where a changed byte may make the file one of another program.
            for _ in 0..<(seed % 2 == 0 ? 5 : 300) {
                let index = Int.random(in: 100..<data.count, using: &random)
                data[index] = UInt8.random(in: 0...255, using: &random)
            }
            try data.write(to: file)
            let store = kind.store(file)
            // `numbers()` compares the contents of each row.
            _ = try? await store.numbers()
            for _ in 0..<4 {
                try? await store.add(71)
                _ = try? await store.numbers()
            }
            #expect(try await store.numbers().contains(71))
        }
    }

    /// A damaged row costs no other row.
    @Test(arguments: DatabaseStoreKind.allCases, ["zeroblob(1000)", "x''", "'text'", "zeroblob(70000000)"])
    func aDamagedRowIsRemoved(_ kind: DatabaseStoreKind, value: String) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, kind)
            let (table, column) = kind.table
            try await execute(
                "UPDATE \(table) SET \(column) = \(value) WHERE rowid = (SELECT max(rowid) FROM \(table))",
                on: file
            )
            let store = kind.store(file)
            if kind == .cookies, value.contains("70000000") {
                // More than all cookies may have: the file is not one that a jar has written.
                await #expect(throws: CookieStorageError.self) { try await store.numbers() }
                return
            }
            #expect(try await store.numbers() == Set(0..<9))
            try await store.add(9)
            #expect(try await kind.store(file).numbers() == Set(0..<10))
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func aRowUnderTheNameOfAnotherIsDamaged(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, kind, 0..<2)
            let table = kind.table.name
            let columns =
                switch kind {
                case .cache: ["head", "body", "uuid", "checksum"]
                case .cookies: ["session", "checksum"]
                case .outbox: ["entry", "checksum"]
                case .sessions: ["session", "checksum"]
                }
            let first = "(SELECT rowid FROM \(table) ORDER BY rowid LIMIT 1)"
            let copies = columns.map { "\($0) = (SELECT \($0) FROM \(table) WHERE rowid = \(first))" }
            try await execute(
                "UPDATE \(table) SET \(copies.joined(separator: ", ")) WHERE rowid <> \(first)",
                on: file
            )
            #expect(try await kind.store(file).numbers() == [0])
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func theLastTwoDamagedFilesAreKept(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            for _ in 0..<4 {
                try Data("no database, but longer than a header is, which would be 100 bytes".utf8).write(to: file)
                await #expect(throws: (any Error).self) { try await kind.store(file).numbers() }
            }
            #expect(try names(in: directory) == ["store-lock", "store.damaged-3", "store.damaged-4"])
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func aLogOfAnotherFileIsNotUsed(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, kind)
            try Data(repeating: 0x37, count: 100_000).write(to: URL(fileURLWithPath: file.path + "-wal"))
            try Data(repeating: 0x73, count: 50_000).write(to: URL(fileURLWithPath: file.path + "-shm"))
            #expect(try await kind.store(file).numbers() == Set(0..<10))
        }
    }

    // MARK: Other files

    @Test(arguments: DatabaseStoreKind.allCases)
    func anOlderFileIsMigratedAndANewerOneIsLeftAlone(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let old = kind.store(file)
            try await old.add(1)
            let next = kind.schema.adding("ALTER TABLE \(kind.table.name) ADD COLUMN note TEXT")
            let new = kind.store(file, schema: next)
            #expect(try await new.numbers() == [1])
            // The store that has the file open notices it with the next write.
            let error = await #expect(throws: (any Error).self) { try await old.add(2) }
            #expect(error.map { "\($0)" }?.contains("format \(next.version)") == true)
            await #expect(throws: (any Error).self) { try await kind.store(file).numbers() }
            #expect(try await new.numbers() == [1])
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func aMigrationThatFailsLeavesTheFile(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            try await fill(file, kind)
            let next = kind.schema.adding("DROP TABLE \(kind.table.name); INSERT INTO nowhere VALUES (1)")
            await #expect(throws: (any Error).self) { try await kind.store(file, schema: next).numbers() }
            #expect(try await kind.store(file).numbers() == Set(0..<10))
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases, [true, false])
    func databasesOfOtherProgramsAreLeftAlone(_ kind: DatabaseStoreKind, isLibrarys: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "mine")
            if isLibrarys {
                // Each store refuses the files of the others.
                try await fill(file, kind == .outbox ? .cookies : .outbox)
            } else {
                try await execute("CREATE TABLE mine (a)", on: file)
            }
            let tables = try await tables(of: file)
            let error = await #expect(throws: (any Error).self) { try await kind.store(file).numbers() }
            #expect(error.map { "\($0)" }?.contains("database of another program") == true)
            #expect(try names(in: directory).filter { $0.contains("damaged") } == [])
            #expect(try await self.tables(of: file) == tables)
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func linksAreNotFollowed(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let (link, target) = (directory.appending(path: "link"), directory.appending(path: "target"))
            try Data("untouched".utf8).write(to: target)
            for suffix in ["-lock", "", "-wal", "-shm"] {
                let name = URL(fileURLWithPath: link.path + suffix)
                try FileManager.default.createSymbolicLink(at: name, withDestinationURL: target)
                await #expect(throws: (any Error).self) { try await kind.store(link).add(1) }
                try FileManager.default.removeItem(at: name)
            }
            #expect(try Data(contentsOf: target) == Data("untouched".utf8))
            try await kind.store(link).add(1)
        }
    }

    @Test func theClaimFollowsNoLink() async throws {
        try await withTemporaryDirectory { directory in
            let (file, target) = (directory.appending(path: "outbox"), directory.appending(path: "target"))
            try Data("untouched".utf8).write(to: target)
            let link = URL(fileURLWithPath: file.path + "-claim")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            await #expect(throws: OutboxStoreError.self) { try await SQLiteOutboxStore(file: file).claim() }
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func filesAreForTheirUserOnly(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "a/b/store")
            let store = kind.store(file)
            try await store.add(1)
            let folder = file.deletingLastPathComponent()
            #expect(try folder.permissions == 0o700)
            #expect(try names(in: folder) == ["store", "store-lock", "store-shm", "store-wal"])
            for name in try names(in: folder) {
                #expect(try folder.appending(path: name).permissions == 0o600, "\(name)")
            }
            await store.close()
            // A file with other permissions is changed.
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file.path)
            #expect(try await kind.store(file).numbers() == [1])
            #expect(try file.permissions == 0o600)
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func onlyFileURLsAreUsed(_ kind: DatabaseStoreKind) async throws {
        let url = try #require(URL(string: "https://a.example/store"))
        let error = await #expect(throws: (any Error).self) { try await kind.store(url).add(1) }
        #expect(error.map { "\($0)" }?.contains("needs a file URL (is https)") == true)
    }

    // MARK: Durability

    /// After a loss of power, a cache may miss its last entries.
    ///
    /// Cookies and requests must not be lost.
    @Test(arguments: [
        (DatabaseFile.Settings(label: "test", schema: .cache), 1), (SQLiteCookieStorage.settings, 2),
        (SQLiteOutboxStore.settings, 2),
    ])
    func commitsAreSynchronised(_ settings: DatabaseFile.Settings, mode: Int) async throws {
        try await withTemporaryDirectory { directory in
            let location = DatabaseLocation(path: directory.appending(path: "store").path)
            try location.prepareFiles()
            let file = try DatabaseFile(at: location, settings)
            let modes = try await file.perform { db in
                try ["synchronous", "secure_delete"].map { try Int.fetchOne(db, sql: "PRAGMA \($0)") }
            }
            // A secure deletion is complete (1), or done where it costs no further write (2).
            #expect(modes == [mode, mode == 2 ? 1 : 2])
        }
    }

    // MARK: Sharing

    @Test(arguments: DatabaseStoreKind.allCases)
    func aRemovedFileIsCreatedAgain(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appending(path: "folder")
            let file = folder.appending(path: "store")
            let store = kind.store(file)
            try await store.add(1)
            try FileManager.default.removeItem(at: folder)
            #expect(try await store.numbers() == [])
            try await store.add(2)
            try FileManager.default.removeItem(at: file)
            try await store.add(3)
            #expect(try await kind.store(file).numbers() == [3])
        }
    }

    @Test(arguments: [DatabaseStoreKind.cookies, .outbox])
    func aStoreWithTheDamagedFileOpenUsesTheNewOne(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let stores = [kind.store(file), kind.store(file)]
            try await stores[0].add(1)
            #expect(try await stores[1].numbers() == [1])
            try FileManager.default.moveItem(atPath: file.path, toPath: file.path + ".damaged-1")
            try await stores[0].add(2)
            #expect(try await stores[1].numbers() == [2])
        }
    }

    /// Another process moves the file while the transaction runs, so the row would be lost with the old file.
    @Test func aWriteToAReplacedFileIsRepeated() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let settings = SQLiteOutboxStore.settings
            let handle = DatabaseHandle(file: file, settings: settings, failure: { fault, _ in fault }) {
                try DatabaseFile(at: $0, settings)
            }
            let runs = Mutex(0)
            try await handle.using { database in
                try await database.writeInPlace { db in
                    try db.run(OutboxSQL.add, [1, Data("id".utf8), Data()])
                    if runs.withLock({
                        $0 += 1
                        return $0
                    }) == 1 {
                        try FileManager.default.moveItem(atPath: file.path, toPath: file.path + ".damaged-1")
                    }
                }
            }
            let count = try await handle.using { database in
                try await database.perform { try Int.fetchOne($0, sql: "SELECT count(*) FROM entries") }
            }
            #expect(count == 1)
            #expect(runs.withLock { $0 } == 2)
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func aLockedFileIsAnErrorAfterTheTimeLimit(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let store = kind.store(file, patience: .milliseconds(20))
            try await store.add(1)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: file.path, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let error = await #expect(throws: (any Error).self) { try await store.add(2) }
            #expect(error.map { "\($0)" }?.contains("has locked \(file.path) for too long") == true)
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await store.add(2)
            #expect(try await store.numbers() == [1, 2])
        }
    }

    /// Otherwise each write would wait as long as all earlier ones together.
    @Test(arguments: DatabaseStoreKind.allCases)
    func writesBehindAWriteThatFoundALockedFileFailAtOnce(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let store = kind.store(file, patience: .milliseconds(500))
            try await store.add(1)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: file.path, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let start = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for number in 2..<22 {
                    group.addTask { await #expect(throws: (any Error).self) { try await store.add(number) } }
                }
            }
            #expect(ContinuousClock.now - start < .seconds(6))
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await store.add(2)
            #expect(try await store.numbers().isSuperset(of: [1, 2]))
        }
    }

    /// A file that another process opens at the moment.
    @Test(arguments: DatabaseStoreKind.allCases)
    func callsBehindAnOpeningThatFoundALockFailAtOnce(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let store = kind.store(file, patience: .milliseconds(500))
            let location = DatabaseLocation(path: file.path)
            let (locked, gate) = (Suspension<Void>(), DispatchSemaphore(value: 0))
            let holder = Thread {
                try? location.locked(patience: .zero) {
                    locked.resume()
                    gate.wait()
                }
            }
            holder.start()
            try await locked.value()
            let start = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for number in 2..<22 {
                    group.addTask { await #expect(throws: (any Error).self) { try await store.add(number) } }
                }
            }
            #expect(ContinuousClock.now - start < .seconds(6))
            gate.signal()
            try await eventually("the file can be opened") { (try? await store.add(2)) != nil }
        }
    }

    @Test(arguments: [DatabaseStoreKind.cookies, .outbox])
    func aFullDiskIsAnErrorAndLosesNothing(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "store")
            let store = kind.store(file, pageLimit: 20)
            var stored = 0
            let error = await #expect(throws: (any Error).self) {
                while stored < 99 {
                    try await store.add(stored)
                    stored += 1
                }
            }
            #expect(error.map { "\($0)" }?.contains("no space left") == true)
            #expect(stored > 3)
            let numbers = try await kind.store(file).numbers()
            #expect(numbers == Set(0..<stored))
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func aWriteCompletesAlthoughItsTaskIsCancelled(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let store = kind.store(directory.appending(path: "store"))
            try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.add(1)
            }
            .value
            #expect(try await store.numbers() == [1])
        }
    }

    @Test(arguments: DatabaseStoreKind.allCases)
    func theCallersActorIsNotUsed(_ kind: DatabaseStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let store = kind.store(directory.appending(path: "store"))
            switch store {
            case let store as SQLiteCookieStorage:
                let (_, jobs) = try await CountingActor()
                    .run { _ in
                        try await store.save(CookieArchive(key: [], sessions: []))
                        _ = try await store.load()
                    }
                // The returns of the two calls.
                #expect(jobs <= 2)
            case let store as SQLiteOutboxStore:
                try await store.add(1)
                let id = try #require(try await store.ids().first)
                let (_, jobs) = try await CountingActor()
                    .run { _ in
                        try await store.update(OutboxEntry.Progress(), of: id)
                        _ = try await store.entry(id)
                    }
                #expect(jobs <= 2)
            default:
                // SQLiteCacheStoreIsolationTests
                break
            }
        }
    }
}

extension URL {
    fileprivate var permissions: Int? {
        get throws { try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int }
    }
}
#endif
