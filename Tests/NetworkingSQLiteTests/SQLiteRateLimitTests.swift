#if SQLite
import Foundation
import GRDB
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingSQLite

@Suite(.timeLimit(.minutes(20)))
struct SQLiteRateLimitTests {
    /// A date under the test's control.
    private final class Dates: Sendable {
        private let value = Mutex(Duration.seconds(1_800_000_000))

        var now: Duration {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }

    private func store(_ file: URL, _ dates: Dates, patience: Duration = .milliseconds(500)) -> SQLiteRateLimit {
        var settings = SQLiteRateLimit.settings
        settings.patience = patience
        return SQLiteRateLimit(file: file, settings: settings) { dates.now }
    }

    private func demand(_ permits: Int, _ key: String = "vendor emily@example.com") -> RateLimitDemand {
        RateLimitDemand(key: key, permits: permits, interval: .milliseconds(10), burst: 10, lead: .milliseconds(100))
    }

    private func execute(_ sql: String, on file: URL) async throws {
        let queue = try DatabaseQueue(path: file.path)
        try await queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    private func rows(_ file: URL) async throws -> Int {
        let queue = try DatabaseQueue(path: file.path)
        defer { try? queue.close() }
        return try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM limits") ?? 0 }
    }

    @Test func twoStoresOnOneFileShareTheLimits() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            let (first, second) = (store(file, dates), store(file, dates))
            let grant = try await first.take(demand(6))
            #expect(grant == RateLimitGrant(permits: 6, wait: .zero))
            #expect(first.file.path == file.path)
            #expect(try await second.take(demand(4)) == RateLimitGrant(permits: 4, wait: .zero))
            #expect(try await first.take(demand(1)) == RateLimitGrant(permits: 1, wait: .milliseconds(10)))
            #expect(try await second.take(demand(4, "other")) == RateLimitGrant(permits: 4, wait: .zero))
        }
    }

    @Test func makesTheDecisionsOfTheState() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            let store = store(file, dates)
            var (state, random) = (RateLimitState(), RandomSource.seeded(1))
            for _ in 0..<200 {
                // The date goes back now and then.
                dates.now += .microseconds(Int.random(in: -20_000...50_000, using: &random))
                let demand = demand(Int.random(in: 0...8, using: &random))
                let grant = try await store.take(demand)
                #expect(grant == state.take(demand, at: dates.now))
            }
        }
    }

    @Test func dateThatGoesBackNeitherStopsNorFloods() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            let store = store(file, dates)
            let first = try await store.take(demand(100))
            #expect(first.permits == 20)
            dates.now -= .seconds(3_600)
            #expect(try await store.take(demand(1)) == RateLimitGrant(permits: 0, wait: .milliseconds(10)))
            dates.now += .milliseconds(50)
            #expect(try await store.take(demand(100)).permits == 5)
        }
    }

    @Test(arguments: ["x'ff'", "'text'", "9223372036854775807", "-9223372036854775808", "zeroblob(100000)"])
    func damagedRowIsLimited(value: String) async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            _ = try await store(file, dates).take(demand(1))
            for column in ["moment", "reserved", "turns"] {
                try await execute("UPDATE limits SET \(column) = \(value)", on: file)
                let store = store(file, dates)
                let grant = try await store.take(demand(1))
                #expect(grant.wait <= .milliseconds(1_110))
                dates.now += .seconds(2)
                #expect(try await store.take(demand(1)).permits == 1)
            }
        }
    }

    @Test func damagedFileIsReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            try Data(String(repeating: "This is no database.\n", count: 1_000).utf8).write(to: file)
            let store = store(file, dates)
            let error = await #expect(throws: SQLiteRateLimitError.self) { try await store.take(demand(1)) }
            #expect(error?.description.contains(".damaged-1") == true)
            #expect(try await store.take(demand(1)).permits == 1)
        }
    }

    @Test func lockedFileIsAnErrorAfterAShortTime() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            let store = store(file, dates, patience: .milliseconds(20))
            _ = try await store.take(demand(1))
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: file.path, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            await #expect(throws: SQLiteRateLimitError.self) { try await store.take(demand(1)) }
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            #expect(try await store.take(demand(1)).permits == 1)
            try other.close()
        }
    }

    @Test func rowsOfIdleLimitsAreRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            let store = store(file, dates)
            for number in 0..<100 {
                _ = try await store.take(demand(1, "\(number)"))
                dates.now += .milliseconds(20)
            }
            #expect(try await rows(file) <= 2)
        }
    }

    @Test func fileContainsNoNames() async throws {
        try await withTemporaryDirectory { directory in
            let (file, dates) = (directory.appending(path: "limits"), Dates())
            let store = store(file, dates)
            _ = try await store.take(demand(1))
            await store.database.close()
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
                let data = try Data(contentsOf: directory.appending(path: name))
                #expect(data.range(of: Data("emily".utf8)) == nil && data.range(of: Data("vendor".utf8)) == nil)
            }
        }
    }

    @Test func limiterUsesTheStore() async throws {
        try await withTemporaryDirectory { directory in
            let (file, clock) = (directory.appending(path: "limits"), ManualClock())
            let networks = (0..<2)
                .map { _ in
                    let sharing = RateLimiter.Sharing(
                        in: SQLiteRateLimit(file: file),
                        as: "vendor",
                        localShare: 0.5,
                        // No permit is left to be given back after the test.
                        lead: .zero
                    )
                    return MockTransport { _ in .ok() }
                        .rateLimited(
                            by: RateLimiter(1, per: .seconds(86_400), burst: 2, sharing: sharing),
                            maximumWait: .zero
                        )
                        // A call to the store has no time limit that a busy machine exceeds, and so ends with the test.
                        .environment(\.clock, .manual(clock))
                }
            try await networks[0].data(.lawful)
            try await networks[1].data(.lawful)
            let error = await #expect(throws: NetworkingError.self) { try await networks[0].data(.lawful) }
            #expect(error?.kind == .rejected)
        }
    }
}
#endif
