import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Waiting, resuming and cancelling in every order.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SuspensionTests {
    private struct Failure: Error {}

    @Test func returnsTheResultOfAnEarlierResume() async throws {
        let wait = Suspension<Int>()

        #expect(wait.resume(with: .success(1)))
        #expect(try await wait.value() == 1)
    }

    @Test func returnsTheResultOfALaterResume() async throws {
        let wait = Suspension<Int>()
        // The waiter runs up to its wait before this call returns.
        let waiter = OwnedTask.immediate { try await wait.value() }

        #expect(wait.resume(with: .success(1)))
        #expect(try await waiter.value == 1)
    }

    @Test func throwsTheErrorOfItsResume() async {
        let wait = Suspension<Int>()
        let waiter = OwnedTask.immediate { try await wait.value() }

        wait.resume(with: .failure(Failure()))

        await #expect(throws: Failure.self) { try await waiter.value }
    }

    @Test func firstResumeTakesEffect() async throws {
        let wait = Suspension<Int>()

        #expect(wait.resume(with: .success(1)))
        #expect(!wait.resume(with: .success(2)))
        #expect(!wait.resume(with: .failure(Failure())))
        #expect(try await wait.value() == 1)
    }

    @Test func cancellationBeforeTheWaitThrows() async {
        let wait = Suspension<Int>()
        let journal = Journal()
        let waiter = OwnedTask.immediate {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await wait.value { journal.note("let go") }
        }

        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(journal.entries == ["let go"])
        #expect(!wait.resume(with: .success(1)))
    }

    @Test func cancellationDuringTheWaitThrows() async {
        let wait = Suspension<Int>()
        let journal = Journal()
        let waiter = OwnedTask.immediate { try await wait.value { journal.note("let go") } }

        waiter.cancel()

        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(journal.entries == ["let go"])
        #expect(!wait.resume(with: .success(1)))
    }

    @Test func cancellationAfterTheResumeChangesNothing() async throws {
        let wait = Suspension<Int>()
        let journal = Journal()
        wait.resume(with: .success(1))
        let waiter = OwnedTask.immediate {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await wait.value { journal.note("let go") }
        }

        #expect(try await waiter.value == 1)
        #expect(journal.entries.isEmpty)
    }

    @Test func voidIsResumedWithoutAValue() async throws {
        let wait = Suspension<Void>()

        wait.resume()
        wait.resume()

        try await wait.value()
    }

    /// Each waiter is resumed exactly once, and exactly one of the racing calls returns `true`.
    @Test func waiterIsResumedOnceInThousandsOfRaces() async {
        await withTaskGroup { group in
            for _ in 0..<1_000 {
                group.addTask {
                    let wait = Suspension<Int>()
                    let journal = Journal()
                    let waiter = Task { try await wait.value { journal.note("let go") } }
                    async let isEndedByResume = wait.resume(with: .success(1))
                    waiter.cancel()

                    let value = try? await waiter.value
                    let isEnded = await isEndedByResume
                    #expect((value == 1) == isEnded)
                    #expect(journal.entries == (isEnded ? [] : ["let go"]))
                }
            }
        }
    }
}
