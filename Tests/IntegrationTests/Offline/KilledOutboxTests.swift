#if os(Linux)
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

#if SQLite
import NetworkingSQLite
#endif

/// Processes that fill and empty an outbox and are killed at any moment.
@Suite(.timeLimit(.minutes(20)))
struct KilledOutboxTests {
    enum StoreKind: String, CaseIterable {
        case file
        #if SQLite
        case sqlite
        #endif

        /// Creates a store on the same files as the other process.
        func store(in directory: URL) -> any OutboxStore {
            switch self {
            case .file: FileOutboxStore(directory: directory)
            #if SQLite
            case .sqlite: SQLiteOutboxStore(file: directory.appending(path: "outbox.sqlite"))
            #endif
            }
        }
    }

    /// Sends the entries that are left, and returns the number and the key of each request.
    private func rest(of store: any OutboxStore) async throws -> [String] {
        let transport = MockTransport { _ in .ok() }
        let outbox = Outbox(in: store, over: transport)
        #expect(try await outbox.flush() == 0)
        #expect(try await outbox.entries().isEmpty)
        return transport.requests.map { request in
            "sent \(request.path?.split(separator: "/").last ?? "") \(request.headerFields[.idempotencyKey] ?? "none")"
        }
    }

    /// The keys with which each request was sent.
    private func keys(in lines: [String]) -> [String: Set<Substring>] {
        var keys: [String: Set<Substring>] = [:]
        for parts in lines.map({ $0.split(separator: " ") }) where parts.first == "sent" && parts.count == 3 {
            keys[String(parts[1]), default: []].insert(parts[2])
        }
        return keys
    }

    @Test(arguments: StoreKind.allCases)
    func everyAcknowledgedRequestArrivesWithOneKeyDespiteKills(_ kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let box = directory.appending(path: "outbox")
            var lines: [String] = []
            for round in 0..<20 {
                let helper = try HelperProcess(
                    ["outbox", kind.rawValue, box.path, "\(round * 1_000)"],
                    output: directory.appending(path: "output-\(round)")
                )
                // Some are killed while they open the directory.
                let (status, printed) = try await helper.killed(afterLines: round * 7 % 41)
                #expect(status == SIGKILL)
                lines += printed
            }
            lines += try await rest(of: kind.store(in: box))
            let keys = keys(in: lines)
            let queued = lines.filter { $0.hasPrefix("queued ") }.map { String($0.dropFirst(7)) }
            #expect(queued.count > 50)
            #expect(queued.filter { keys[$0] == nil } == [], "acknowledged, but not sent")
            #expect(keys.keys.filter { keys[$0]?.count != 1 } == [], "sent with several keys")
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            "add.before", "add.after", "claim.before", "claim.after", "update.before", "update.after", "send.before",
            "send.after", "remove.before", "remove.after",
        ]
    )
    func killAtAStepLosesNothing(_ kind: StoreKind, step: String) async throws {
        try await withTemporaryDirectory { directory in
            let box = directory.appending(path: "outbox")
            let helper = try HelperProcess(
                ["stop", kind.rawValue, box.path, step],
                output: directory.appending(path: "output")
            )
            try await eventually("the process stops at \(step), after \(helper.lines)") {
                helper.lines.last == "at \(step)"
            }
            let (status, printed) = try await helper.killed(afterLines: 0)
            #expect(status == SIGKILL)
            let rest = try await rest(of: kind.store(in: box))
            let keys = keys(in: printed + rest)
            // The request was added before all steps but the first, and was removed before the last one.
            #expect(keys.count == (step == "add.before" ? 0 : 1))
            #expect(keys.values.allSatisfy { $0.count == 1 })
            #expect(rest.isEmpty == (step == "add.before" || step == "remove.after"))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func oneProcessSendsAtATime(_ kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let box = directory.appending(path: "outbox")
            let helper = try HelperProcess(
                ["stop", kind.rawValue, box.path, "send.after"],
                output: directory.appending(path: "output")
            )
            try await eventually("the process sends") { helper.lines.last == "at send.after" }
            let transport = MockTransport { _ in .ok() }
            let outbox = Outbox(in: kind.store(in: box), over: transport)
            try await outbox.enqueue(HTTPRequestData(scheme: "http", authority: "localhost", path: "/orders/2"))
            #expect(try await outbox.flush() == 2)
            #expect(transport.requests.isEmpty)
            _ = try await helper.killed(afterLines: 0)
            #expect(try await outbox.flush() == 0)
            #expect(transport.requests.map(\.path) == ["/orders/1", "/orders/2"])
        }
    }
}
#endif
