import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Callers that add requests to an outbox and flush it.
///
/// Some of them leave before their flush has ended.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OutboxHammerTests {
    private static let workers = 8
    private static let rounds = 15

    @Test func everyRequestIsSentWhicheverCallerFlushes() async throws {
        let hammer = Hammer()
        let transport = MockTransport { _ in .ok() }
        let outbox = Outbox(in: MemoryOutboxStore(), over: transport)
        var environment = NetworkEnvironment.current
        environment.clock = .manual(ManualClock())
        environment.connectivity = ManualConnectivity()
        let left = try await withEnvironment(environment) {
            await hammer.run(tasks: Self.workers, rounds: Self.rounds) { random, worker, round in
                let path = "/orders/\(worker)/\(round)"
                let order = HTTPRequestData(method: .post, authority: "api.example.com", path: path)
                let leaves = Bool.random(using: &random)
                let flush = Task {
                    try await outbox.enqueue(order)
                    return try await outbox.flush()
                }
                if leaves {
                    await random.yield(upTo: 30)
                    flush.cancel()
                }
                do {
                    _ = try await flush.value
                    #expect(transport.requests.contains { $0.path == path }, "\(hammer): \(path) was not sent")
                } catch {
                    #expect(leaves && error is CancellationError, "\(hammer): \(error)")
                }
            }
            return try await outbox.flush()
        }
        #expect(left == 0, "\(hammer)")
    }
}
