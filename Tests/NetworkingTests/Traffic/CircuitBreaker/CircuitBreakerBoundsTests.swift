import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The number of circuits, and many tasks at once.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CircuitBreakerBoundsTests {
    private func keys(of breaker: CircuitBreaker) -> [String] {
        breaker.circuits.withTable { table, _ in table.keys }
    }

    @Test func leastRecentlyUsedCircuitMakesRoom() async {
        let bench = CircuitBench(key: { $0.path ?? "" })
        for number in 0..<256 {
            bench.clock.advance(by: .milliseconds(1))
            await bench.send(1, .lawful("/\(number)"))
        }
        bench.clock.advance(by: .milliseconds(1))
        await bench.send(1, .lawful("/0"))
        bench.clock.advance(by: .milliseconds(1))
        await bench.send(1, .lawful("/new"))
        let keys = keys(of: bench.breaker)
        #expect(keys.count == 256)
        #expect(keys.contains("/0") && keys.contains("/new"))
        #expect(!keys.contains("/1"))
    }

    @Test func openCircuitIsNotRemoved() async {
        let bench = CircuitBench(key: { $0.path ?? "" })
        bench.respond(with: .failure(.connection))
        await bench.send(5, .lawful("/open"))
        bench.respond(with: .ok())
        for number in 0..<2_000 {
            await bench.send(1, .lawful("/\(number)"))
        }
        #expect(keys(of: bench.breaker).count == 256)
        #expect(bench.breaker.state(of: "/open") == .open)
        #expect(await bench.send(1, .lawful("/open")) == 0)
        // After its break, a closed circuit makes room instead.
        bench.clock.advance(by: .seconds(10))
        for number in 2_000..<2_500 {
            await bench.send(1, .lawful("/\(number)"))
        }
        #expect(bench.breaker.state(of: "/open") == .halfOpen)
    }

    @Test func hundredThousandKeysTakeNoMoreMemoryAndOpenOnesStay() {
        var table = CircuitTable(.app)
        let open = (1...100).map { "open \($0)" }
        for key in open {
            for _ in 1...5 {
                guard case .admitted(let pass?) = table.admission(of: key, at: .zero)
                else {
                    Issue.record("the request is not admitted")
                    return
                }
                _ = table.record(.failure(.error(.connection)), of: pass, hasHead: false, at: .zero)
            }
        }
        for number in 0..<100_000 {
            guard case .admitted(let pass?) = table.admission(of: "\(number)", at: .zero)
            else {
                Issue.record("the request is not admitted")
                return
            }
            _ = table.record(.failure(.error(.connection)), of: pass, hasHead: false, at: .zero)
        }
        #expect(table.keys.count == CircuitTable.limit)
        #expect(open.allSatisfy { table.state(of: $0, at: .zero) == .open })
        // The last ones to be used are the others.
        let others = Set(table.keys).subtracting(open)
        #expect(others == Set((100_000 - CircuitTable.limit + 100..<100_000).map { "\($0)" }))
    }

    @Test func requestsPassUncountedWhileEachCircuitIsOpen() {
        var table = CircuitTable(.init(connectionFailures: 1))
        for number in 0..<1_000 {
            guard case .admitted(let pass) = table.admission(of: "\(number)", at: .zero)
            else {
                Issue.record("the request is not admitted")
                return
            }
            #expect((pass != nil) == (number < CircuitTable.limit))
            if let pass {
                _ = table.record(.failure(.error(.connection)), of: pass, hasHead: false, at: .zero)
            }
        }
        #expect(table.keys.count == CircuitTable.limit)
        #expect((0..<CircuitTable.limit).allSatisfy { table.state(of: "\($0)", at: .zero) == .open })
        // Open circuits whose time is over make room again.
        let admission = table.admission(of: "new", at: .seconds(60))
        guard case .admitted(.some) = admission else {
            Issue.record("the request is not counted")
            return
        }
    }

    @Test func resultOfARemovedCircuitHasNoEffectOnItsSuccessor() {
        var table = CircuitTable(.init(connectionFailures: 1))
        guard case .admitted(let pass?) = table.admission(of: "old", at: .zero) else {
            Issue.record("the request is not admitted")
            return
        }
        for number in 0..<CircuitTable.limit {
            _ = table.admission(of: "\(number)", at: .seconds(1))
        }
        #expect(!table.keys.contains("old"))
        _ = table.record(.failure(.error(.connection)), of: pass, hasHead: false, at: .seconds(1))
        #expect((0..<CircuitTable.limit).allSatisfy { table.state(of: "\($0)", at: .seconds(1)) == .closed })
    }

    @Test func keyMayBeNewForEachRequest() async {
        let count = Locked(0)
        let bench = CircuitBench(key: { _ in
            count.withLock { count in
                count += 1
                return "\(count)"
            }
        })
        bench.respond(with: .failure(.connection))
        #expect(await bench.send(2_000) == 2_000)
        #expect(keys(of: bench.breaker).count == 256)
    }

    /// The breaker calls code of the app: the key, the randomness and the listeners.
    @Test func codeOfTheAppMayUseTheBreaker() async {
        let shared = Locked<CircuitBreaker?>(nil)
        let bench = CircuitBench(key: { request in
            _ = shared.value?.state(of: "/check")
            return request.path ?? ""
        })
        let breaker = bench.breaker
        shared.withLock { $0 = breaker }
        let random = RandomSource {
            breaker.isolate()
            return 0
        }
        let network = bench.transport.circuitBreaker(by: breaker)
            .observed { event, _ in
                if event is CircuitBreakerEvent { breaker.close() }
            }
            .environment(\.clock, .manual(bench.clock)).environment(\.random, random)
        bench.respond(with: .failure(.connection))
        for _ in 1...20 {
            _ = try? await network.data(.lawful("/check"))
        }
        #expect(breaker.state(of: "/check") == .closed)
        #expect(bench.transport.requests.count == 20)
        shared.withLock { $0 = nil }
    }

    /// An executor with a thread of its own, which a test may block.
    private final class OwnThread: TaskExecutor {
        private let queue = DispatchQueue(label: "own thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test func keyThatBlocksDelaysNoOtherRequest() async throws {
        let isBlocked = Locked(false)
        let released = DispatchSemaphore(value: 0)
        let bench = CircuitBench(key: { request in
            if request.path == "/blocked" {
                isBlocked.withLock { $0 = true }
                released.wait()
            }
            return request.path ?? ""
        })
        let network = bench.network
        let blocked = Task(executorPreference: OwnThread()) { try await network.data(.lawful("/blocked")) }
        try await eventually("the key blocks") { isBlocked.value }
        #expect(await bench.send(3, .lawful("/other")) == 3)
        #expect(bench.breaker.statistics(of: "/other")?.calls == 3)
        bench.breaker.isolate()
        bench.breaker.close()
        released.signal()
        _ = try await blocked.value
        #expect(bench.breaker.statistics(of: "/blocked")?.calls == 1)
    }

    /// Threads that are admitted, and record results, while the circuit opens, is probed and closes.
    @Test func sixtyFourThreadsShareACircuit() async throws {
        let hammer = Hammer()
        let breaker = CircuitBreaker(.init(slowCalls: .init(after: .milliseconds(500)), closesAfter: 3))
        let circuits = breaker.circuits
        let clock = ManualClock()
        let time = NetworkClock.manual(clock)
        let (probes, tripped, closed) = (Locked((now: 0, highest: 0)), Locked(0), Locked(0))
        var states = breaker.states.makeAsyncIterator()
        @Sendable func run(_ random: inout RandomSource) {
            for _ in 0..<200 {
                // A probe takes less time than its limit, however long the system suspends its thread.
                guard let pass = try? circuits.admit(.lawful, "a", TimeLimits(whole: .seconds(86_400)), on: time) else {
                    clock.advance(by: .milliseconds(Int.random(in: 0...300, using: &random)))
                    continue
                }
                let call = CircuitCall(pass, through: circuits, inside: nil)
                if pass.isProbe {
                    probes.withLock { $0 = ($0.now + 1, max($0.highest, $0.now + 1)) }
                }
                if random.once(in: 3) {
                    call.requestWaits()
                    clock.advance(by: .milliseconds(Int.random(in: 0...100, using: &random)))
                    try? circuits.confirm(HTTPRequestData.lawful.with { $0.circuitCall = call }, "a")
                }
                if random.once(in: 3), let pass = call.receiveHead(), !pass.isProbe {
                    circuits.receiveHead(of: .lawful, "a", pass, on: time)
                }
                if pass.isProbe {
                    probes.withLock { $0.now -= 1 }
                }
                let result: CircuitResult =
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0, 1: .failure(.error(.connection))
                    case 2: .nothing
                    default: .success
                    }
                let end = call.end()
                circuits.record(result, of: .lawful, "a", end.pass, end, on: time)
                _ = breaker.statistics(of: "a")
            }
        }
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let left = Locked(64)
            for number in 0..<64 {
                Thread.detachNewThread {
                    var random = hammer.random(number)
                    run(&random)
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { done.resume() }
                }
            }
        }
        breaker.isolate()
        while let change = await states.next(), change.state != .isolated {
            tripped.withLock { $0 += change.state == .open ? 1 : 0 }
            closed.withLock { $0 += change.state == .closed ? 1 : 0 }
        }
        #expect(probes.value.highest == 1, "\(hammer)")
        #expect(tripped.value > 3 && closed.value > 0, "\(hammer)")
        breaker.close()
        let pass = try #require(try circuits.admit(.lawful, "a", TimeLimits(), on: time))
        circuits.record(.success, of: .lawful, "a", pass, nil, on: time)
        let statistics = try #require(breaker.statistics(of: "a"))
        #expect((statistics.state, statistics.calls, statistics.slow) == (.closed, 1, 0), "\(hammer)")
    }

    /// Many tasks at once, with a server that fails, hangs and recovers.
    @Test func tasksShareABreaker() async throws {
        let hammer = Hammer()
        var policy = CircuitBreaker.Policy.app
        policy.slowCalls = .init(after: .milliseconds(300))
        let breaker = CircuitBreaker(policy)
        let clock = ManualClock()
        let isDown = Locked(false)
        let transport = MockTransport { request in
            isDown.value ? .failure(.connection) : .ok()
        }
        let network = transport.circuitBreaker(by: breaker).environment(\.clock, .manual(clock))
        await hammer.run(tasks: 64, rounds: 100) { random, _, _ in
            switch Int.random(in: 0..<20, using: &random) {
            case 0: clock.advance(by: .milliseconds(Int.random(in: 0...2_000, using: &random)))
            case 1: isDown.withLock { $0.toggle() }
            case 2 where random.once(in: 10): breaker.isolate()
            case 3 where random.once(in: 2): breaker.close()
            case 4:
                let call = Task { try await network.data(.lawful) }
                await random.yield(upTo: 3)
                call.cancel()
                _ = await call.result
            default: _ = try? await network.data(.lawful)
            }
        }
        isDown.withLock { $0 = false }
        breaker.close()
        for _ in 1...3 {
            try await network.data(.lawful)
        }
        let statistics = try #require(breaker.statistics(of: "laws.example"))
        #expect(statistics.state == .closed, "\(hammer)")
        #expect(statistics.calls == 3, "\(hammer)")
        #expect(statistics.failures == 0, "\(hammer)")
    }
}

extension CircuitTable {
    fileprivate mutating func admission(of key: String, at now: Duration) -> Admission {
        admit(key, at: now, probeLimit: .seconds(10), marking: { _ in HeldLimits() }).admission
    }
}
