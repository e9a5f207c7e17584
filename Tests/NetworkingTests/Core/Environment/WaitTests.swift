import Dispatch
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Each wait of the library, ended in each way.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WaitTests {
    enum End: String, CaseIterable, CustomTestStringConvertible {
        case cancelled, limit, both, resumed

        var testDescription: String { rawValue }
    }

    /// A wait that has not started.
    struct Waiting: Sendable {
        let wait: @Sendable (ExchangeLimit) async throws -> Void
        let resume: @Sendable () -> Void
        /// The number of callers that the other side still knows.
        var waiters: @Sendable () -> Int = { 0 }
    }

    struct Kind: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Whether the wait ends without an error in any case.
        var isPatient = false
        /// The alarms that are set while it waits.
        var sleepers = 1
        let make: @Sendable (NetworkClock) -> Waiting
    }

    private static let kinds = [
        Kind(testDescription: "Suspension") { _ in
            let wait = Suspension<Void>()
            return Waiting(wait: { try await wait.value(until: $0) }, resume: { wait.resume() })
        },
        Kind(testDescription: "Suspension with a deadline", sleepers: 2) { clock in
            let wait = Suspension<Void>()
            return Waiting {
                let deadline = WaitDeadline<Void>(.seconds(60), on: clock, with: .failure(Late()))
                try await wait.value(until: $0, or: deadline)
            } resume: {
                wait.resume()
            }
        },
        Kind(testDescription: "creator of a SharedOperation") { _ in
            let (operation, gate) = (SharedOperation<Void>(), Suspension<Void>())
            return Waiting {
                operation.start { try await gate.value() }
                try await operation.valueForCreator(until: $0)
            } resume: {
                gate.resume()
            } waiters: {
                operation.waiters
            }
        },
        Kind(testDescription: "waiter of a SharedOperation") { _ in
            let (operation, gate) = (SharedOperation<Void>(), Suspension<Void>())
            operation.start { try await gate.value() }
            let waiter = operation.join()
            return Waiting {
                try await operation.value(for: try #require(waiter), until: $0)
            } resume: {
                gate.resume()
            } waiters: {
                // The creator does not wait.
                max(0, operation.waiters - 1)
            }
        },
        Kind(testDescription: "SharedExchange") { _ in
            let (exchange, gate) = (SharedExchange(), Suspension<HTTPResponseData>())
            return Waiting {
                exchange.start { try await gate.value() }
                _ = try await exchange.valueForCreator(until: $0)
            } resume: {
                gate.resume(with: .success(HTTPResponseData(request: .lawful)))
            } waiters: {
                exchange.waiters
            }
        },
        Kind(testDescription: "StoreWait", sleepers: 2) { _ in
            let gate = Suspension<Void>()
            return Waiting {
                try await StoreWait.run(until: $0, atMost: .seconds(60)) { try await gate.value() }
            } resume: {
                gate.resume()
            }
        },
        Kind(testDescription: "DiskQueue") { _ in
            let disk = DispatchSemaphore(value: 0)
            return Waiting {
                try await DiskQueue.run(until: $0) { disk.wait() }
            } resume: {
                disk.signal()
            }
        },
        Kind(testDescription: "OrderedReports", isPatient: true) { _ in
            let handled = DispatchSemaphore(value: 0)
            let reports = OrderedReports { _ in handled.wait() }
            reports.report(TransferProgress(), 1, on: ActionThread(label: "WaitTests"))
            return Waiting {
                await reports.settle(until: $0)
            } resume: {
                handled.signal()
            }
        },
        Kind(testDescription: "permit of a ConcurrencyLimiter", sleepers: 2) { clock in
            let limiter = ConcurrencyLimiter(max: 1)
            _ = limiter.takeIfFree(nil)
            return Waiting {
                let network = PromptTransport().throttled(by: limiter, maximumWait: .seconds(60))
                try await network.modified(Limited(limit: $0)).data(.lawful)
            } resume: {
                limiter.giveBack(nil)
            } waiters: {
                limiter.waiting
            }
        },
        Kind(testDescription: "permit of a RateLimiter", sleepers: 2) { clock in
            let limiter = RateLimiter(1, per: .seconds(60))
            _ = limiter.take(1, .normal, "", waitingUpTo: nil, on: clock)
            return Waiting {
                let network = PromptTransport().rateLimited(by: limiter)
                try await network.modified(Limited(limit: $0)).data(.lawful)
            } resume: {
                // The permit that was taken first.
                let first = WaitPlace(priority: .normal, number: .max, weight: 1, wait: Suspension())
                limiter.giveBack(first, "", on: clock)
            } waiters: {
                limiter.waiting
            }
        },
    ]

    private struct Late: Error {}

    /// Sets the time limit of a request.
    private struct Limited: UpstreamLimited {
        let limit: ExchangeLimit

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            var request = request
            request.exchangeLimit = limit
            return try await upstream.send(request)
        }
    }

    @Test(arguments: kinds, End.allCases)
    func waitEndsAndLeavesNothing(kind: Kind, end: End) async throws {
        let clock = ManualClock()
        let limit = ExchangeLimit(until: .seconds(3), on: .manual(clock))
        let networkClock = NetworkClock.manual(clock)
        let waiting = kind.make(networkClock)
        let call = Task {
            var environment = NetworkEnvironment.current
            environment.clock = networkClock
            try await withEnvironment(environment) { try await waiting.wait(limit) }
        }
        try await clock.waitForSleepers(kind.sleepers)
        if end == .cancelled || end == .both { call.cancel() }
        if end == .limit || end == .both { clock.advance(by: .seconds(3)) }
        if end == .resumed { waiting.resume() }
        let result = await call.result
        if end == .resumed || kind.isPatient {
            #expect(throws: Never.self) { try result.get() }
        } else {
            #expect(throws: CancellationError.self) { try result.get() }
        }
        #expect(waiting.waiters() == 0)
        #expect(clock.sleepers == 0)
        // A wait that ends by its cancellation removes its alarm, perhaps before the clock reaches the limit.
        if end != .both { #expect(limit.isReached == (end == .limit)) }
        // The work continues without its caller, and ends here.
        if end != .resumed { waiting.resume() }
    }

    @Test func waitEndsByItselfAtItsDeadline() async throws {
        let clock = ManualClock()
        let wait = Suspension<Int>()
        let journal = Journal()
        let call = Task {
            let deadline = WaitDeadline<Int>(.seconds(1), on: .manual(clock), with: .success(42))
            return try await wait.value(until: nil, or: deadline) { journal.note("released") }
        }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        #expect(try await call.value == 42)
        #expect(journal.entries == ["released"])
        #expect(clock.sleepers == 0)
    }

    /// A limit or a deadline that has passed ends the wait at once, and its result came first.
    @Test func waitWithAPassedLimitEndsAtOnce() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        let limit = ExchangeLimit(until: .seconds(3), on: .manual(clock))
        await #expect(throws: CancellationError.self) { try await Suspension<Void>().value(until: limit) }
        let resumed = Suspension<Int>()
        resumed.resume(with: .success(1))
        #expect(try await resumed.value(until: limit) == 1)
        #expect(clock.sleepers == 0)
    }
}
