#if os(Linux) || os(macOS)
import Foundation
import Networking
import NetworkingTesting
import Testing

/// Invalid scripts of the test kit stop the test at the line that writes them, with an explanation.
///
/// Each test ends a process. The tests run one at a time, because waiting for a process needs the executor, which
/// thousands of other tests keep busy.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct TestKitPreconditionTests {
    @Test func simulations() async {
        let workers = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SimulatedServer(workers: 0, serviceTime: .constant(.seconds(1)))
        }
        let share = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SimulatedServer.Failure.hang(share: .nan)
        }
        let mean = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SimulatedDuration.exponential(mean: .zero)
        }
        let rate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            _ = try? await Simulation(of: server, for: .seconds(1)) { _ in .infinity }.run { $0 }
        }
        let negativeRate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            _ = try? await Simulation(of: server, for: .seconds(1)) { _ in -1 }.run { $0 }
        }
        let noNumber = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            _ = try? await Simulation(of: server, for: .seconds(1)) { _ in .nan }.run { $0 }
        }
        let negativeWorkers = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            server.workers = -1
        }
        let queue = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            server.change(at: .seconds(1)) { $0.queue = -1 }
            _ = try? await Simulation(of: server, for: .seconds(2)) { _ in 100 }.run { $0 }
        }
        let patience = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            _ = Simulation(of: server, for: .seconds(1), patience: .zero) { _ in 1 }
        }
        let percent = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            _ = try? await Simulation(of: server, for: .seconds(1)) { _ in 1 }.run { $0 }.percentile(.nan)
        }
        let loop = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            // Without a round trip, the time does not advance.
            var server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)))
            server.failure = .error(.connection)
            _ = try? await Simulation(of: server, for: .seconds(1)) { _ in 100 }
                .run { transport in
                    transport.modified("Repeats for ever") { request, upstream in
                        while true { _ = try? await upstream.send(request) }
                    }
                }
        }
        let messages = [
            workers, share, mean, rate, negativeRate, noNumber, negativeWorkers, queue, patience, percent, loop,
        ]
        .map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
        #expect(messages[0].contains("workers must be greater than zero (is 0)"))
        #expect(messages[1].contains("share must be from 0 to 1 (is nan)"))
        #expect(messages[2].contains("mean must be greater than zero (is 0.0 seconds)"))
        #expect(messages[3].contains("callsPerSecond must be from 0 to 1,000,000 (is inf after 0.0 seconds)"))
        #expect(messages[4].contains("callsPerSecond must be from 0 to 1,000,000 (is -1.0 after 0.0 seconds)"))
        #expect(messages[5].contains("callsPerSecond must be from 0 to 1,000,000 (is nan after 0.0 seconds)"))
        #expect(messages[6].contains("workers must not be negative (is -1)"))
        #expect(messages[7].contains("queue must not be negative (is -1)"))
        #expect(messages[8].contains("patience must be greater than zero (is 0.0 seconds)"))
        #expect(messages[9].contains("percent must be from 0 to 100 (is nan)"))
        #expect(messages[10].contains("requests at one moment, after"))
    }

    @Test func mocks() async {
        let path = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RequestMatcher.path("/users/:id/posts/:id")
        }
        let url = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RequestMatcher.url("api.example.com/users")
        }
        let uses = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockUses.exactly(0)
        }

        let fragment = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RequestMatcher.url("https://a.example#top")
        }
        let delay = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockResponse.ok().delayed(by: .seconds(-1))
        }
        let wait = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockResponse.Chunk.wait(.seconds(-2))
        }
        let held = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (held, other) = (HeldResponse(), HeldResponse())
            held.respond(with: .held(by: other))
            other.respond(with: .held(by: held))
        }

        let messages = [path, url, uses, fragment, delay, wait, held]
            .map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
        #expect(messages[0].contains("each parameter of a path needs a unique name (is /users/:id/posts/:id)"))
        #expect(messages[1].contains("the URL must begin with https:// or http:// (is api.example.com/users)"))
        #expect(messages[2].contains("count must be greater than zero (is 0)"))
        #expect(messages[3].contains("the URL must have no fragment, which is never sent; write %23 for a # (is"))
        #expect(messages[4].contains("delay must not be negative (is -1.0 seconds)"))
        #expect(messages[5].contains("duration must not be negative (is -2.0 seconds)"))
        #expect(messages[6].contains("response must not be held by the same HeldResponse"))
    }

    @Test func faults() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Fault.error(.timeout, rate: 1.5)
        }
        #expect(
            String(decoding: result.standardErrorContent, as: UTF8.self).contains("rate must be from 0 to 1 (is 1.5)")
        )
        await #expect(processExitsWith: .failure) { _ = Fault.error(.timeout, rate: -0.1) }
        await #expect(processExitsWith: .failure) { _ = Fault.error(.timeout, rate: .nan) }
        await #expect(processExitsWith: .failure) { _ = Fault.latency(.seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = Fault.latency(.seconds(1), jitter: .seconds(2)) }
        await #expect(processExitsWith: .failure) { _ = Fault.corrupted(bytes: 0) }
        await #expect(processExitsWith: .failure) { _ = Fault.truncated(after: -1) }
        await #expect(processExitsWith: .failure) { _ = Fault.sliced(into: 0, every: .zero) }
        await #expect(processExitsWith: .failure) { _ = FaultInjector(script: [.error(.timeout, rate: 0.5)]) }
        await #expect(processExitsWith: .failure) { _ = FaultInjector(script: []).faults(forRequest: 0) }
    }

    @Test func timeMustNotGoBack() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            ManualClock().advance(by: .seconds(-1))
        }

        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(message.contains("duration must not be negative (is -1.0 seconds): the clock cannot go back."))
        #expect(message.contains("create a clock with ManualClock(start:)"))
    }

    @Test func dateMustNotGoBack() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            ManualClock().advance(to: Date(timeIntervalSince1970: 1_699_999_998.5))
        }

        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(
            message.contains(
                "date must not be before the date of the clock: 2023-11-14T22:13:18.500Z is 1.5 seconds before "
                    + "2023-11-14T22:13:20.000Z, and the clock cannot go back."
            )
        )
    }

    @Test func patterns() async {
        await #expect(processExitsWith: .failure) { _ = SecureRandomSource.repeating([]) }
        await #expect(processExitsWith: .failure) { _ = RandomSource.cycling([]) }
    }
}
#endif
