import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore

/// The next exchange with a body waits for the readers that earlier ones have abandoned.
@Suite(.timeLimit(.minutes(20)))
struct AbandonedReadersTests {
    private let readers = AbandonedReaders()

    /// Starts to wait, and returns the task and whether the wait has ended.
    private func wait() -> (Task<Void, any Error>, ended: Locked<Bool>) {
        let ended = Locked(false)
        let task = Task { [readers] in
            try await readers.waitUntilAllEnd()
            ended.withLock { $0 = true }
        }
        return (task, ended)
    }

    private func letOthersRun() async {
        for _ in 0..<1_000 { await Task.yield() }
    }

    @Test func everyWaiterWaitsForTheLastReader() async throws {
        let both = [AbandonedReaders.Reader(of: readers), AbandonedReaders.Reader(of: readers)]
        for reader in both { reader.abandon() }
        let waits = [wait(), wait()]
        await letOthersRun()
        both[0].end()
        await letOthersRun()
        #expect(waits.allSatisfy { !$0.ended.value })
        both[1].end()
        for (task, _) in waits {
            try await task.value
        }
        // A later exchange does not wait.
        try await readers.waitUntilAllEnd()
    }

    @Test func readerThatHasEndedIsNotAbandoned() async throws {
        let reader = AbandonedReaders.Reader(of: readers)
        reader.end()
        reader.abandon()
        try await readers.waitUntilAllEnd()
    }

    /// An exchange may end twice, and so may its reader.
    @Test func readerCountsOnce() async throws {
        let (first, second) = (AbandonedReaders.Reader(of: readers), AbandonedReaders.Reader(of: readers))
        first.abandon()
        first.abandon()
        first.end()
        try await readers.waitUntilAllEnd()
        second.abandon()
        first.end()
        let (task, ended) = wait()
        await letOthersRun()
        #expect(!ended.value)
        second.end()
        try await task.value
    }

    @Test func readerThatIsNotAbandonedHoldsBackNoExchange() async throws {
        let reader = AbandonedReaders.Reader(of: readers)
        try await readers.waitUntilAllEnd()
        reader.end()
        try await readers.waitUntilAllEnd()
    }

    @Test func cancelledWaitEndsAtOnce() async throws {
        let reader = AbandonedReaders.Reader(of: readers)
        reader.abandon()
        let (task, _) = wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        reader.end()
    }
}
