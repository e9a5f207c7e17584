#if Valkey
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import NetworkingValkey
import Synchronization
import TestSupport
import Testing

/// What happens to a server while requests depend on it, and ends again.
enum Outage: String, CaseIterable, Sendable {
    /// It is killed, and started again.
    case killed
    /// It is stopped, so that its connections hang.
    case stopped
    /// Each reply takes 100 milliseconds.
    case slow
    /// It has no memory for another write.
    case full
    /// It sends bytes that are no reply.
    case garbage
    /// Its connections end within a reply.
    case cut

    /// The options of the server, which keeps its keys when it is killed.
    static let options = ["--appendonly", "yes", "--appendfsync", "always"]

    /// How long an outage takes: a second, or that of `OUTAGE_SECONDS=5 swift test --enable-all-traits --filter
    /// OutageTests`, which also checks the time limits themselves.
    static let seconds = ProcessInfo.processInfo.environment["OUTAGE_SECONDS"].flatMap { Double($0) }
    static let duration = Duration.seconds(seconds ?? 1)

    func begin(_ server: ValkeyServer, _ proxy: FaultyProxy) throws {
        switch self {
        case .killed: server.kill()
        case .stopped: server.pause()
        case .slow: proxy.set(.delayed(milliseconds: 100))
        case .full: try server.command("CONFIG", "SET", "maxmemory", "1")
        case .garbage: proxy.set(.garbage)
        case .cut: proxy.set(.cut)
        }
    }

    func end(_ server: ValkeyServer, _ proxy: FaultyProxy) async throws {
        switch self {
        case .killed: try await server.start()
        case .stopped: server.resume()
        case .full: try server.command("CONFIG", "SET", "maxmemory", "0")
        case .slow, .garbage, .cut: proxy.set(nil)
        }
    }

    /// Runs the body with a client of a server, and passes it a closure that runs its own body during the outage.
    func run(
        _ body: (
            ValkeyClient, _ during: (_ work: () async throws -> Void) async throws -> Void
        ) async throws -> Void
    ) async throws {
        try await withValkeyServer(Self.options) { server in
            try await FaultyProxy.run(before: server.port) { proxy in
                // With the time limits that an app has.
                let address = self == .killed || self == .stopped ? server.address : proxy.address
                try await withClient(address, ValkeyConfiguration()) { client in
                    try await body(client) { work in
                        try begin(server, proxy)
                        try await work()
                        try await end(server, proxy)
                    }
                }
            }
        }
    }
}

extension Servers {
    /// Requests whose limit or session is in a server that fails.
    @Suite(.tags(.concurrency), .serialized, .requires(.valkey), .timeLimit(.minutes(20)))
    struct OutageTests {
        /// The times of calls.
        private final class Times: Sendable {
            private let times = Mutex<[Duration]>([])

            /// Runs a call, and adds its time.
            func measure<Result>(_ call: () async throws -> Result) async rethrows -> Result {
                let start = ContinuousClock.now
                defer { times.withLock { $0.append(ContinuousClock.now - start) } }
                return try await call()
            }

            /// Checks that calls take no longer than a limit, but for a few when the machine is busy.
            ///
            /// While thousands of other tests run, it is 30 times the limit.
            func check(atMost limit: Duration) {
                let limit = Outage.seconds == nil ? limit * 30 : limit
                let times = times.withLock { $0.sorted() }
                #expect(!times.isEmpty)
                let late = times.count { $0 > limit }
                #expect(late <= max(3, times.count / 50), "\(late) of \(times.count), up to \(times.last ?? .zero)")
            }
        }

        private func isLocal(_ network: some NetworkingComponent) async throws -> Bool {
            let events = EventRecorder()
            _ = try await network.observed(by: events).send(.lawful)
            return events.events.contains { if case RateLimitEvent.localShare = $0 { true } else { false } }
        }

        /// No request fails, or waits longer than the time limit of the store.
        @Test(arguments: Outage.allCases) func limitIsLocalDuringAnOutage(outage: Outage) async throws {
            try await outage.run { client, during in
                let store = ValkeyRateLimit(client, namespace: "test")
                let sharing = RateLimiter.Sharing(in: store, as: "vendor", localShare: 1)
                let limiter = RateLimiter(1_000, per: .seconds(1), burst: 10, sharing: sharing)
                let network = MockTransport { _ in .ok() }.rateLimited(by: limiter)
                try await eventually("the store decides") { try await !isLocal(network) }
                let (times, end) = (Times(), ContinuousClock.now + Outage.duration)
                try await during {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<4 {
                            group.addTask {
                                while ContinuousClock.now < end {
                                    try await times.measure { _ = try await network.send(.lawful) }
                                }
                            }
                        }
                        try await group.waitForAll()
                    }
                    #expect(try await isLocal(network))
                }
                // The rate lets 4 callers wait for 4 milliseconds.
                times.check(atMost: sharing.timeout + .milliseconds(20))
                try await eventually("the store decides again") { try await !isLocal(network) }
            }
        }

        /// Each request goes to its origin, after the time limits of the commands at most.
        @Test(arguments: Outage.allCases) func cacheIsAMissDuringAnOutage(outage: Outage) async throws {
            let origin = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=600"]) }
            try await outage.run { client, during in
                let store = ValkeyCacheStore(client, namespace: "test", key: .ofCache)
                let network = origin.cached(in: ResponseCache(in: store))
                func isStored() async throws -> Bool {
                    try await network.data(.lawful.with { $0.target = "/stored" }).isCached
                }
                try await eventually("responses are stored") { try await isStored() }
                let (times, end) = (Times(), ContinuousClock.now + Outage.duration)
                var number = 0
                try await during {
                    while ContinuousClock.now < end {
                        number += 1
                        let request = HTTPRequestData.lawful.with { $0.target = "/\(number)" }
                        let response = try await times.measure { try await network.data(request) }
                        #expect(response.status == .ok && !response.isCached)
                    }
                }
                // A request that is stored sends five commands.
                times.check(atMost: .milliseconds(5 * 50 + 20))
                try await eventually("responses are stored again") { try await isStored() }
            }
        }

        /// A session that has expired is not refreshed without its lock, and one that has not is used.
        @Test(arguments: Outage.allCases) func noSessionIsRefreshedDuringAnOutage(outage: Outage) async throws {
            let tokens = RotatingTokens()
            try await outage.run { client, during in
                let storage = ValkeySessionStorage(client, namespace: "shop", keys: [.first])
                try await eventually("the session is stored") { (try? await storage.save(tokens.session())) != nil }
                func machine(_ session: Session) async -> AnyNetworkingComponent {
                    tokens.stack(
                        await TokenStore(
                            session,
                            sharing: storage,
                            delegate: tokens.delegate(),
                            timeout: .seconds(5),
                            onStorageFailure: { _ in }
                        )
                    )
                }
                let expired = await machine(tokens.session())
                let valid = await machine(tokens.session(expiring: .now.addingTimeInterval(3_600)))
                let (failed, used, end) = (Times(), Times(), ContinuousClock.now + Outage.duration)
                try await during {
                    while ContinuousClock.now < end {
                        await failed.measure {
                            let error = await #expect(throws: NetworkingError.self) { try await expired.me() }
                            #expect(error?.kind == .storage)
                        }
                        let status = try await used.measure { try await valid.me().status }
                        #expect(status == .ok)
                    }
                    #expect(tokens.refreshes == 0)
                }
                // The time limit of the client, or that of the storage for the lock and for the session.
                failed.check(atMost: .milliseconds(100))
                used.check(atMost: .milliseconds(20))
                try await eventually("the session is refreshed") { (try? await expired.me())?.status == .ok }
                #expect(tokens.refreshes == 1)
                #expect(!tokens.isRevoked)
            }
        }
    }
}
#endif
