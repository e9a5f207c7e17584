#if TestServer
import NetworkingTestServer
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct GateTests {
    @Test func openingResumesEveryWaiter() async throws {
        let gate = Gate()
        async let first: Void = gate.wait()
        async let second: Void = gate.wait()
        gate.open()
        try await first
        try await second
    }

    @Test func staysOpen() async throws {
        let gate = Gate()
        #expect(!gate.isOpen)
        gate.open()
        gate.open()
        #expect(gate.isOpen)
        try await gate.wait()
        try await gate.wait()
    }

    @Test func throwsWhenAWaitingTaskIsCancelled() async throws {
        let gate = Gate()
        let waiting = Task { try await gate.wait() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(!gate.isOpen)
    }

    @Test func throwsIfTheTaskIsAlreadyCancelled() async throws {
        let gate = Gate()
        let waiting = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await gate.wait()
        }
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func resumesOtherWaitersAfterOneWasCancelled() async throws {
        let gate = Gate()
        let leaving = Task { try await gate.wait() }
        let staying = Task { try await gate.wait() }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        gate.open()
        try await staying.value
    }

    /// The gate resumes each waiter exactly once, whether it opens or the waiter is cancelled first.
    @Test func openingAndCancellingConcurrentlyResumesOnce() async {
        for _ in 0..<200 {
            let gate = Gate()
            let waiting = Task { try await gate.wait() }
            await withDiscardingTaskGroup { group in
                group.addTask { gate.open() }
                group.addTask { waiting.cancel() }
            }
            switch await waiting.result {
            case .success, .failure(is CancellationError): break
            case .failure(let error): Issue.record(error)
            }
            // The gate is open by now, however the waiter ended.
            await #expect(throws: Never.self) { try await gate.wait() }
        }
    }
}
#endif
