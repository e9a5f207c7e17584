import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FileOutboxStoreTests {
    private let order = HTTPRequestData(
        method: .post,
        scheme: "http",
        authority: "localhost",
        path: "/orders",
        body: .json(["id": 7])
    )

    /// Runs a test with a store in a directory that does not exist yet.
    private func withStore(_ body: nonisolated(nonsending) (FileOutboxStore, Outbox) async throws -> Void) async throws
    {
        try await withTemporaryDirectory { directory in
            let store = FileOutboxStore(directory: directory.appending(path: "a/b"))
            try await body(store, Outbox(in: store, over: MockTransport { _ in .ok() }))
        }
    }

    private func names(_ store: FileOutboxStore) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: store.directory.path).sorted()
    }

    @Test func entriesSurviveTheObject() async throws {
        try await withStore { store, outbox in
            #expect(try await store.ids().isEmpty)
            let id = try await outbox.enqueue(order)
            var progress = OutboxEntry.Progress()
            (progress.attempts, progress.isDead, progress.lastFailure) = (3, true, "status 404")
            progress.notBefore = Date(timeIntervalSince1970: 1_700_000_000)
            try await store.update(progress, of: id)

            let other = FileOutboxStore(directory: store.directory)
            #expect(try await other.ids() == [id])
            let entry = try #require(try await other.entry(id))
            #expect(entry.progress == progress)
            #expect(entry.request.body == order.body)
            #expect(entry.request.headerFields.contains(.idempotencyKey))
            #expect(abs(entry.date.timeIntervalSinceNow) < 60)
            #expect(try await other.remove(id))
            #expect(try await !other.remove(id))
            #expect(try await other.entry(id) == nil)
            #expect(try names(store).isEmpty)
        }
    }

    @Test func filesAreForTheirUserOnly() async throws {
        try await withStore { store, outbox in
            let id = try await outbox.enqueue(order)
            try await store.update(OutboxEntry.Progress(), of: id)
            #expect(try await store.claim())
            for name in try names(store) {
                let path = store.directory.appending(path: name).path
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
            #expect(try names(store).count == 3)
            let directory = try FileManager.default.attributesOfItem(atPath: store.directory.path)
            #expect(directory[.posixPermissions] as? Int == 0o700)
            store.release()
        }
    }

    @Test(arguments: ["", "{", "null", #"{"id":"0","request":{}}"#])
    func damagedEntryIsSetAsideAndReportedOnce(content: String) async throws {
        try await withStore { store, outbox in
            let damaged = try await outbox.enqueue(order)
            try await outbox.enqueue(order)
            let file = store.directory.appending(path: "\(damaged).request")
            try Data(content.utf8).write(to: file)
            var changes = outbox.changes.makeAsyncIterator()

            #expect(try await outbox.flush() == 0)
            let change = await changes.next()
            #expect(change?.id == damaged)
            if case .damaged = change?.state {} else { Issue.record("\(String(describing: change))") }
            #expect(try await store.ids().isEmpty)
            #expect(try names(store) == ["\(damaged).request.damaged", "lock"])
        }
    }

    @Test func entryUnderTheNameOfAnotherIsDamaged() async throws {
        try await withStore { store, outbox in
            let ids = [try await outbox.enqueue(order), try await outbox.enqueue(order)]
            let files = ids.map { store.directory.appending(path: "\($0).request") }
            try Data(contentsOf: files[0]).write(to: files[1])
            await #expect(throws: OutboxStoreError.self) { try await store.entry(ids[1]) }
            #expect(try await store.entry(ids[0]) != nil)
        }
    }

    @Test func damagedProgressCountsAsNone() async throws {
        try await withStore { store, outbox in
            let id = try await outbox.enqueue(order)
            try Data("{".utf8).write(to: store.directory.appending(path: "\(id).progress"))
            #expect(try await store.entry(id)?.progress == OutboxEntry.Progress())
        }
    }

    @Test func otherFilesAreIgnoredAndLeftoversRemoved() async throws {
        try await withStore { store, outbox in
            let id = try await outbox.enqueue(order)
            let removed = try await outbox.enqueue(order)
            try await store.update(OutboxEntry.Progress(), of: removed)
            try FileManager.default.removeItem(at: store.directory.appending(path: "\(removed).request"))
            try Data().write(to: store.directory.appending(path: "notes.txt"))
            let old = store.directory.appending(path: "\(removed).request.new-1")
            try Data().write(to: old)
            try FileManager.default.setAttributes([.modificationDate: Date.distantPast], ofItemAtPath: old.path)
            try Data().write(to: store.directory.appending(path: "\(removed).request.new-2"))
            #expect(try await store.ids() == [id])
            #expect(try await store.claim())
            store.release()
            #expect(try names(store) == ["\(id).request", "\(removed).request.new-2", "lock", "notes.txt"].sorted())
            // Progress of an entry that is gone is not written.
            try await store.update(OutboxEntry.Progress(), of: removed)
            #expect(try !names(store).contains("\(removed).progress"))
        }
    }

    @Test func oneObjectHasTheClaim() async throws {
        try await withStore { store, _ in
            let other = FileOutboxStore(directory: store.directory)
            let first = try await store.claim()
            let second = try await other.claim()
            #expect(first && !second)
            store.release()
            let third = try await other.claim()
            #expect(third)
            other.release()
        }
    }

    @Test func unusableDirectoryIsAnError() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data().write(to: file)
            let outbox = Outbox(in: FileOutboxStore(directory: file), over: MockTransport { _ in .ok() })
            let error = await #expect(throws: OutboxStoreError.self) { try await outbox.enqueue(order) }
            #expect(error.map { "\($0)" }?.contains(file.path) == true)
            #expect(error?.localizedDescription == "The requests that wait to be sent could not be read or saved.")
        }
    }

    @Test func entryThatIsTooLongIsRefused() async throws {
        try await withStore { store, outbox in
            let long = order.with { $0.body = .data(Data(count: 50 << 20)) }
            await #expect(throws: OutboxStoreError.self) { try await outbox.enqueue(long) }
            let ids = try await store.ids()
            #expect(ids.isEmpty)
        }
    }

    @Test func bodyFromAFileIsSent() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "film")
            try Data("film".utf8).write(to: file)
            let transport = MockTransport { _ in .ok() }
            let outbox = Outbox(in: FileOutboxStore(directory: directory.appending(path: "box")), over: transport)
            try await outbox.enqueue(order.with { $0.body = .file(file, contentType: "video/mp4") })
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.first?.body?.data == Data("film".utf8))
        }
    }
}
