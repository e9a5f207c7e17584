import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SharedOperationTests {
    /// The work starts in the task of the creator, and other callers may join before it waits for the first time.
    @Test func callerThatJoinsWhileTheWorkStartsRaisesItsPriority() async throws {
        let operation = SharedOperation<Void>()
        let joined = Locked<Task<Void, any Error>?>(nil)
        operation.start {
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
            let call = Task.immediate(priority: .high) {
                try await operation.value(for: try #require(operation.join()), until: nil)
            }
            joined.withLock { $0 = call }
            await Task.yield()
            try await eventually("the priority is raised") { Task.currentPriority >= .high }
        }
        try await operation.valueForCreator(until: nil)
        try await joined.withLock { $0 }?.value
    }
}
