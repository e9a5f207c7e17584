import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Minutes of traffic over endpoints of which some fail, on a clock of the test.
@Suite
struct EndpointSimulationTests {
    private struct Report {
        var calls = 0
        var failures = 0

        var ratio: Double {
            Double(failures) / Double(max(1, calls))
        }
    }

    /// Sends 20 calls a second for five minutes, without retries, and returns the failures after the first ten seconds.
    private func run(
        _ names: [ServerEndpoints.Endpoint],
        seed: UInt64,
        isDead: @escaping @Sendable (String, Duration) -> Bool
    ) async throws -> Report {
        let clock = ManualClock()
        let network = MockTransport { request in
            isDead(request.authority ?? "", NetworkClock.manual(clock).now)
                ? .failure(.connection) : .ok()
        }
        .server(endpoints: ServerEndpoints("api.example", endpoints: names))
        .environment(\.clock, .manual(clock))
        .environment(\.random, .seeded(seed))
        let start = NetworkClock.manual(clock).now
        var report = Report()
        for _ in 0..<(20 * 300) {
            let isFailure = (try? await network.data(HTTPRequestData(path: "a"))) == nil
            if NetworkClock.manual(clock).now - start >= .seconds(10) {
                report.calls += 1
                report.failures += isFailure ? 1 : 0
            }
            clock.advance(by: .milliseconds(50))
        }
        return report
    }

    @Test func deadMemberOfThreeCostsLessThanOneCallInAHundred() async throws {
        let hammer = Hammer()
        let report = try await run(["a.example", "b.example", "c.example"], seed: hammer.seed) { name, _ in
            name == "b.example"
        }
        #expect(report.calls > 5_000)
        #expect(report.failures > 0, "No probe was sent. \(hammer)")
        #expect(report.ratio < 0.01, "\(report) \(hammer)")
    }

    @Test func deadMemberOfTwoCostsLessThanOneCallInAHundred() async throws {
        let hammer = Hammer()
        let report = try await run(["a.example", .init("b.example", weight: 9)], seed: hammer.seed) { name, _ in
            name == "b.example"
        }
        #expect(report.ratio < 0.01, "\(report) \(hammer)")
    }

    @Test func memberThatRecoversIsUsedAgain() async throws {
        let hammer = Hammer()
        let used = Locked<Set<String>>([])
        let report = try await run(["a.example", "b.example"], seed: hammer.seed) { name, now in
            if now > .seconds(120) { used.withLock { _ = $0.insert(name) } }
            return name == "a.example" ? now < .seconds(60) : now > .seconds(120)
        }
        #expect(used.value == ["a.example", "b.example"], "\(hammer)")
        #expect(report.ratio < 0.01, "\(report) \(hammer)")
    }
}
