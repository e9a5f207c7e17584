import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OwnedTaskTests {
    private struct Failure: Error {}

    @TaskLocal private static var mark = "none"

    @Test func returnsTheResultOfItsWork() async throws {
        #expect(try await OwnedTask.immediate { 1 }.value == 1)
        #expect(try await OwnedTask.detached { 2 }.value == 2)
    }

    @Test func throwsTheErrorOfItsWork() async {
        let task = OwnedTask<Int>.immediate { throw Failure() }

        await #expect(throws: Failure.self) { try await task.value }
    }

    @Test func cancellationByTheOwnerCancelsTheWork() async {
        let wait = Suspension<Void>()
        let task = OwnedTask.immediate { try await wait.value() }

        task.cancel()

        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func cancellationOfTheWaiterCancelsTheWorkAndAwaitsIt() async {
        let wait = Suspension<Void>()
        let journal = Journal()
        let task = OwnedTask.immediate {
            do {
                try await wait.value()
            } catch {
                journal.note("cleaned up")
                throw error
            }
        }
        let waiter = Task {
            defer { journal.note("waiter resumed") }
            try await task.value
        }

        waiter.cancel()

        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(journal.entries == ["cleaned up", "waiter resumed"])
    }

    @Test func workInheritsTheEnvironmentUnlessItIsDetached() async throws {
        let (immediate, detached) = Self.$mark.withValue("caller's") {
            (OwnedTask.immediate { Self.mark }, OwnedTask.detached { Self.mark })
        }

        #expect(try await immediate.value == "caller's")
        #expect(try await detached.value == "none")
    }
}
