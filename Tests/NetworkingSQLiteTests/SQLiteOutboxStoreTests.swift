#if SQLite
import Foundation
import GRDB
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingSQLite

/// Damaged rows and files.
///
/// ``OutboxStoreConformanceTests`` and ``DatabaseFileTests`` test everything else.
@Suite(.timeLimit(.minutes(20)))
struct SQLiteOutboxStoreTests {
    private func order(_ text: String = "tea") -> HTTPRequestData {
        HTTPRequestData(method: .post, scheme: "http", authority: "localhost", path: "/orders", body: .json([text]))
    }

    private func execute(_ sql: String, on file: URL) async throws {
        try await DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
    }

    @Test(arguments: ["entry = x'7b'", "entry = substr(entry, 2)", "checksum = checksum + 1", "id = zeroblob(33)"])
    func aDamagedEntryIsReportedOnceAndKept(change: String) async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteOutboxStore(file: directory.appending(path: "outbox"))
            let transport = MockTransport { _ in .ok() }
            let outbox = Outbox(in: store, over: transport)
            let damaged = try await outbox.enqueue(order("tea"))
            try await outbox.enqueue(order("milk"))
            try await execute("UPDATE entries SET \(change) WHERE number = 1", on: store.file)
            var changes = outbox.changes.makeAsyncIterator()

            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.map { $0.body } == [order("milk").body])
            let ids = try await store.ids()
            #expect(ids.isEmpty)
            let count = try await DatabaseQueue(path: store.file.path)
                .read { try Int.fetchOne($0, sql: "SELECT count(*) FROM entries") }
            #expect(count == 1)
            // An identifier that is not text is no identifier, so nothing reports it.
            guard !change.hasPrefix("id") else { return }
            let first = await changes.next()
            #expect(first?.id == damaged)
            if case .damaged = first?.state {} else { Issue.record("\(String(describing: first))") }
            #expect(try await store.entry(damaged) == nil)
            let wasRemoved = try await store.remove(damaged)
            #expect(!wasRemoved)
        }
    }

    @Test(arguments: ["x'7b'", "zeroblob(100000)", "'text'", "7"])
    func damagedProgressCountsAsNone(value: String) async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteOutboxStore(file: directory.appending(path: "outbox"))
            let id = try await Outbox(in: store, over: MockTransport { _ in .ok() }).enqueue(order())
            try await execute("UPDATE entries SET progress = \(value)", on: store.file)
            let entry = try await store.entry(id)
            #expect(entry?.progress == OutboxEntry.Progress())
        }
    }

    @Test func aDamagedFileIsReportedToTheOutbox() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "outbox")
            try Data(String(repeating: "This is no database.\n", count: 1_000).utf8).write(to: file)
            let transport = MockTransport { _ in .ok() }
            let outbox = Outbox(in: SQLiteOutboxStore(file: file), over: transport)
            let error = await #expect(throws: OutboxStoreError.self) { try await outbox.flush() }
            guard case .fileDamaged(let moved?) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(moved.path == file.path + ".damaged-1")
            #expect(error?.description.contains(moved.path) == true)
            #expect(OutboxStoreError.fileDamaged(movedTo: nil).description.contains("lost"))
            try await outbox.enqueue(order())
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.count == 1)
        }
    }

    @Test func sentBodiesLeaveTheFiles() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "outbox")
            let outbox = Outbox(in: SQLiteOutboxStore(file: file), over: MockTransport { _ in .ok() })
            for _ in 0..<20 {
                try await outbox.enqueue(order(String(repeating: "confidential ", count: 1_000)))
            }
            // Bodies are stored as Base64.
            let text = Data(Data("confidential ".utf8).base64EncodedString().prefix(12).utf8)
            func isFound() throws -> Bool {
                try FileManager.default.contentsOfDirectory(atPath: directory.path)
                    .contains { try Data(contentsOf: directory.appending(path: $0)).range(of: text) != nil }
            }
            #expect(try isFound())
            #expect(try await outbox.flush() == 0)
            #expect(try !isFound())
        }
    }
}
#endif
