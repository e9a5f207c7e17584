import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Callers that concurrently take, await, leave and return permits of a few hosts, so that hosts are forgotten and
/// used again.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ThrottledHammerTests {
    private struct Refusal: Error {}

    private static let limit = 2

    /// The current and the maximum number of running callers.
    private struct Running: Sendable {
        private var counts: [String: Int] = [:]
        private(set) var maximum = 0

        mutating func begin(_ host: String) {
            counts[host, default: 0] += 1
            maximum = max(maximum, counts[host] ?? 0)
        }

        mutating func end(_ host: String) {
            counts[host, default: 0] -= 1
        }
    }

    @Test(arguments: [Int.max, 3])
    func everyCallerGetsAPermitAndAllAreReturned(queue: Int) async {
        let hammer = Hammer()
        let limiter = ConcurrencyLimiter(maxPerHost: Self.limit, queue: queue)
        let running = Locked(Running())
        await hammer.run(tasks: 16, rounds: 1_000) { random, _, _ in
            let host = "\(Int.random(in: 0..<4, using: &random))"
            guard await takePermit(limiter, host, &random) else { return }
            running.withLock { $0.begin(host) }
            await random.yield(upTo: 3)
            running.withLock { $0.end(host) }
            limiter.giveBack(host)
        }
        #expect(running.value.maximum == Self.limit, "\(hammer)")
        #expect((limiter.inFlight, limiter.waiting, limiter.hosts) == (0, 0, 0), "\(hammer)")
    }

    /// Returns whether the caller has a permit.
    private func takePermit(_ limiter: ConcurrencyLimiter, _ host: String, _ random: inout RandomSource) async -> Bool {
        if limiter.takeIfFree(host) { return true }
        let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
        guard let place = limiter.enqueue(priority, host) else { return false }
        if random.once(in: 3) {
            // The cancellation ends the wait at once, and the caller leaves the queue later.
            await random.yield(upTo: 3)
            if place.wait.resume(with: .failure(CancellationError())) {
                await random.yield(upTo: 5)
                limiter.left(place, host)
            } else if (try? await place.wait.value()) != nil {
                limiter.giveBack(host)
            }
            return false
        }
        if random.once(in: 4) {
            // The maximum wait is over.
            await random.yield(upTo: 3)
            if place.wait.resume(with: .failure(Refusal())) { limiter.left(place, host) }
        }
        do {
            try await place.wait.value { limiter.left(place, host) }
            return true
        } catch {
            return false
        }
    }

    /// The same test through the modifier, with cancelled tasks as callers.
    @Test func everyCallEnds() async {
        let hammer = Hammer()
        let limiter = ConcurrencyLimiter(maxPerHost: Self.limit)
        let running = Locked(Running())
        let network = MockTransport { request in
            let host = request.authority ?? ""
            running.withLock { $0.begin(host) }
            defer { running.withLock { $0.end(host) } }
            await Task.yield()
            return .ok()
        }
        .throttled(by: limiter)
        await hammer.run(tasks: 16, rounds: 150) { random, _, _ in
            let request = HTTPRequestData(authority: "\(Int.random(in: 0..<3, using: &random)).example")
            let call = Task { try await network.data(request) }
            let isCancelled = random.once(in: 2)
            if isCancelled {
                await random.yield(upTo: 10)
                call.cancel()
            }
            do {
                _ = try await call.value
            } catch {
                #expect(isCancelled && error is CancellationError, "\(hammer): \(error)")
            }
        }
        #expect(running.value.maximum <= Self.limit, "\(hammer)")
        #expect((limiter.inFlight, limiter.waiting, limiter.hosts) == (0, 0, 0), "\(hammer)")
    }
}

/// Calls that are cancelled, reach their time limit and get their permit at the same time.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct LimitedHammerTests {
    private static let workers = 12

    @Test func everyCallEndsAndReturnsItsPermits() async {
        let hammer = Hammer()
        let clock = ManualClock()
        let limiter = ConcurrencyLimiter(maxPerHost: 2)
        let rate = RateLimiter(1, per: .milliseconds(1), burst: 2)
        let network = PromptTransport().modified(Sluggish()).rateLimited(by: rate).throttled(by: limiter)
            .timeout(.milliseconds(4)).environment(\.clock, .manual(clock))
        let ends = Locked<[String: Int]>([:])
        let left = Locked(Self.workers)
        await withTaskGroup { group in
            group.addTask {
                var random = hammer.random(-1)
                while left.value > 0 {
                    clock.advance(by: .microseconds(Int.random(in: 0...2_000, using: &random)))
                    await random.yield(upTo: 3)
                }
            }
            for worker in 0..<Self.workers {
                group.addTask {
                    var random = hammer.random(worker)
                    for _ in 0..<150 {
                        let host = "\(Int.random(in: 0..<2, using: &random)).example"
                        let call = Task { try await network.data(HTTPRequestData(authority: host)) }
                        let isCancelled = random.once(in: 4)
                        if isCancelled {
                            await random.yield(upTo: 10)
                            call.cancel()
                        }
                        let end = await end(of: call, isCancelled: isCancelled)
                        ends.withLock { $0[end, default: 0] += 1 }
                    }
                    left.withLock { $0 -= 1 }
                }
            }
        }
        #expect(Set(ends.value.keys) == ["response", "cancelled", "timeout"], "\(hammer): \(ends.value)")
        #expect((limiter.inFlight, limiter.waiting, limiter.hosts) == (0, 0, 0), "\(hammer)")
        #expect(rate.waiting == 0, "\(hammer)")
        #expect(clock.sleepers == 0, "\(hammer)")
    }

    private func end(of call: Task<HTTPResponseData, any Error>, isCancelled: Bool) async -> String {
        do {
            _ = try await call.value
            return "response"
        } catch is CancellationError {
            return isCancelled ? "cancelled" : "cancelled by nobody"
        } catch {
            return (error as? NetworkingError)?.kind.rawValue ?? "\(error)"
        }
    }

    /// A modifier that lets other tasks run while a call holds its permits.
    private struct Sluggish: UpstreamLimited {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            await Task.yield()
            return try await upstream.send(request)
        }
    }
}

/// Callers of a rate limiter that evicts keys, while a task advances the clock.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RateLimitedHammerTests {
    private static let interval = Duration.milliseconds(10)
    private static let burst = 3
    private static let workers = 12

    @Test func everyWaiterGetsItsPermitsAndNotTooEarly() async {
        let hammer = Hammer()
        let clock = ManualClock()
        let limiter = RateLimiter(1, per: Self.interval, burst: Self.burst)
        // The limiter stores its maximum of keys, so each new one evicts others.
        for key in 0..<10_000 {
            _ = limiter.take(1, .normal, "old \(key)", waitingUpTo: nil, on: .manual(clock))
        }
        clock.advance(by: .seconds(1))
        let start = clock.now.offset
        let granted = Locked<[String: Int]>([:])
        let (tooMany, left) = (Locked(0), Locked(Self.workers))
        await withTaskGroup { group in
            group.addTask {
                var random = hammer.random(-1)
                while left.value > 0 {
                    // The clock advances slowly, so that permits are always scarce.
                    if 2 * limiter.waiting >= left.value {
                        clock.advance(by: .milliseconds(Int.random(in: 0...10, using: &random)))
                    }
                    await Task.yield()
                }
            }
            for worker in 0..<Self.workers {
                group.addTask {
                    var random = hammer.random(worker)
                    for number in 0..<500 {
                        // Some keys are used by many callers, and others are new.
                        let key =
                            random.once(in: 4)
                            ? "new \(worker) \(number)" : "\(Int.random(in: 0..<3, using: &random))"
                        let weight = Int.random(in: 1...Self.burst, using: &random)
                        guard await takePermits(weight, of: limiter, key, clock, &random, "\(hammer)") else { continue }
                        let sum = granted.withLock { granted in
                            granted[key, default: 0] += weight
                            return granted[key] ?? 0
                        }
                        // The clock is read after the permits were counted, so the result is an upper bound.
                        let allowed = Self.burst + Int((clock.now.offset - start) / Self.interval)
                        if sum > allowed {
                            tooMany.withLock { $0 += 1 }
                        }
                    }
                    left.withLock { $0 -= 1 }
                }
            }
        }
        #expect(tooMany.value == 0, "\(hammer)")
        #expect(limiter.waiting == 0, "\(hammer)")
        clock.advance(by: .seconds(3_600))
        #expect(clock.sleepers == 0, "\(hammer)")
    }

    /// Returns `true` if the caller got its permits.
    private func takePermits(
        _ weight: Int,
        of limiter: RateLimiter,
        _ key: String,
        _ clock: ManualClock,
        _ random: inout RandomSource,
        _ name: String
    ) async -> Bool {
        let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
        let longest: Duration? = random.once(in: 3) ? .milliseconds(Int.random(in: 0...200, using: &random)) : nil
        switch limiter.take(weight, priority, key, waitingUpTo: longest, on: .manual(clock)) {
        case .taken:
            return true
        case .refused:
            return false
        case .impossible:
            Issue.record("\(name): a weight within the burst was refused")
            return false
        case .wait(let place, _):
            guard random.once(in: 3) else {
                do {
                    try await place.wait.value { limiter.left(place, key, on: .manual(clock)) }
                    return true
                } catch {
                    Issue.record("\(name): \(error)")
                    return false
                }
            }
            // The cancellation ends the wait at once. The caller leaves the queue or returns its permits later.
            await random.yield(upTo: 5)
            if place.wait.resume(with: .failure(CancellationError())) {
                await random.yield(upTo: 5)
                limiter.left(place, key, on: .manual(clock))
            } else {
                await random.yield(upTo: 5)
                limiter.giveBack(place, key, on: .manual(clock))
            }
            return false
        }
    }
}
