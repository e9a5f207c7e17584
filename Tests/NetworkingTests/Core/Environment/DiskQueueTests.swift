import Dispatch
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Work of a slow disk, and callers that do not wait for it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DiskQueueTests {
    private let disk = DispatchSemaphore(value: 0)
    private let journal = Journal()

    /// Returns work that waits until the disk continues.
    private func work(_ name: String) -> @Sendable () -> Void {
        { [disk, journal] in
            journal.note("\(name) begins")
            disk.wait()
            journal.note("\(name) ends")
        }
    }

    @Test func cancelledCallerDoesNotWaitForWorkThatRunsToItsEnd() async throws {
        let work = work("a")
        let call = Task { try await DiskQueue.run(until: nil, work) }
        try await eventually("the work has begun") { journal.entries == ["a begins"] }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.entries == ["a begins"])
        disk.signal()
        try await eventually("the work has ended") { journal.entries == ["a begins", "a ends"] }
    }

    @Test func callerDoesNotWaitBeyondItsLimit() async throws {
        let (clock, work) = (ManualClock(), work("a"))
        let limit = ExchangeLimit(until: .seconds(1), on: .manual(clock))
        let call = Task { try await DiskQueue.run(until: limit, work) }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(limit.isReached)
        disk.signal()
        try await eventually("the work has ended") { journal.entries == ["a begins", "a ends"] }
    }

    /// Work such as closing a file must happen, and its result is known.
    @Test func quickWorkOfACancelledCallerIsCompleted() async throws {
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await DiskQueue.run(until: nil) { 1 }
        }
        #expect(try await call.value == 1)
    }

    @Test func workOfOneQueueKeepsItsOrder() async throws {
        let queue = DiskQueue()
        for name in ["a", "b"] {
            let work = work(name)
            let call = Task { try await queue.run(until: nil, work) }
            if name == "a" {
                try await eventually("the work has begun") { journal.entries == ["a begins"] }
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(journal.entries == ["a begins"])
        disk.signal()
        disk.signal()
        try await queue.run(until: nil) {}
        #expect(journal.entries == ["a begins", "a ends", "b begins", "b ends"])
    }

    @Test func completeWorkIsAwaitedAfterTheCancellation() async throws {
        let work = work("a")
        let call = Task {
            try await DiskQueue.complete { () throws(FileFault) in work() }
            return journal.entries
        }
        try await eventually("the work has begun") { journal.entries == ["a begins"] }
        call.cancel()
        disk.signal()
        #expect(try await call.value == ["a begins", "a ends"])
    }
}
