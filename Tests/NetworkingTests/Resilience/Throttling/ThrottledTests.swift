import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ThrottledTests {
    private let clock = ManualClock()
    private let transport = CountedTransport()

    private func request(_ name: String, _ priority: RequestPriority = .normal) -> HTTPRequestData {
        HTTPRequestData(authority: "example.com", path: name).with { $0.priority = priority }
    }

    /// Sends requests in a known order: each has been sent or is waiting before the next one is started.
    private func send(
        _ requests: [HTTPRequestData],
        over network: some NetworkingComponent,
        counting limiter: ConcurrencyLimiter
    ) async throws -> [Task<HTTPResponseData, any Error>] {
        var calls: [Task<HTTPResponseData, any Error>] = []
        for request in requests {
            let (flying, waiting) = (limiter.inFlight, limiter.waiting)
            calls.append(Task { try await network.data(request) })
            try await eventually("limiter.inFlight + limiter.waiting != flying + waiting") {
                limiter.inFlight + limiter.waiting != flying + waiting
            }
        }
        return calls
    }

    // MARK: Order

    @Test func limitAppliesToConcurrentRequests() async throws {
        let limiter = ConcurrencyLimiter(max: 2)
        let network = transport.throttled(by: limiter)
        let calls = try await send((1...5).map { request("\($0)") }, over: network, counting: limiter)
        // Two requests with permits arrive in any order.
        try await eventually("two requests have arrived") { transport.arrived.count == 2 }
        #expect(Set(transport.arrived) == ["/1", "/2"])
        #expect((limiter.inFlight, limiter.waiting) == (2, 3))
        for number in 1...5 {
            transport.respond("/\(number)")
            _ = try await calls[number - 1].value
            // The request that got the permit has arrived before the next permit is given.
            try await eventually("the next request has arrived") { transport.arrived.count == min(number + 2, 5) }
        }
        #expect(transport.arrived.dropFirst(2) == ["/3", "/4", "/5"])
        #expect(transport.peak == 2)
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test func requestsOfHigherPriorityAreSentFirst() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter)
        let requests = [
            request("first"), request("low", .low), request("a"), request("high", .high), request("b"),
            request("higher", .high),
        ]
        let calls = try await send(requests, over: network, counting: limiter)
        for name in ["first", "high", "higher", "a", "b", "low"] {
            try await transport.waitForArrival("/\(name)")
            transport.respond("/\(name)")
        }
        for call in calls {
            _ = try await call.value
        }
        #expect(transport.arrived == ["/first", "/high", "/higher", "/a", "/b", "/low"])
    }

    @Test func requestThatDisablesThrottlingIsNotLimited() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter)
        let calls = try await send([request("1"), request("2")], over: network, counting: limiter)
        let passing = Task { try await network.data(request("now").with { $0.isThrottled = false }) }
        try await transport.waitForArrival("/now")
        #expect(transport.arrived == ["/1", "/now"])
        for name in ["/now", "/1", "/2"] {
            transport.respond(name)
        }
        _ = try await passing.value
        for call in calls {
            _ = try await call.value
        }
    }

    @Test func stacksCanShareALimiter() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let one = transport.throttled(by: limiter)
        let other = transport.throttled(by: limiter)
        let first = try await send([request("1")], over: one, counting: limiter)
        let second = try await send([request("2")], over: other, counting: limiter)
        #expect(transport.arrived == ["/1"])
        transport.respond("/1")
        transport.respond("/2")
        for call in first + second {
            _ = try await call.value
        }
        #expect(transport.peak == 1)
    }

    @Test func eachHostCanHaveItsOwnLimit() async throws {
        let limiter = ConcurrencyLimiter(maxPerHost: 1)
        let network = transport.throttled(by: limiter)
        let elsewhere = HTTPRequestData(authority: "other.example", path: "2")
        let calls = try await send([request("1"), elsewhere, request("3")], over: network, counting: limiter)
        #expect(transport.arrived.sorted() == ["/1", "/2"])
        #expect((limiter.inFlight, limiter.waiting) == (2, 1))
        for name in ["/1", "/2", "/3"] {
            transport.respond(name)
        }
        for call in calls {
            _ = try await call.value
        }
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test(arguments: ["API.example.com", "api.example.com:443"])
    func hostHasOneLimitInAnySpelling(authority: String) {
        let limiter = ConcurrencyLimiter(maxPerHost: 1)
        #expect(limiter.takeIfFree(limiter.key(for: HTTPRequestData(authority: "api.example.com"))))
        #expect(!limiter.takeIfFree(limiter.key(for: HTTPRequestData(authority: authority))))
    }

    @Test func errorReturnsThePermit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = MockTransport([.failure(NetworkingError(.timeout, request: .lawful)), .ok()])
            .throttled(by: limiter)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(limiter.inFlight == 0)
        #expect(try await network.data(.lawful).status == .ok)
    }

    // MARK: Limits of waiting

    @Test func fullQueueRejectsRequests() async throws {
        let limiter = ConcurrencyLimiter(max: 1, queue: 1)
        let network = transport.throttled(by: limiter)
        let calls = try await send([request("1"), request("2")], over: network, counting: limiter)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request("3")) }
        #expect(error?.kind == .rejected)
        #expect(error?.request.path == "/3")
        transport.respond("/1")
        transport.respond("/2")
        for call in calls {
            _ = try await call.value
        }
    }

    @Test func fullQueueRejectsTheLowestPriority() async throws {
        let limiter = ConcurrencyLimiter(max: 1, queue: 2)
        let network = transport.throttled(by: limiter)
        let waiting = [request("1"), request("low", .low), request("lower", .low)]
        let calls = try await send(waiting, over: network, counting: limiter)
        let urgent = Task { try await network.data(request("urgent", .high)) }
        let error = await #expect(throws: NetworkingError.self) { try await calls[2].value }
        #expect(error?.kind == .rejected)
        #expect(error?.request.path == "/lower")
        for name in ["/1", "/urgent", "/low"] {
            transport.respond(name)
        }
        _ = try await (calls[0].value, urgent.value, calls[1].value)
        #expect(transport.arrived == ["/1", "/urgent", "/low"])
    }

    @Test func waitBeyondTheMaximumIsRejected() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter, maximumWait: .seconds(5)).environment(\.clock, .manual(clock))
        let calls = try await send([request("1"), request("2")], over: network, counting: limiter)
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        let error = await #expect(throws: NetworkingError.self) { try await calls[1].value }
        #expect(error?.kind == .rejected)
        #expect(error?.reason.contains("5.0 seconds") == true)
        #expect(limiter.waiting == 0)
        transport.respond("/1")
        _ = try await calls[0].value
        #expect(clock.sleepers == 0)
    }

    @Test func maximumWaitOfZeroRejectsAtOnce() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter, maximumWait: .zero)
        let calls = try await send([request("1")], over: network, counting: limiter)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request("2")) }
        #expect(error?.kind == .rejected)
        transport.respond("/1")
        _ = try await calls[0].value
    }

    // MARK: Cancellation

    @Test(arguments: [1, 2, 3])
    func cancelledWaiterDoesNotBlockTheQueue(position: Int) async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter)
        let calls = try await send((0...3).map { request("\($0)") }, over: network, counting: limiter)
        calls[position].cancel()
        await #expect(throws: CancellationError.self) { try await calls[position].value }
        #expect(limiter.waiting == 2)
        for number in 0...3 where number != position {
            try await transport.waitForArrival("/\(number)")
            transport.respond("/\(number)")
            _ = try await calls[number].value
        }
        #expect(transport.arrived.count == 3)
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test func cancelledRequestReturnsItsPermit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter)
        let calls = try await send([request("1"), request("2")], over: network, counting: limiter)
        calls[0].cancel()
        await #expect(throws: CancellationError.self) { try await calls[0].value }
        transport.respond("/2")
        _ = try await calls[1].value
        #expect(limiter.inFlight == 0)
    }

    @Test func cancellationAtTheTimeOfItsPermitLosesNoPermit() async throws {
        for round in 0..<200 {
            let limiter = ConcurrencyLimiter(max: 1)
            let transport = CountedTransport()
            let network = transport.throttled(by: limiter)
            let calls = try await send((0...2).map { request("\($0)") }, over: network, counting: limiter)
            transport.respond("/1")
            transport.respond("/2")
            async let response: Void = transport.respond("/0")
            async let cancelled: Void = calls[1].cancel()
            _ = await (response, cancelled)
            for call in calls {
                _ = await call.result
            }
            #expect((limiter.inFlight, limiter.waiting) == (0, 0), "in round \(round)")
        }
    }

    // MARK: Bodies

    @Test func readerPacedBodyHoldsNoPermit() async throws {
        struct Reader: ResponseSink {
            let isReaderPaced = true
            let limiter: ConcurrencyLimiter
            let seen: Journal

            func receive(_ chunk: Data) async throws {
                seen.note("\(limiter.inFlight)")
            }
        }
        let limiter = ConcurrencyLimiter(max: 1)
        let seen = Journal()
        let request = request("stream").with { $0.sink = Reader(limiter: limiter, seen: seen) }
        _ = try await MockTransport([.chunks(["x"])]).throttled(by: limiter).data(request)
        #expect(seen.entries.first == "0")
        #expect(limiter.inFlight == 0)
    }

    // MARK: Load

    @Test func queueOfTenThousandDrains() async throws {
        let limiter = ConcurrencyLimiter(max: 6)
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        // Six requests hold all permits until the other ones are waiting.
        let holders = (0..<6)
            .map { _ in
                Task { try await transport.throttled(by: limiter).data(.lawful) }
            }
        try await eventually("limiter.inFlight >= 6") { limiter.inFlight >= 6 }
        // The test enqueues the waiters in order itself. A task for each would test the scheduler.
        let places = (0..<10_000).map { _ in limiter.enqueue(.normal, nil)! }
        let cancelled = Set(stride(from: 0, to: 10_000, by: 3))
        for number in cancelled {
            places[number].wait.resume(with: .failure(CancellationError()))
            limiter.left(places[number], nil)
        }
        #expect(limiter.waiting == 10_000 - cancelled.count)
        let served = await withTaskGroup(of: Bool.self) { group in
            for (number, place) in places.enumerated() where !cancelled.contains(number) {
                group.addTask {
                    guard (try? await place.wait.value()) != nil else { return false }
                    limiter.giveBack(nil)
                    return true
                }
            }
            held.respond()
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        for holder in holders {
            _ = await holder.result
        }
        #expect(served == 10_000 - cancelled.count)
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test func waitersAreServedInOrder() {
        var queue = WaitQueue()
        var numbers = WaitNumbers()
        let places = (0..<10_000)
            .map { queue.enter($0 % 5 == 0 ? .high : .normal, weight: $0 % 2 + 1, numbered: &numbers) }
        for place in places where place.number % 3 == 0 {
            queue.leave(place)
        }
        let served = (0..<queue.count).compactMap { _ in queue.serve()?.number }
        let remaining = places.filter { $0.number % 3 != 0 }
        let expected = (remaining.filter { $0.priority == .high } + remaining.filter { $0.priority == .normal })
            .map(\.number)
        #expect(served == expected)
        #expect(queue.count == 0)
        #expect(queue.weight == 0)
        #expect(queue.serve() == nil)
    }

    // MARK: Settings

    @Test func outlineListsTheLimits() {
        #expect(MockTransport().throttled(max: 6).outline.hasPrefix("throttled(max: 6)\n"))
        let host = MockTransport().throttled(maxPerHost: 2, queue: 9, maximumWait: .seconds(3))
        #expect(host.outline.hasPrefix("throttled(maxPerHost: 2, queue: 9, maximumWait: 3.0 seconds)\n"))
    }
}

/// Returns the response for each path when the test sets it, and counts the requests in progress.
private struct CountedTransport: NetworkingComponent {
    private let responses = Responses()
    private let recorder = RequestRecorder()

    var arrived: [String] {
        recorder.requests.map { $0.path ?? "/" }
    }

    var peak: Int {
        recorder.peakActive
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await MockTransport { .held(by: responses[$0.path ?? "/"]) }.recorded(by: recorder).send(request)
    }

    func respond(_ path: String) {
        responses[path].respond()
    }

    func waitForArrival(_ path: String) async throws {
        try await responses[path].waitForRequests()
    }

    private final class Responses: Sendable {
        private let responses = Mutex<[String: HeldResponse]>([:])

        subscript(path: String) -> HeldResponse {
            responses.withLock { responses in
                let response = responses[path] ?? HeldResponse()
                responses[path] = response
                return response
            }
        }
    }
}
