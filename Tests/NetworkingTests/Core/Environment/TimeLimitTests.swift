import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TimeLimitTests {
    private struct TimeIsUp: Error {
        let underlying: (any Error)?
    }

    private struct Failure: Error {}

    private let manual = ManualClock()

    private func limited<Success: Sendable>(
        to limit: Duration,
        _ operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await withTimeLimit(
            until: limit,
            on: .manual(manual),
            timeIsUp: { TimeIsUp(underlying: $0) },
            { try await operation() }
        )
    }

    @Test func returnsAResultInTimeAndCancelsTheAlarm() async throws {
        #expect(try await limited(to: .seconds(1)) { 42 } == 42)
        #expect(manual.sleepers == 0)
    }

    @Test func throwsAnErrorInTimeAndCancelsTheAlarm() async {
        await #expect(throws: Failure.self) { try await limited(to: .seconds(1)) { throw Failure() } }
        #expect(manual.sleepers == 0)
    }

    @Test func limitInThePastFailsAtOnce() async {
        manual.advance(by: .seconds(5))
        let wait = Suspension<Void>()

        let error = await #expect(throws: TimeIsUp.self) {
            try await limited(to: .seconds(5)) { try await wait.value() }
        }

        #expect(error?.underlying == nil)
    }

    @Test func cancellationErrorOfTheOperationIsNoUnderlyingError() async throws {
        let wait = Suspension<Void>()
        let call = Task { try await limited(to: .seconds(1)) { try await wait.value() } }

        try await manual.advance(by: .seconds(1), afterSleepers: 1)

        let error = await #expect(throws: TimeIsUp.self) { try await call.value }
        #expect(error?.underlying == nil)
    }

    @Test func lateErrorOfTheOperationIsTheUnderlyingError() async throws {
        let wait = Suspension<Void>()
        let call = Task {
            try await limited(to: .seconds(1)) {
                do {
                    try await wait.value()
                } catch {
                    throw Failure()
                }
            }
        }

        try await manual.advance(by: .seconds(1), afterSleepers: 1)

        let error = await #expect(throws: TimeIsUp.self) { try await call.value }
        #expect(error?.underlying is Failure)
    }

    @Test func lateResultIsReturned() async throws {
        let wait = Suspension<Int>()
        let call = Task {
            try await limited(to: .seconds(1)) {
                // The operation ignores the cancellation.
                (try? await wait.value()) ?? 42
            }
        }

        try await manual.advance(by: .seconds(1), afterSleepers: 1)

        #expect(try await call.value == 42)
    }

    @Test func operationIsAwaitedAfterTheLimit() async throws {
        let journal = Journal()
        let wait = Suspension<Void>()
        let call = Task {
            defer { journal.note("caller resumed") }
            try await limited(to: .seconds(1)) {
                defer { journal.note("operation over") }
                try await wait.value()
            }
        }

        try await manual.advance(by: .seconds(1), afterSleepers: 1)

        await #expect(throws: TimeIsUp.self) { try await call.value }
        #expect(journal.entries == ["operation over", "caller resumed"])
    }

    @Test func cancellationOfTheCallerCancelsTheOperation() async throws {
        let wait = Suspension<Void>()
        let call = Task { try await limited(to: .seconds(1)) { try await wait.value() } }
        try await manual.waitForSleepers()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(manual.sleepers == 0)
    }

    @Test func operationOfACancelledCallerDoesNotStart() async {
        let journal = Journal()
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await limited(to: .seconds(1)) { journal.note("begun") }
        }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.entries.isEmpty)
    }

    @Test func cancellationOfTheCallerTakesPrecedenceOverTheLimit() async throws {
        let wait = Suspension<Void>()
        let windingDown = Suspension<Void>()
        let isWindingDown = Suspension<Void>()
        let call = Task {
            try await limited(to: .seconds(1)) {
                do {
                    try await wait.value()
                } catch {
                    isWindingDown.resume()
                    // This wait ignores the cancellation, so that the caller can be cancelled after the limit.
                    await Task.detached { try? await windingDown.value() }.value
                    throw error
                }
            }
        }
        try await manual.advance(by: .seconds(1), afterSleepers: 1)
        try await isWindingDown.value()

        call.cancel()
        windingDown.resume()

        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test func operationRunsInTheEnvironmentOfItsCaller() async throws {
        var environment = NetworkEnvironment()
        environment.random = RandomSource { 42 }

        let drawn = try await withEnvironment(environment) {
            try await limited(to: .seconds(1)) { NetworkEnvironment.current.random.next() }
        }

        #expect(drawn == 42)
    }
}
