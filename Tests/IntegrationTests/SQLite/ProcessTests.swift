#if SQLite && (os(Linux) || os(macOS))
import Foundation
import NetworkingTesting
import Networking
import Synchronization
import Testing

@testable import NetworkingSQLite
@testable import SQLiteWriter

/// Several processes that share a file, some of which are killed during a write.
@Suite(.timeLimit(.minutes(15)))
struct ProcessTests {
    @Test func acknowledgedWritesSurviveFiftyKills() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            var acknowledged: [Int] = []
            for round in 0..<50 {
                // Some writers are killed while they open the file.
                let count = round * 7 % 23
                let writer = try Writer(file, first: round * 1000, count: 0)
                let (status, new) = try await writer.killed(after: count)
                #expect(status == SIGKILL && new.count >= count)
                acknowledged += new
                let store = SQLiteCacheStore(file: file, costLimit: 1 << 30) { Issue.record($0) }
                try await expectWhole(new, in: store)
                // The entry of the interrupted write is either absent or complete.
                let next = round * 1000 + new.count
                let last = try await store.entries(for: SQLiteWriter.key(next))
                #expect(last.isEmpty || last == [SQLiteWriter.entry(next)])
            }
            try await expectWhole(acknowledged, in: SQLiteCacheStore(file: file, costLimit: 1 << 30))
        }
    }

    /// A save of several rows happens completely or not at all.
    @Test func savedCookiesSurviveThirtyKills() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cookies")
            var last = -1
            for round in 0..<30 {
                let first = (round + 1) * 1_000
                let writer = try Writer(file, first: first, count: 0, store: "cookies")
                let (status, acknowledged) = try await writer.killed(after: round * 7 % 23)
                #expect(status == SIGKILL)
                last = acknowledged.last ?? last
                let archive = try await SQLiteCookieStorage(file: file).load()
                // The save in which the process was killed may have happened.
                let possible = [last, last + 1, first].filter { $0 >= 0 }.map { SQLiteWriter.archive($0) }
                #expect(archive.map { possible.contains($0) } ?? (last == -1), "round \(round)")
            }
            #expect(last > 0)
        }
    }

    @Test func processesWriteConcurrently() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let store = SQLiteCacheStore(file: file, costLimit: 1 << 30)
            // The writers also create the file at the same time.
            let writers = try [0, 1000].map { try Writer(file, first: $0, count: 200) }
            for number in 2000..<2200 {
                try await store.store(SQLiteWriter.entry(number), for: SQLiteWriter.key(number))
            }
            for (writer, first) in zip(writers, [0, 1000]) {
                let (status, acknowledged) = await writer.end()
                #expect(status == 0 && acknowledged == Array(first..<first + 200))
                try await expectWhole(acknowledged, in: store)
            }
            try await expectWhole(Array(2000..<2200), in: store)
            #expect(try await store.count == 600)
        }
    }

    /// The bound in the documentation: 16 MiB and one write of each process.
    @Test func logStaysBoundedWhileProcessesWriteWithoutAPause() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let writers = try (0..<3).map { try Writer(file, first: $0 * 100_000, count: 2_500) }
            let watch = FileWatch(file.path + "-wal")
            for writer in writers {
                #expect(await writer.end().status == 0)
            }
            let length = watch.end()
            #expect(length > 8 << 20)
            #expect(length < 17 << 20)
        }
    }

    /// Without this, a killed test would leave a process that writes forever.
    @Test func writerEndsWithItsParent() async throws {
        try await withTemporaryDirectory { directory in
            let writer = try Writer(directory.appending(path: "cache"), first: 0, count: 0)
            try writer.abandon()
            #expect(await writer.end().status == 1)
        }
    }

    /// Checks that the store contains complete entries with the given numbers.
    private func expectWhole(_ numbers: [Int], in store: SQLiteCacheStore) async throws {
        for number in numbers {
            let found = try await store.entries(for: SQLiteWriter.key(number))
            #expect(found == [SQLiteWriter.entry(number)], "\(number)")
        }
    }
}

/// Records the greatest length of a file, on a separate thread, because other tests may keep the concurrency pool busy
/// for seconds.
private final class FileWatch: Sendable {
    private struct State {
        var longest = 0
        var isOver = false
    }

    private let state = Mutex(State())

    init(_ path: String) {
        let watch = self
        Thread.detachNewThread {
            while !watch.isOver {
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                watch.note(attributes?[.size] as? Int ?? 0)
                sched_yield()
            }
        }
    }

    private var isOver: Bool {
        state.withLock { $0.isOver }
    }

    private func note(_ length: Int) {
        state.withLock { $0.longest = max($0.longest, length) }
    }

    /// Stops the observation and returns the greatest length in bytes.
    func end() -> Int {
        state.withLock { state in
            state.isOver = true
            return state.longest
        }
    }
}
#endif
