import Foundation
import HTTPTypes
import Networking
import NetworkingCore
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct StackShutdownTests {
    private let clock = ManualClock()
    private let held = HeldResponse()
    private let request = HTTPRequestData(authority: "example.com", path: "/")

    private var environment: NetworkEnvironment {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        return environment
    }

    /// Returns a task that drains on the clock of the test.
    private func draining(_ shutdown: StackShutdown) -> Task<StackShutdown.Report, any Error> {
        let environment = environment
        return Task { try await withEnvironment(environment) { try await shutdown.drain() } }
    }

    // MARK: Calls after the start

    @Test func refusesCallsAfterTheStart() async throws {
        let transport = MockTransport { _ in .ok() }
        let shutdown = StackShutdown()
        let network = transport.drained(by: shutdown)
        #expect(!shutdown.isStarted)
        try await network.data(request)
        try await shutdown.drain()
        #expect(shutdown.isStarted)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .rejected)
        #expect(error?.kind.meaning == .rejected)
        #expect(error?.reason.contains("nothing was sent") == true)
        #expect(error?.recoverySuggestion?.contains("Wait a moment") == false)
        #expect(transport.requests.count == 1)
    }

    @Test func reportsTheRefusalToListeners() async throws {
        let shutdown = StackShutdown()
        let recorder = EventRecorder()
        let network = MockTransport { _ in .ok() }.drained(by: shutdown).observed(by: recorder)
        try await shutdown.drain()
        _ = try? await network.data(request)
        #expect(recorder.events.contains { if case ShutdownEvent.refused = $0 { true } else { false } })
        #expect("\(ShutdownEvent.refused) \(ShutdownEvent.cancelled)" == "shutdownRefused shutdownCancelled")
    }

    @Test func outboxKeepsARequestThatIsRefused() async throws {
        let shutdown = StackShutdown()
        let outbox = Outbox(in: MemoryOutboxStore(), over: MockTransport { _ in .ok() }.drained(by: shutdown))
        try await shutdown.drain()
        try await outbox.enqueue(HTTPRequestData(method: .post, authority: "example.com", path: "/orders"))
        _ = try? await outbox.flush()
        #expect(try await outbox.entries().count == 1)
    }

    // MARK: Calls in flight

    @Test func waitsForTheCallsInFlight() async throws {
        let shutdown = StackShutdown()
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let calls = (1...3).map { _ in Task { try await network.data(request).status } }
        try await held.waitForRequests(3)
        #expect(shutdown.inFlight == 3)
        let drain = draining(shutdown)
        try await clock.waitForSleepers()
        #expect(shutdown.isStarted && shutdown.inFlight == 3)
        held.respond()
        for call in calls {
            #expect(try await call.value == .ok)
        }
        let report = try await drain.value
        #expect((report.completed, report.cancelled, report.unfinished) == (3, 0, 0))
        #expect("\(report)" == "3 completed, 0 cancelled")
        #expect(clock.sleepers == 0)
    }

    @Test func callInFlightKeepsItsRetries() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .held(by: held)])
        let shutdown = StackShutdown()
        let network = transport.retry(.constant(.seconds(1))).drained(by: shutdown)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request).status }
        try await clock.waitForSleepers()
        let drain = draining(shutdown)
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        try await held.waitForRequests()
        held.respond()
        #expect(try await call.value == .ok)
        #expect(try await drain.value.completed == 1)
    }

    @Test func cancelsTheRestAtTheLimit() async throws {
        let shutdown = StackShutdown(within: .seconds(7))
        let recorder = EventRecorder()
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown).observed(by: recorder)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        let drain = draining(shutdown)
        try await clock.advance(by: .seconds(6), afterSleepers: 1)
        #expect(held.cancellations == 0)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        // The server may have processed the request.
        #expect(error?.kind.meaning == .interrupted)
        #expect(error?.reason.contains("limit of 7.0 seconds") == true)
        #expect(held.cancellations == 1)
        #expect(recorder.events.contains { if case ShutdownEvent.cancelled = $0 { true } else { false } })
        let report = try await drain.value
        #expect((report.completed, report.cancelled, report.unfinished) == (0, 1, 0))
        #expect("\(report)" == "0 completed, 1 cancelled")
    }

    @Test func zeroCancelsAtOnce() async throws {
        let shutdown = StackShutdown(within: .zero)
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        #expect(try await draining(shutdown).value.cancelled == 1)
        await #expect(throws: NetworkingError.self) { try await call.value }
    }

    @Test func callerThatIsCancelledLeaves() async throws {
        let shutdown = StackShutdown()
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(shutdown.inFlight == 0)
    }

    @Test func doesNotWaitForeverForAPartThatIgnoresCancellation() async throws {
        let shutdown = StackShutdown(within: .seconds(1))
        // A task of its own, whose result is awaited without passing the cancellation on.
        let network = MockTransport { _ in .held(by: held) }
            .modified(
                Sending { request, upstream in
                    let task = Task { try await upstream.send(request) }
                    return try await task.value
                }
            )
            .drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        let drain = draining(shutdown)
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        let report = try await drain.value
        #expect((report.cancelled, report.unfinished) == (1, 1))
        #expect("\(report)" == "0 completed, 1 cancelled, 1 unfinished")
        held.respond()
        #expect(try await call.value.status == .ok)
    }

    @Test func openStreamCountsUntilItEnds() async throws {
        let gate = MockGate()
        let shutdown = StackShutdown()
        let network = MockTransport { _ in .chunks(["one", .wait(for: gate), "two"]) }.drained(by: shutdown)
        try await network.stream(request) { _, stream in
            let drain = draining(shutdown)
            try await clock.waitForSleepers()
            #expect(shutdown.inFlight == 1)
            gate.open()
            var text = ""
            for try await chunk in stream {
                text += String(decoding: chunk, as: UTF8.self)
            }
            #expect(text == "onetwo")
            #expect(try await drain.value.completed == 1)
        }
    }

    // MARK: Callers of drain

    @Test func severalCallersGetOneReport() async throws {
        let closed = Mutex(0)
        let shutdown = StackShutdown { closed.withLock { $0 += 1 } }
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        let first = draining(shutdown)
        try await clock.waitForSleepers()
        let second = draining(shutdown)
        held.respond()
        _ = try await call.value
        #expect(try await first.value.completed == 1)
        #expect(try await second.value.completed == 1)
        #expect(try await shutdown.drain().completed == 1)
        #expect(closed.withLock { $0 } == 1)
    }

    @Test func oneOfTwoCallersMayLeave() async throws {
        let shutdown = StackShutdown()
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        let first = draining(shutdown)
        try await clock.waitForSleepers()
        // It runs up to its wait before the first caller leaves.
        let second = OwnedTask.immediate { try await shutdown.drain() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(held.cancellations == 0)
        held.respond()
        #expect(try await call.value.status == .ok)
        #expect(try await second.value.completed == 1)
    }

    @Test func shutdownContinuesAtOnceWhenItsOnlyCallerIsCancelled() async throws {
        let transport = Closable()
        let shutdown = StackShutdown()
        let network = transport.drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await transport.held.waitForRequests()
        let drain = draining(shutdown)
        try await clock.waitForSleepers()
        drain.cancel()
        await #expect(throws: CancellationError.self) { try await drain.value }
        await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(try await shutdown.drain().cancelled == 1)
        #expect(transport.shutdowns == 1)
    }

    // MARK: Transports

    @Test func shutsEachTransportDownAfterTheCalls() async throws {
        let journal = Journal()
        let transport = Closable(journal)
        let shutdown = StackShutdown { journal.note("closed") }
        let network = AnyNetworkingComponent(
            transport.drained(by: shutdown, counting: .background).retry().drained(by: shutdown)
        )
        let call = Task { try await network.data(request) }
        try await transport.held.waitForRequests()
        let drain = draining(shutdown)
        try await clock.waitForSleepers()
        #expect(journal.entries.isEmpty)
        transport.held.respond()
        _ = try await call.value
        #expect(try await drain.value.failures.isEmpty)
        #expect(journal.entries == ["shut down", "closed"])
        #expect(network.closableTransports.count == 1)
        #expect(MockTransport().retry().closableTransports.isEmpty)
    }

    @Test func reportsTransportsThatCannotBeClosed() async throws {
        let transport = Closable(failing: true)
        let shutdown = StackShutdown { throw URLError(.cannotWriteToFile) }
        _ = transport.drained(by: shutdown)
        let report = try await shutdown.drain()
        #expect(transport.shutdowns == 1)
        #expect(report.failures.map { ($0 as? URLError)?.code } == [.cannotConnectToHost, .cannotWriteToFile])
        #expect("\(report)" == "0 completed, 0 cancelled, 2 failures")
    }

    @Test func transportThatDoesNotCloseIsCancelled() async throws {
        let shutdown = StackShutdown { [clock] in try await clock.sleep(until: .init(offset: .seconds(60))) }
        let drain = draining(shutdown)
        // The sleep and its limit.
        try await clock.advance(by: .seconds(5), afterSleepers: 2)
        #expect(try await drain.value.failures.count == 1)
    }

    @Test func drainEndsAlthoughACloseIgnoresItsCancellation() async throws {
        let (stuck, closing) = (Suspension<Void>(), Suspension<Void>())
        let shutdown = StackShutdown {
            closing.resume()
            await never(stuck)
        }
        let transport = Stubborn(stuck)
        let other = Closable()
        _ = transport.drained(by: shutdown)
        _ = other.drained(by: shutdown)
        let drain = draining(shutdown)
        // The transport, and then the closure.
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        try await closing.value(until: nil)
        clock.advance(by: .seconds(5))
        let report = try await drain.value
        #expect(report.failures.count == 2)
        #expect(report.failures.allSatisfy { "\($0)".contains("not closed within 5") })
        #expect(other.shutdowns == 1)
        stuck.resume(with: .success(()))
    }

    @Test func doesNotRetainTransports() {
        let shutdown = StackShutdown()
        weak var transport: Closable?
        do {
            let new = Closable()
            transport = new
            _ = new.drained(by: shutdown)
        }
        #expect(transport == nil)
    }

    #if URLSession
    @Test func urlSessionTransportRejectsExchangesAfterItsShutdown() async throws {
        let transport = URLSessionTransport()
        let shutdown = StackShutdown()
        _ = transport.retry().drained(by: shutdown)
        try await shutdown.drain()
        transport.shutdown()
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(HTTPRequestData(authority: "localhost:9", path: "/"))
        }
        #expect(error?.kind == .rejected)
        #expect(transport.outline == "URLSessionTransport")
    }
    #endif

    // MARK: Work in the background

    @Test func countsWorkInTheBackground() async throws {
        let transport = MockTransport([
            .ok(headerFields: [.cacheControl: "max-age=1, stale-while-revalidate=60"]), .held(by: held),
        ])
        let shutdown = StackShutdown()
        let network = transport.drained(by: shutdown, counting: .background).cached().drained(by: shutdown)
            .environment(\.clock, .manual(clock))
        try await network.data(request)
        clock.advance(by: .seconds(5))
        // The stale response, and a revalidation without a caller.
        #expect(try await network.data(request).status == .ok)
        try await held.waitForRequests()
        try await eventually("only the revalidation is in flight") { shutdown.inFlight == 1 }
        let drain = draining(shutdown)
        try await clock.waitForSleepers()
        held.respond()
        #expect(try await drain.value.completed == 1)
    }

    @Test func admitsWorkInTheBackgroundUntilTheCallsHaveEnded() async throws {
        let shutdown = StackShutdown()
        let background = MockTransport { _ in .ok() }.drained(by: shutdown, counting: .background)
        let network = MockTransport { _ in .held(by: held) }.drained(by: shutdown)
        let call = Task { try await network.data(request) }
        try await held.waitForRequests()
        let drain = draining(shutdown)
        try await clock.waitForSleepers()
        #expect(try await background.data(request).status == .ok)
        await #expect(throws: NetworkingError.self) { try await network.data(request) }
        held.respond()
        _ = try await call.value
        _ = try await drain.value
        await #expect(throws: NetworkingError.self) { try await background.data(request) }
    }

    // MARK: The stack

    @Test func outlineAndDiagnostics() {
        let shutdown = StackShutdown()
        let transport = MockTransport()
        let right = transport.drained(by: shutdown, counting: .background).retry().cached().drained(by: shutdown)
        #expect(right.outline.hasPrefix("drained(counting: calls)\n"))
        #expect(right.diagnostics.isEmpty)
        let inside = transport.drained(by: shutdown).retry()
        #expect(inside.diagnostics.map(\.message).first?.hasPrefix("drained(counting: calls) is inside retry") == true)
        let outside = transport.cached().drained(by: shutdown, counting: .background)
        #expect(outside.diagnostics.map(\.message).first?.contains("is outside cached") == true)
        #expect(right.modifiers.first?.stackPart.roles == [.draining])
    }
}

/// A transport with connections of its own.
private final class Closable: ClosableTransport {
    let held = HeldResponse()
    private let journal: Journal
    private let fails: Bool

    init(_ journal: Journal = Journal(), failing fails: Bool = false) {
        self.journal = journal
        self.fails = fails
    }

    var shutdowns: Int {
        journal.entries.count
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await MockTransport { [held] _ in .held(by: held) }.send(request)
    }

    func shutdown() async throws {
        journal.note("shut down")
        if fails { throw URLError(.cannotConnectToHost) }
    }
}

/// Waits although its task is cancelled.
private func never(_ stuck: Suspension<Void>) async {
    _ = try? await Task.detached { try await stuck.value(until: nil) }.value
}

/// A transport whose shutdown ignores cancellation.
private final class Stubborn: ClosableTransport {
    private let stuck: Suspension<Void>

    init(_ stuck: Suspension<Void>) {
        self.stuck = stuck
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await MockTransport().send(request)
    }

    func shutdown() async throws {
        await never(stuck)
    }
}
