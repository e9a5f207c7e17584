import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FileOutboxStoreTests {
    private let order = HTTPRequestData.order

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

    @Test func directoryWithAnUnusableNameIsNoEmptyOutbox() async throws {
        try await withTemporaryDirectory { directory in
            let tooLong = directory.appending(path: String(repeating: "a", count: 300))
            await #expect(throws: OutboxStoreError.self) { try await FileOutboxStore(directory: tooLong).ids() }
        }
    }

    @Test func entryWithTheNameOfAnotherIsDamaged() async throws {
        try await withStore { store, outbox in
            let ids = [try await outbox.enqueue(order), try await outbox.enqueue(order)]
            let files = ids.map { store.directory.appending(path: "\($0).request") }
            try Data(contentsOf: files[0]).write(to: files[1])
            await #expect(throws: OutboxStoreError.self) { try await store.entry(ids[1]) }
            #expect(try await store.entry(ids[0]) != nil)
        }
    }

    @Test func damagedProgressIsIgnored() async throws {
        try await withStore { store, outbox in
            let id = try await outbox.enqueue(order)
            try Data("{".utf8).write(to: store.directory.appending(path: "\(id).progress"))
            #expect(try await store.entry(id)?.progress == OutboxEntry.Progress())
        }
    }

    @Test(.requires(.unprivilegedUser)) func failedClaimIsNotHeld() async throws {
        try await withStore { store, outbox in
            try await outbox.enqueue(order)
            func allow(_ permissions: Int) throws {
                let path = store.directory.path
                try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
            }
            // The lock can be opened, but the directory cannot be listed.
            try allow(0o300)
            await #expect(throws: OutboxStoreError.self) { try await store.claim() }
            try allow(0o700)
            #expect(try await FileOutboxStore(directory: store.directory).claim())
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
            // The progress of a removed entry is not written.
            try await store.update(OutboxEntry.Progress(), of: removed)
            #expect(try !names(store).contains("\(removed).progress"))
        }
    }
}
