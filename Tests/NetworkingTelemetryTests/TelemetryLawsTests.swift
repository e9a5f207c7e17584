#if Telemetry
import Dispatch
import MetricsTestKit
import Networking
import NetworkingTelemetry
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TelemetryLawsTests {
    @Test func telemetryKeepsTheLaws() async throws {
        let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent = { upstream in
            AnyNetworkingComponent(upstream.telemetry(tracer: W3CTracer(), metrics: TestMetrics()))
        }
        try await checkLaws(around: wrap)
        try await checkLaws { wrap(AnyNetworkingComponent($0.traced().retry().deduplicated().cached())) }
        try await checkLaws { AnyNetworkingComponent(wrap($0).traced().retry().deduplicated().cached()) }
    }

    /// A hop off the caller's actor and back costs more than the rest of a stack.
    @Test func aCallHopsNowhere() async throws {
        let network = MockTransport { _ in .ok() }.telemetry(tracer: W3CTracer(), metrics: TestMetrics())
        #expect(try await CountingActor().jobs(during: network) == 0)
    }
}

private actor CountingActor {
    private let executor = CountingExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// How many jobs of this actor a call through a stack costs, besides the one that makes it.
    func jobs(during network: some NetworkingComponent) async throws -> Int {
        let before = executor.count
        try await network.data(.lawful)
        return executor.count - before
    }
}

private final class CountingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "counting executor")
    private let jobs = Atomic(0)

    var count: Int {
        jobs.load(ordering: .relaxed)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
#endif
