import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

/// The number of circuits, and many tasks at once.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
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

    @Test func hundredThousandKeysTakeNoMoreMemory() {
        var table = CircuitTable(.app)
        for number in 0..<100_000 {
            guard case .admitted(let pass?) = table.admit("\(number)", at: .zero, probeLimit: .seconds(10)).admission
            else {
                Issue.record("the request is not admitted")
                return
            }
            _ = table.record(.failure(.error(.connection)), of: pass, hasHead: false, at: .zero)
        }
        #expect(table.keys.count == CircuitTable.limit)
    }

    @Test func requestsPassUncountedWhileEachCircuitIsOpen() {
        var table = CircuitTable(.init(connectionFailures: 1))
        for number in 0..<1_000 {
            guard case .admitted(let pass) = table.admit("\(number)", at: .zero, probeLimit: .seconds(10)).admission
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
        let admission = table.admit("new", at: .seconds(60), probeLimit: .seconds(10)).admission
        guard case .admitted(.some) = admission else {
            Issue.record("the request is not counted")
            return
        }
    }

    @Test func resultOfARemovedCircuitHasNoEffectOnItsSuccessor() {
        var table = CircuitTable(.init(connectionFailures: 1))
        guard case .admitted(let pass?) = table.admit("old", at: .zero, probeLimit: .seconds(10)).admission else {
            Issue.record("the request is not admitted")
            return
        }
        for number in 0..<CircuitTable.limit {
            _ = table.admit("\(number)", at: .seconds(1), probeLimit: .seconds(10))
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
