#if SQLite
import Foundation
import HTTPTypes
import Networking
import NetworkingConnectivity
import NetworkingSQLite
import NetworkingTesting
import TestSupport
import Testing

/// Files in `Tests/Stored`, which an earlier version of the library wrote.
@Suite(.timeLimit(.minutes(20)))
struct StoredFilesTests {
    private let folder = Repository.root.appending(path: "Tests/Stored")

    @Test func entryOfAnOutboxIsSentWithItsOptions() async throws {
        let name = "18ec2b60d6049f00-699b0a7321547f16.request"
        try await withTemporaryDirectory { directory in
            try FileManager.default.copyItem(at: folder.appending(path: name), to: directory.appending(path: name))
            let store = FileOutboxStore(directory: directory)
            let ids = try await store.ids()
            let id = try #require(ids.first)
            let request = try #require(try await store.entry(id)).request
            #expect((request.method, request.url?.absoluteString) == (.post, "https://api.example.com/orders?page=2"))
            #expect(request.headerFields[.idempotencyKey] == "\"f58ea88f1e031fd8ecef2a39a0c1b079\"")
            #expect(request.body?.data == Data("tea".utf8))
            #expect((request.timeout, request.deadline) == (.milliseconds(1_500), .seconds(60)))
            #expect((request.priority, request.route, request.isIdempotent) == (.high, "/orders", true))
            #expect(request.authenticationMethod == .anonymous)
            #expect(!request.allowsCellularAccess && request.allowsExpensiveAccess)

            let transport = MockTransport { _ in .ok() }
            var policy = OutboxPolicy()
            policy.maximumAge = nil
            #expect(try await Outbox(in: store, over: transport, policy: policy).flush() == 0)
            #expect(transport.requests.map(\.timeout) == [.milliseconds(1_500)])
        }
    }

    @Test func entriesOfACacheAreFound() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache.sqlite")
            try FileManager.default.copyItem(at: folder.appending(path: "cache.sqlite"), to: file)
            // The clock stands still, so that the cache waits for its store however slow the machine is.
            let network = MockTransport().cached(in: SQLiteCacheStore(file: file))
                .environment(\.clock, .manual(ManualClock(start: .now)))
            let response = try await network.environment(\.tenant, "blue").data(.lawful)
            #expect(response.isCached)
            #expect(response.text == "stored")
            #expect(try await network.data(.lawful.with { $0.timeout = .seconds(5) }).isCached)
            await #expect(throws: (any Error).self) { try await network.environment(\.tenant, "red").data(.lawful) }
        }
    }
}
#endif
