import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HandoffTests {
    private struct Broken: Error {}

    private let handoff = Handoff<Int>()

    @Test func passesElementsInOrderAndThenTheEnd() async throws {
        let giving = Task { [handoff] in
            for element in 1...100 { try await handoff.give(element) }
            handoff.finish()
        }
        var taken: [Int] = []
        while let element = try await handoff.take() { taken.append(element) }
        try await giving.value
        #expect(taken == Array(1...100))
        #expect(try await handoff.take() == nil)
    }

    @Test func giverOfTheSecondElementWaitsUntilTheFirstIsTaken() async throws {
        try await handoff.give(1)
        let journal = Journal()
        let giving = Task { [handoff] in
            try await handoff.give(2)
            journal.note("given")
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(journal.entries.isEmpty)
        #expect(try await handoff.take() == 1)
        try await giving.value
        #expect(try await handoff.take() == 2)
    }

    @Test func endFollowsTheWaitingElements() async throws {
        try await handoff.give(1)
        handoff.finish(throwing: Broken())
        #expect(try await handoff.take() == 1)
        await #expect(throws: Broken.self) { try await handoff.take() }
    }

    // MARK: Cancellation

    @Test func cancelledTakerCancelsTheGiver() async throws {
        let taking = Task { [handoff] in try await handoff.take() }
        taking.cancel()
        await #expect(throws: CancellationError.self) { try await taking.value }
        await #expect(throws: CancellationError.self) { try await handoff.give(1) }
        #expect(handoff.isAbandoned)
    }

    @Test func takerThatStartsCancelledCancelsTheGiver() async throws {
        try await handoff.give(1)
        let giving = Task { [handoff] in try await handoff.give(2) }
        let (started, go) = AsyncStream.makeStream(of: Void.self)
        let taking = Task { [handoff] in
            for await _ in started {}
            return try await handoff.take()
        }
        taking.cancel()
        go.finish()
        await #expect(throws: CancellationError.self) { try await taking.value }
        await #expect(throws: CancellationError.self) { try await giving.value }
    }

    @Test func giverCanGiveAgainAfterACancelledGiver() async throws {
        try await handoff.give(1)
        let giving = Task { [handoff] in try await handoff.give(2) }
        giving.cancel()
        await #expect(throws: CancellationError.self) { try await giving.value }
        #expect(try await handoff.take() == 1)
        try await handoff.give(3)
        #expect(try await handoff.take() == 3)
    }

    @Test func abandoningDropsWaitingElements() async throws {
        try await handoff.give(1)
        handoff.finish()
        handoff.abandon()
        // The sequence is incomplete, so this is not its regular end.
        await #expect(throws: CancellationError.self) { try await handoff.take() }
    }

    @Test func abandoningAfterTheEndChangesNothing() async throws {
        try await handoff.give(1)
        handoff.finish()
        #expect(try await handoff.take() == 1)
        handoff.abandon()
        #expect(try await handoff.take() == nil)
    }

    @Test func abandoningDropsTheErrorOfTheEnd() async throws {
        handoff.finish(throwing: Broken())
        handoff.abandon()
        await #expect(throws: CancellationError.self) { try await handoff.take() }
        handoff.finish(throwing: Broken())
        await #expect(throws: CancellationError.self) { try await handoff.take() }
    }

    /// Both sides run at full speed, and one of them is cancelled at a random moment.
    @Test func neitherSideWaitsForACancelledOne() async throws {
        for round in 0..<150 {
            let handoff = Handoff<Int>()
            let giving = Task {
                for element in 0..<50 {
                    try await handoff.give(element)
                    if round % 3 == 1, element == round % 50 { return handoff.finish(throwing: Broken()) }
                }
                handoff.finish()
            }
            let taking = Task { () -> [Int] in
                var taken: [Int] = []
                while let element = try await handoff.take() {
                    taken.append(element)
                    if round % 3 == 2, element == round % 50 {
                        handoff.abandon()
                    }
                }
                return taken
            }
            let given = await giving.result
            switch (round % 3, await taking.result) {
            case (0, .success(let taken)):
                #expect(taken == Array(0..<50))
            case (1, .failure(let error)):
                #expect(error is Broken)
            case (2, .failure(let error)):
                #expect(error is CancellationError)
            case (2, .success(let taken)):
                // The cancellation came after the last element.
                #expect(taken == Array(0..<50))
            case (_, let outcome):
                Issue.record("\(outcome), \(given)")
            }
        }
    }
}
