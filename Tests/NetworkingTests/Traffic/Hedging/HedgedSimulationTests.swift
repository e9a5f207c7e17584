import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The load and the latencies of many calls in virtual time, from a seed.
@Suite(.timeLimit(.minutes(20)))
struct HedgedSimulationTests {
    private struct Figures {
        var calls = 0
        var requests = 0
        var latencies: [Duration] = []

        func percentile(_ part: Double) -> Duration {
            latencies.sorted()[Int(part * Double(latencies.count))]
        }
    }

    /// Returns the time of an answer: about 100 ms, and more than a second for three of a hundred.
    private static func answer(_ random: inout RandomSource) -> PacedServer.Answer {
        let isSlow = Double.random(in: 0..<1, using: &random) < 0.03
        let usual = 80 - 30 * log(Double.random(in: 0.001..<1, using: &random))
        let slow = Double.random(in: 1_000..<3_000, using: &random)
        return .init(head: .microseconds((1_000 * (isSlow ? slow : usual)).rounded()))
    }

    private func run(
        _ count: Int,
        seed: UInt64,
        _ wrap: (PacedServer) -> any NetworkingComponent
    ) async throws -> Figures {
        let clock = ManualClock()
        let hedges = Counter()
        let random = Mutex(RandomSource.seeded(seed))
        let server = PacedServer { _ in random.withLock { Self.answer(&$0) } }
        let network = AnyNetworkingComponent(wrap(server)).observed(by: hedges).environment(\.clock, .manual(clock))
        var figures = Figures()
        for number in 1...count {
            let start = clock.now
            let answered = server.answered
            let call = Task { try await network.data(.lawful) }
            repeat {
                // An alarm reports the hedge before its request arrives.
                try await eventually("the requests have arrived") { server.count == number + hedges.count }
                clock.advanceToNextDeadline()
            } while server.answered == answered
            _ = try await call.value
            figures.latencies.append(start.duration(to: clock.now))
        }
        figures.calls = count
        figures.requests = server.count
        return figures
    }

    private final class Counter: NetworkEventObserver {
        private let number = Atomic(0)

        var count: Int { number.load(ordering: .acquiring) }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            if case HedgingEvent.hedging = event { number.add(1, ordering: .acquiringAndReleasing) }
        }
    }

    @Test(arguments: [1, 2] as [UInt64]) func hedgingCutsTheSlowestByHalfForTheExtraLoad(seed: UInt64) async throws {
        let plain = try await run(4_000, seed: seed) { $0 }
        let hedged = try await run(4_000, seed: seed) { $0.hedged(extraLoad: 0.05) }
        let extra = Double(hedged.requests - hedged.calls) / Double(hedged.calls)
        #expect((0.04...0.06).contains(extra), "\(extra)")
        #expect(hedged.percentile(0.99) * 2 < plain.percentile(0.99))
        #expect(plain.requests == plain.calls)
    }
}
