import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

/// Closures of the app that block, or return a new value each time.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct AppClosureTests {
    /// A stack that calls a closure of the app for each request.
    struct Place: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let network:
            @Sendable (MockTransport, _ closure: @escaping @Sendable (HTTPRequestData) -> Void)
                -> any NetworkingComponent
    }

    private static let places = [
        Place(testDescription: "key of a ServerRateLimiter") { transport, closure in
            let key = RateLimiter.Key.custom { request in
                closure(request)
                return request.path ?? ""
            }
            return transport.rateLimited(by: ServerRateLimiter(key: key))
        },
        Place(testDescription: "fields of a ServerRateLimiter") { transport, closure in
            let limiter = ServerRateLimiter { response in
                closure(response.request)
                return nil
            }
            return transport.rateLimited(by: limiter)
        },
        Place(testDescription: "delay of hedged") { transport, closure in
            let policy = HedgingPolicy.after { request, _ in
                closure(request)
                return nil
            }
            return transport.hedged(policy)
        },
    ]

    @Test(arguments: places)
    func closureThatBlocksDelaysNoOtherRequest(place: Place) async throws {
        let (isBlocked, sent) = (Locked(false), Locked(0))
        let released = DispatchSemaphore(value: 0)
        let network = place.network(MockTransport { _ in .ok() }) { request in
            guard request.path == "/blocked" else { return }
            isBlocked.withLock { $0 = true }
            released.wait()
        }
        let blocked = Task(executorPreference: OwnThread()) { try await network.data(.lawful("/blocked")) }
        do {
            defer { released.signal() }
            try await eventually("the closure blocks") { isBlocked.value }
            let others = Task(executorPreference: OwnThread()) {
                for _ in 1...3 {
                    try await network.data(.lawful("/other"))
                    sent.withLock { $0 += 1 }
                }
            }
            try await eventually("the others are sent", within: .seconds(5)) { sent.value == 3 }
            try await others.value
        }
        #expect(try await blocked.value.status == .ok)
    }

    @Test func keyMayBeNewForEachRequest() async throws {
        let numbers = Numbers()
        let limiter = ServerRateLimiter(key: .custom { _ in "\(numbers.next())" })
        let network = MockTransport { _ in .ok(headerFields: [.rateLimit: "\"d\";r=9;t=30"]) }
            .rateLimited(by: limiter).environment(\.clock, .manual(ManualClock()))
        for _ in 1...1_500 { try await network.data(.lawful) }
        #expect((512...1_024).contains(limiter.lines.keys))
        #expect(limiter.lines.count == limiter.lines.keys)
    }

    @Test func policiesMayBeNewForEachResponse() async throws {
        let numbers = Numbers()
        let limiter = ServerRateLimiter { _ in
            (1...40).map { _ in ServerLimit(policy: "\(numbers.next())", remaining: 1_000, reset: .seconds(30)) }
        }
        let network = MockTransport { _ in .ok() }.rateLimited(by: limiter)
            .environment(\.clock, .manual(ManualClock()))
        for _ in 1...100 { try await network.data(.lawful) }
        #expect(limiter.lines.keys == 1)
        #expect(limiter.lines.count == ServerLimitGate.maximumCount)
    }

    @Test func delayMayBeNewForEachRequest() async throws {
        let (numbers, clock) = (Numbers(), ManualClock())
        let hedged = Hedged(
            policy: .after(extraLoad: 1) { _, _ in .seconds(numbers.next()) },
            budget: .unlimited
        )
        let network = MockTransport { _ in .ok() }.modified(hedged).environment(\.clock, .manual(clock))
        for _ in 1...300 { try await network.data(.lawful) }
        #expect(numbers.next() == 301)
        #expect(hedged.routes.count == 1)
        #expect(hedged.losers.count == 0)
        #expect(clock.sleepers == 0)
    }

    /// Numbers from one, each once.
    private final class Numbers: Sendable {
        private let last = Locked(0)

        func next() -> Int {
            last.withLock { last in
                last += 1
                return last
            }
        }
    }
}

/// An executor with a thread of its own, which a test may block.
final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "own thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
