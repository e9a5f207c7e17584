import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EnvironmentRecorderTests {
    private struct Failure: Error {}

    @Test func recordsTheValueAtItsPositionInTheStack() async throws {
        let (inner, outer) = (EnvironmentRecorder<String>(), EnvironmentRecorder<String>())
        let network = MockTransport { _ in .ok() }
            .recorded(\.tenant, by: inner).environment(\.tenant, "blue")
            .recorded(\.tenant, by: outer)

        try await network.data(.lawful)

        #expect(inner.starts == ["blue"])
        #expect(inner.ends == ["blue"])
        #expect(outer.starts == ["public"])
    }

    @Test func recordsTheValueAtTheEndOfAFailedRequest() async throws {
        let times = EnvironmentRecorder<Duration>()
        let network = MockTransport { _ in throw Failure() }.delayed(by: .seconds(3)).recorded(\.clock.now, by: times)
            .environment(\.clock, .immediate())

        await #expect(throws: Failure.self) { try await network.data(.lawful) }

        #expect(times.starts == [.zero])
        #expect(times.ends == [.seconds(3)])
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws { AnyNetworkingComponent($0.recorded(\.tenant, by: EnvironmentRecorder())) }
    }
}
