import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience

@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
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
        counting slots: ConcurrencyLimiter
    ) async throws -> [Task<HTTPResponseData, any Error>] {
        var calls: [Task<HTTPResponseData, any Error>] = []
        for request in requests {
            let (flying, waiting) = (slots.inFlight, slots.waiting)
            calls.append(Task { try await network.data(request) })
            try await eventually("slots.inFlight + slots.waiting != flying + waiting") {
                slots.inFlight + slots.waiting != flying + waiting
            }
        }
        return calls
    }

    // MARK: Order

    @Test func limitAppliesToConcurrentRequests() async throws {
        let slots = ConcurrencyLimiter(max: 2)
        let network = transport.throttled(by: slots)
        let calls = try await send((1...5).map { request("\($0)") }, over: network, counting: slots)
        // Two requests with permits arrive in any order.
        try await eventually("two requests have arrived") { transport.arrived.count == 2 }
        #expect(Set(transport.arrived) == ["/1", "/2"])
        #expect((slots.inFlight, slots.waiting) == (2, 3))
        for number in 1...5 {
            transport.answer("/\(number)")
            _ = try await calls[number - 1].value
        }
        #expect(transport.arrived.dropFirst(2) == ["/3", "/4", "/5"])
        #expect(transport.peak == 2)
        #expect((slots.inFlight, slots.waiting) == (0, 0))
    }

    @Test func requestsOfHigherPriorityAreSentFirst() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots)
        let requests = [
            request("first"), request("low", .low), request("a"), request("high", .high), request("b"),
            request("higher", .high),
        ]
        let calls = try await send(requests, over: network, counting: slots)
        for name in ["first", "high", "higher", "a", "b", "low"] {
            try await transport.waitForArrival("/\(name)")
            transport.answer("/\(name)")
        }
        for call in calls {
            _ = try await call.value
        }
        #expect(transport.arrived == ["/first", "/high", "/higher", "/a", "/b", "/low"])
    }

    @Test func requestThatDisablesThrottlingIsNotLimited() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots)
        let calls = try await send([request("1"), request("2")], over: network, counting: slots)
        let passing = Task { try await network.data(request("now").with { $0.isThrottled = false }) }
        try await transport.waitForArrival("/now")
        #expect(transport.arrived == ["/1", "/now"])
        for name in ["/now", "/1", "/2"] {
            transport.answer(name)
        }
        _ = try await passing.value
        for call in calls {
            _ = try await call.value
        }
    }

    @Test func stacksCanShareALimiter() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let one = transport.throttled(by: slots)
        let other = transport.throttled(by: slots)
        let first = try await send([request("1")], over: one, counting: slots)
        let second = try await send([request("2")], over: other, counting: slots)
        #expect(transport.arrived == ["/1"])
        transport.answer("/1")
        transport.answer("/2")
        for call in first + second {
            _ = try await call.value
        }
        #expect(transport.peak == 1)
    }

    @Test func eachHostCanHaveItsOwnLimit() async throws {
        let slots = ConcurrencyLimiter(maxPerHost: 1)
        let network = transport.throttled(by: slots)
        let elsewhere = HTTPRequestData(authority: "other.example", path: "2")
        let calls = try await send([request("1"), elsewhere, request("3")], over: network, counting: slots)
        #expect(transport.arrived.sorted() == ["/1", "/2"])
        #expect((slots.inFlight, slots.waiting) == (2, 1))
        for name in ["/1", "/2", "/3"] {
            transport.answer(name)
        }
        for call in calls {
            _ = try await call.value
        }
        #expect((slots.inFlight, slots.waiting) == (0, 0))
    }

    @Test func errorReturnsThePermit() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = MockTransport([.failure(NetworkingError(.timeout, request: .lawful)), .ok()])
            .throttled(by: slots)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(slots.inFlight == 0)
        #expect(try await network.data(.lawful).status == .ok)
    }

    // MARK: Limits of waiting

    @Test func fullQueueRejectsRequests() async throws {
        let slots = ConcurrencyLimiter(max: 1, queue: 1)
        let network = transport.throttled(by: slots)
        let calls = try await send([request("1"), request("2")], over: network, counting: slots)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request("3")) }
        #expect(error?.kind == .rejected)
        #expect(error?.request.path == "/3")
        transport.answer("/1")
        transport.answer("/2")
        for call in calls {
            _ = try await call.value
        }
    }

    @Test func fullQueueRejectsTheLowestPriority() async throws {
        let slots = ConcurrencyLimiter(max: 1, queue: 2)
        let network = transport.throttled(by: slots)
        let waiting = [request("1"), request("low", .low), request("lower", .low)]
        let calls = try await send(waiting, over: network, counting: slots)
        let urgent = Task { try await network.data(request("urgent", .high)) }
        let error = await #expect(throws: NetworkingError.self) { try await calls[2].value }
        #expect(error?.kind == .rejected)
        for name in ["/1", "/urgent", "/low"] {
            transport.answer(name)
        }
        _ = try await (calls[0].value, urgent.value, calls[1].value)
        #expect(transport.arrived == ["/1", "/urgent", "/low"])
    }

    @Test func waitBeyondTheMaximumIsRejected() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots, maximumWait: .seconds(5)).environment(\.clock, .manual(clock))
        let calls = try await send([request("1"), request("2")], over: network, counting: slots)
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        let error = await #expect(throws: NetworkingError.self) { try await calls[1].value }
        #expect(error?.kind == .rejected)
        #expect(error?.reason.contains("5.0 seconds") == true)
        #expect(slots.waiting == 0)
        transport.answer("/1")
        _ = try await calls[0].value
        #expect(clock.sleepers == 0)
    }

    @Test func maximumWaitOfZeroRejectsAtOnce() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots, maximumWait: .zero)
        let calls = try await send([request("1")], over: network, counting: slots)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request("2")) }
        #expect(error?.kind == .rejected)
        transport.answer("/1")
        _ = try await calls[0].value
    }

    // MARK: Cancellation

    @Test(arguments: [1, 2, 3])
    func cancelledWaiterDoesNotBlockTheQueue(position: Int) async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots)
        let calls = try await send((0...3).map { request("\($0)") }, over: network, counting: slots)
        calls[position].cancel()
        await #expect(throws: CancellationError.self) { try await calls[position].value }
        #expect(slots.waiting == 2)
        for number in 0...3 where number != position {
            try await transport.waitForArrival("/\(number)")
            transport.answer("/\(number)")
            _ = try await calls[number].value
        }
        #expect(transport.arrived.count == 3)
        #expect((slots.inFlight, slots.waiting) == (0, 0))
    }

    @Test func cancelledRequestReturnsItsPermit() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots)
        let calls = try await send([request("1"), request("2")], over: network, counting: slots)
        calls[0].cancel()
        await #expect(throws: CancellationError.self) { try await calls[0].value }
        transport.answer("/2")
        _ = try await calls[1].value
        #expect(slots.inFlight == 0)
    }

    @Test func cancellationAtTheTimeOfItsPermitLosesNoPermit() async throws {
        for round in 0..<200 {
            let slots = ConcurrencyLimiter(max: 1)
            let transport = CountedTransport()
            let network = transport.throttled(by: slots)
            let calls = try await send((0...2).map { request("\($0)") }, over: network, counting: slots)
            transport.answer("/1")
            transport.answer("/2")
            async let answered: Void = transport.answer("/0")
            async let cancelled: Void = calls[1].cancel()
            _ = await (answered, cancelled)
            for call in calls {
                _ = await call.result
            }
            #expect((slots.inFlight, slots.waiting) == (0, 0), "in round \(round)")
        }
    }

    // MARK: Bodies

    @Test func readerPacedBodyHoldsNoPermit() async throws {
        struct Reader: ResponseSink {
            let isReaderPaced = true
            let slots: ConcurrencyLimiter
            let seen: Journal

            func receive(_ chunk: Data) async throws {
                seen.note("\(slots.inFlight)")
            }
        }
        let slots = ConcurrencyLimiter(max: 1)
        let seen = Journal()
        let request = request("stream").with { $0.sink = Reader(slots: slots, seen: seen) }
        _ = try await MockTransport([.pieces(["x"])]).throttled(by: slots).data(request)
        #expect(seen.entries.first == "0")
        #expect(slots.inFlight == 0)
    }

    // MARK: Load

    @Test func queueOfTenThousandDrains() async throws {
        let slots = ConcurrencyLimiter(max: 6)
        let answer = HeldAnswer()
        let transport = MockTransport { _ in .held(by: answer) }
        // Six requests hold all permits until the other ones are waiting.
        let holders = (0..<6)
            .map { _ in
                Task { try await transport.throttled(by: slots).data(.lawful) }
            }
        try await eventually("slots.inFlight >= 6") { slots.inFlight >= 6 }
        // The test enqueues the waiters in order itself. A task for each would test the scheduler.
        let places = (0..<10_000).map { _ in slots.enqueue(.normal, nil, refusal: CancellationError())! }
        let cancelled = Set(stride(from: 0, to: 10_000, by: 3))
        for number in cancelled {
            slots.leave(places[number], nil, with: CancellationError())
        }
        #expect(slots.waiting == 10_000 - cancelled.count)
        let served = await withTaskGroup(of: Bool.self) { group in
            for (number, place) in places.enumerated() where !cancelled.contains(number) {
                group.addTask {
                    guard (try? await place.wait.value()) != nil else { return false }
                    slots.giveBack(nil)
                    return true
                }
            }
            answer.answer()
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        for holder in holders {
            _ = await holder.result
        }
        #expect(served == 10_000 - cancelled.count)
        #expect((slots.inFlight, slots.waiting) == (0, 0))
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
    private let answers = Answers()
    private let recorder = RequestRecorder()

    var arrived: [String] {
        recorder.requests.map { $0.path ?? "/" }
    }

    var peak: Int {
        recorder.peakActive
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await MockTransport { .held(by: answers[$0.path ?? "/"]) }.recorded(by: recorder).send(request)
    }

    func answer(_ path: String) {
        answers[path].answer()
    }

    func waitForArrival(_ path: String) async throws {
        try await answers[path].waitForRequests()
    }

    private final class Answers: Sendable {
        private let answers = Mutex<[String: HeldAnswer]>([:])

        subscript(path: String) -> HeldAnswer {
            answers.withLock { answers in
                let answer = answers[path] ?? HeldAnswer()
                answers[path] = answer
                return answer
            }
        }
    }
}
