import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingTransfers

/// Every wait for a store, a file or a lock, each with a store that never returns.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct StoreWaitTests {
    /// A store of each kind in which each call waits for the gate, without regard to cancellation.
    private final class Hung: CacheStore, OutboxStore, CookieStorage, SessionStorage, SharedSessionStorage {
        let gate = MockGate()
        let entryCostLimit = 1 << 20
        private let begun: Journal
        /// The methods that return without waiting.
        private let prompt: Set<String>

        init(_ begun: Journal, except prompt: Set<String>) {
            self.begun = begun
            self.prompt = prompt
        }

        private func hang(_ method: String = #function) async {
            guard !prompt.contains(method) else { return }
            begun.note(method)
            await Task.detached { [gate] in try? await gate.wait() }.value
        }

        // A cache store.
        func digestKey() async throws -> CacheDigestKey? {
            await hang()
            return nil
        }

        func changeNumber() async throws -> Int64? {
            await hang()
            return nil
        }

        func entries(for key: CacheKey) async throws -> [CachedEntry] {
            await hang()
            return []
        }

        func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
            await hang()
            return 0
        }

        func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws { await hang() }
        func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws { await hang() }

        // A store of an outbox.
        func ids() async throws -> [OutboxEntry.ID] {
            await hang()
            return []
        }

        func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
            await hang()
            return nil
        }

        func add(_ entry: OutboxEntry) async throws { await hang() }
        func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws { await hang() }

        func remove(_ id: OutboxEntry.ID) async throws -> Bool {
            await hang()
            return false
        }

        func claim() async throws -> Bool {
            await hang()
            return true
        }

        func release() async { await hang() }

        // A storage of cookies.
        func load() async throws -> CookieArchive? {
            await hang()
            return nil
        }

        func save(_ archive: CookieArchive) async throws { await hang() }

        // A storage of sessions.
        func session(for userID: String) -> Session? { nil }
        func save(_ session: Session) {}
        func removeSession(for userID: String) {}
        func userIDs() -> [String] { [] }

        func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
            await hang()
            return .acquired(SessionLock {})
        }
    }

    enum Wait: String, CaseIterable {
        // A cache.
        case key, number, entries, removal, removalForAPrincipal, removalOfAll, flushOfCache
        // An outbox.
        case enqueue, list, cancellation, retry, flush, run
        // Cookies and sessions.
        case jar, flushOfCookies, sessionLock, refresh
        // Files.
        case body, bodyLength, partialFile
    }

    /// A body on a disk that never returns.
    private struct HungBody: BodySource {
        let hang: @Sendable () -> Void
        let hangsAtLength: Bool

        var length: Int64? {
            if hangsAtLength { hang() }
            return nil
        }

        var isOnDisk: Bool { true }
        var isReplayable: Bool { true }
        var identity: String? { nil }

        func open() async throws -> any BodyReader { Reader(body: self) }

        private struct Reader: DiskReader {
            let body: HungBody

            mutating func nextNow() throws -> Data? {
                body.hang()
                return nil
            }
        }
    }

    private let clock = ManualClock()
    private let begun = Journal()
    private let disk = DispatchSemaphore(value: 0)

    private let transport = MockTransport { request in
        if let body = request.body { _ = try await body.collect() }
        return .ok(headerFields: [.cacheControl: "max-age=100"])
    }

    /// Blocks a thread of the disk.
    private var hang: @Sendable () -> Void {
        { [begun, disk] in
            begun.note("disk")
            disk.wait()
        }
    }

    private func prompt(for wait: Wait) -> Set<String> {
        switch wait {
        case .number: ["digestKey()", "entries(for:)"]
        case .entries: ["digestKey()"]
        case .flushOfCookies: ["load()"]
        default: []
        }
    }

    /// Returns an operation that waits for ever.
    private func operation(
        _ wait: Wait,
        in directory: URL,
        _ store: Hung
    ) async throws -> @Sendable () async throws -> Void {
        let cache = ResponseCache(in: store)
        let network = transport.cached(in: cache)
        let outbox = Outbox(in: store, over: transport)
        let id = try #require(OutboxEntry.ID("0000000000000001-0000000000000001"))
        let url = try #require(HTTPRequestData.lawful.url)
        switch wait {
        case .key, .number, .entries:
            return { _ = try await network.data(.lawful.with { $0.query["api_key"] = "emily" }) }
        case .removal: return { try await cache.remove(url: url) }
        case .removalForAPrincipal: return { try await cache.remove(principal: Principal(id: "a")) }
        case .removalOfAll: return { try await cache.removeAll() }
        case .flushOfCache:
            // Cancelled, so that the response does not wait for its store.
            let call = Task { try await network.data(.lawful.with { $0.method = .put }) }
            try await eventually("the response waits for its store") { !begun.entries.isEmpty }
            call.cancel()
            _ = await call.result
            return { try await cache.flush() }
        case .enqueue: return { _ = try await outbox.enqueue(.order) }
        case .list: return { _ = try await outbox.entries() }
        case .cancellation: return { _ = try await outbox.cancel(id) }
        case .retry: return { _ = try await outbox.retry(id) }
        case .flush: return { _ = try await outbox.flush() }
        case .run: return { try await outbox.run() }
        case .jar: return { _ = try await CookieJar(in: store) }
        case .flushOfCookies:
            let jar = try await CookieJar(in: store)
            try jar.set(
                Cookie(name: "a", value: "b", domain: "a.example", expires: clock.date + 100, created: clock.date)
            )
            return { try await jar.flush() }
        case .sessionLock:
            let storage = FileSessionStorage(directory: directory)
            let lock = try await storage.lockSession(for: "emily")
            begun.note("lock")
            return {
                defer { lock.release() }
                _ = try await storage.lockSession(for: "emily")
            }
        case .refresh:
            let server = TokenServer()
            let tokens = TokenStore(server.session(expiring: .distantPast), in: store, delegate: server.delegate)
            let network = transport.authenticated(with: tokens).server(authority: "a.example")
            return { _ = try await network.data(.get("a")) }
        case .body, .bodyLength:
            let body = HungBody(hang: hang, hangsAtLength: wait == .bodyLength)
            let request = HTTPRequestData.lawful.with {
                $0.method = .put
                $0.body = RequestBody(body, contentType: "text/plain")
            }
            return { [transport] in _ = try await transport.data(request) }
        case .partialFile:
            let part = try await PartialFile.open(at: directory.appending(path: "part").path, for: "a", .resume)
            return { [hang] in try await part.disk.run(until: nil, hang) }
        }
    }

    @Test(arguments: Wait.allCases, ["cancelled", "limit", "deadline"])
    func waitEndsWithItsCaller(wait: Wait, end: String) async throws {
        try await withTemporaryDirectory { directory in
            let store = Hung(begun, except: prompt(for: wait))
            defer {
                store.gate.open()
                disk.signal()
            }
            var environment = NetworkEnvironment.current
            environment.clock = .manual(clock)
            try await withEnvironment(environment) {
                let operation = try await operation(wait, in: directory, store)
                let limit = ExchangeLimit(until: .milliseconds(500), on: .manual(clock))
                let call = Task {
                    if end == "limit" {
                        try await limit.run { try await operation() }
                    } else if end == "deadline" {
                        _ = try await Running(operation: operation).deadline(.milliseconds(500)).data(.lawful)
                    } else {
                        try await operation()
                    }
                }
                try await eventually("the call waits") { !begun.entries.isEmpty }
                if end == "cancelled" {
                    call.cancel()
                } else {
                    try await clock.advance(by: .milliseconds(500), afterSleepers: 1)
                }
                let error = await #expect(throws: (any Error).self) { try await call.value }
                if end == "deadline" {
                    #expect((error as? NetworkingError)?.kind == .deadline)
                } else {
                    #expect(error is CancellationError)
                    #expect(limit.isReached == (end == "limit"))
                }
            }
        }
    }

    /// A transport that runs an operation for each request.
    private struct Running: NetworkingTransport {
        let operation: @Sendable () async throws -> Void

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            try await operation()
            return HTTPResponseData(request: request)
        }
    }

    /// Abandoned work continues, and its file is closed when it ends.
    @Test func partialFileIsClosedAfterAWriteThatNoCallerWaitsFor() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "part").path
            let part = try await PartialFile.open(at: path, for: "a", .resume)
            try await part.begin(DownloadRecord(resource: "a", validator: nil, length: nil))
            let calls: [@Sendable () async throws -> Void] = [
                { [hang] in try await part.disk.run(until: nil, hang) },
                { try await part.write(Data("late".utf8), at: 0) },
                {
                    await part.close(isKept: true)
                    try Task.checkCancellation()
                },
            ]
            for operation in calls {
                let call = Task { try await operation() }
                try await eventually("the disk is busy") { !begun.entries.isEmpty }
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            // The file is locked until its last change.
            await #expect(throws: DownloadStateError.self) {
                try await PartialFile.open(at: path, for: "a", .resume)
            }
            disk.signal()
            try await eventually("the file is closed") {
                (try? await PartialFile.open(at: path, for: "a", .discard)) != nil
            }
            #expect(try Data(contentsOf: URL(filePath: path)) == Data("late".utf8))
        }
    }
}
