import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingConnectivity

#if SQLite
import NetworkingSQLite
#endif

@Suite(.serialized, .timeLimit(.minutes(20)))
struct OutboxStoreConformanceTests {
    private let order = HTTPRequestData.order

    private func entry(_ number: UInt64, principal: Principal? = nil) -> OutboxEntry {
        OutboxEntry(
            id: OutboxEntry.ID(at: number, 0),
            request: order,
            principal: principal,
            server: "https://a.example:443",
            date: Date(timeIntervalSince1970: 1_700_000_000)
        )
    }

    /// Runs a test with a store in a directory that does not exist yet.
    private func withStore(
        _ kind: OutboxStoreKind,
        _ body: nonisolated(nonsending) (any OutboxStore) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await body(kind.store(in: directory.appending(path: "a/b")))
        }
    }

    @Test(arguments: OutboxStoreKind.allCases)
    func returnsEntriesInTheOrderOfTheirIdentifiers(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            #expect(try await store.ids().isEmpty)
            for number: UInt64 in [3, 1, 256, 2, 1 << 60] {
                try await store.add(entry(number))
            }
            #expect(try await store.ids().map(\.nanoseconds) == [1, 2, 3, 256, 1 << 60])
            #expect(try await store.remove(entry(2).id))
            #expect(try await store.ids().map(\.nanoseconds) == [1, 3, 256, 1 << 60])
        }
    }

    @Test(arguments: OutboxStoreKind.allCases)
    func returnsAnEntryAsItWasAdded(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            let added = entry(7, principal: Principal(id: "emily"))
            try await store.add(added)
            let found = try #require(try await store.entry(added.id))
            #expect(found.id == added.id && found.principal == added.principal && found.date == added.date)
            #expect(found.server == added.server)
            #expect(found.request.body == order.body && found.request.path == "/orders")
            #expect(found.progress == OutboxEntry.Progress())
            #expect(try await store.entry(entry(8).id) == nil)
        }
    }

    @Test(arguments: OutboxStoreKind.allCases)
    func replacesTheProgress(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            try await store.add(entry(1))
            try await store.add(entry(2))
            var progress = OutboxEntry.Progress()
            (progress.attempts, progress.isDead, progress.lastFailure) = (3, true, "status 404")
            progress.notBefore = Date(timeIntervalSince1970: 1_700_000_000)
            try await store.update(progress, of: entry(1).id)
            #expect(try await store.entry(entry(1).id)?.progress == progress)
            #expect(try await store.entry(entry(2).id)?.progress == OutboxEntry.Progress())
            try await store.update(OutboxEntry.Progress(), of: entry(1).id)
            #expect(try await store.entry(entry(1).id)?.progress == OutboxEntry.Progress())
        }
    }

    @Test(arguments: OutboxStoreKind.allCases)
    func aRemovedEntryIsGone(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            let id = entry(1).id
            try await store.add(entry(1))
            #expect(try await store.remove(id))
            #expect(try await !store.remove(id))
            var progress = OutboxEntry.Progress()
            progress.attempts = 1
            try await store.update(progress, of: id)
            #expect(try await store.entry(id) == nil)
            #expect(try await store.ids().isEmpty)
            // Progress that arrives late must not apply to a new entry either.
            try await store.add(entry(1))
            #expect(try await store.entry(id)?.progress == OutboxEntry.Progress())
        }
    }

    @Test(arguments: OutboxStoreKind.allCases)
    func theClaimIsExclusiveUntilItIsReleased(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            let claims = [try await store.claim(), try await store.claim()]
            #expect(claims == [true, false])
            await store.release()
            let claim = try await store.claim()
            #expect(claim)
            await store.release()
        }
    }

    @Test(arguments: OutboxStoreKind.allCases)
    func refusesARequestThatCannotBeStored(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            let outbox = Outbox(in: store, over: MockTransport { _ in .ok() })
            let stream = order.with { $0.body = .stream { AsyncStream<Data> { $0.finish() } } }
            await #expect(throws: (any Error).self) { try await outbox.enqueue(stream) }
            let ids = try await store.ids()
            #expect(ids.isEmpty)
        }
    }

    // MARK: On disk

    @Test(arguments: OutboxStoreKind.onDisk)
    func entriesAndProgressSurviveTheObject(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let outbox = Outbox(in: kind.store(in: directory), over: MockTransport { _ in .ok() })
            let id = try await outbox.enqueue(order)
            var progress = OutboxEntry.Progress()
            (progress.attempts, progress.lastFailure) = (3, "status 503")
            try await kind.store(in: directory).update(progress, of: id)

            let other = kind.store(in: directory)
            #expect(try await other.ids() == [id])
            let entry = try #require(try await other.entry(id))
            #expect(entry.progress == progress)
            #expect(entry.request.body == order.body)
            #expect(entry.request.headerFields.contains(.idempotencyKey))
            #expect(abs(entry.date.timeIntervalSinceNow) < 60)
            #expect(try await other.remove(id))
            #expect(try await kind.store(in: directory).ids().isEmpty)
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func twoObjectsShareTheEntriesAndTheClaim(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let stores = [kind.store(in: directory), kind.store(in: directory)]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number: UInt64 in 0..<40 {
                    group.addTask { try await stores[Int(number % 2)].add(entry(number)) }
                }
                try await group.waitForAll()
            }
            for store in stores {
                #expect(try await store.ids().count == 40)
            }
            var claims: [Bool] = []
            claims.append(try await stores[0].claim())
            claims.append(try await stores[1].claim())
            await stores[0].release()
            claims.append(try await stores[1].claim())
            await stores[1].release()
            #expect(claims == [true, false, true])
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func filesAreForTheirUserOnly(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let box = directory.appending(path: "a/b")
            let store = kind.store(in: box)
            try await store.add(entry(1))
            try await store.update(OutboxEntry.Progress(), of: entry(1).id)
            #expect(try await store.claim())
            let names = try FileManager.default.contentsOfDirectory(atPath: box.path)
            #expect(names.count >= 3)
            for name in names {
                let attributes = try FileManager.default.attributesOfItem(atPath: box.appending(path: name).path)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: box.path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
            await store.release()
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func anEntryThatIsTooLongIsRefused(_ kind: OutboxStoreKind) async throws {
        try await withStore(kind) { store in
            let outbox = Outbox(in: store, over: MockTransport { _ in .ok() })
            let long = order.with { $0.body = .data(Data(count: 50 << 20)) }
            await #expect(throws: OutboxStoreError.self) { try await outbox.enqueue(long) }
            let ids = try await store.ids()
            #expect(ids.isEmpty)
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func anUnusableDirectoryIsAnError(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data().write(to: file)
            let outbox = Outbox(in: kind.store(in: file), over: MockTransport { _ in .ok() })
            let error = await #expect(throws: OutboxStoreError.self) { try await outbox.enqueue(order) }
            #expect(error.map { "\($0)" }?.contains(file.path) == true)
            #expect(error?.localizedDescription == "Changes that were not sent yet could not be read or saved.")
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func aRestartedOutboxSendsWithTheSameKey(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let failing = MockTransport { _ in MockResponse(status: .serviceUnavailable) }
            var policy = OutboxPolicy()
            policy.baseDelay = .zero
            let first = Outbox(in: kind.store(in: directory), over: failing, policy: policy)
            try await first.enqueue(order)
            #expect(try await first.flush() == 1)

            let transport = MockTransport { _ in .ok() }
            let second = Outbox(in: kind.store(in: directory), over: transport, policy: policy)
            #expect(try await second.flush() == 0)
            let keys = (failing.requests + transport.requests).map { $0.headerFields[.idempotencyKey] }
            #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func aBodyFromAFileIsSent(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "film")
            try Data("film".utf8).write(to: file)
            let transport = MockTransport { _ in .ok() }
            let outbox = Outbox(in: kind.store(in: directory.appending(path: "box")), over: transport)
            try await outbox.enqueue(order.with { $0.body = .file(file, contentType: "video/mp4") })
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.first?.body?.data == Data("film".utf8))
        }
    }
}
