#if URLSession && canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import TestSupport
import Testing

import Networking
@testable import NetworkingURLSession

/// Calls into URLSession, which block on Linux while its queue is busy.
///
/// In these tests, the queue is suspended.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct URLSessionCallsTests {
    private let queue = DispatchQueue(label: "URLSessionCallsTests")
    private let session = URLSession.forExchanges(.ephemeral)
    private let request = HTTPRequestData(scheme: "http", authority: "127.0.0.1:9", path: "/")

    private var calls: URLSessionCalls {
        URLSessionCalls(queue: queue, maximumLoad: 0)
    }

    private func exchange() -> URLSessionExchange {
        URLSessionExchange(request: request, cookies: nil, upload: nil, calls: calls)
    }

    /// Waits until the queue has made all its calls.
    private func drain() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    @Test func cancelledCallerReturnsWhileTheQueueIsBusyAndCreatesNoTask() async throws {
        let urlRequest = try URLRequest(request)
        let created = Mutex(0)
        let exchange = exchange()
        queue.suspend()
        exchange.start { [session] in
            created.withLock { $0 += 1 }
            return session.task(for: exchange, with: urlRequest, sending: nil)
        }
        let call = Task { try await exchange.respond() }
        call.cancel()
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
        queue.resume()
        await drain()
        #expect(created.withLock { $0 } == 0)
    }

    /// A protocol that never responds, so that a started task runs until it is cancelled.
    private final class SilentProtocol: URLProtocol {
        static let starts = Atomic(0)

        override class func canInit(with request: URLRequest) -> Bool {
            true
        }

        override class func canonicalRequest(for request: URLRequest) -> URLRequest {
            request
        }

        override func startLoading() {
            Self.starts.add(1, ordering: .relaxed)
        }

        override func stopLoading() {}
    }

    @Test func taskIsCancelledWithoutAStartIfItsCallerIsCancelledWhileItIsCreated() async throws {
        let urlRequest = try URLRequest(request)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [SilentProtocol.self]
        let session = URLSession.forExchanges(configuration)
        let exchange = exchange()
        let task = Mutex<URLSessionTask?>(nil)
        let (creating, isCreating) = AsyncStream.makeStream(of: Void.self)
        let isCancelled = DispatchSemaphore(value: 0)
        exchange.start { [session] in
            isCreating.yield()
            isCancelled.wait()
            let created = session.task(for: exchange, with: urlRequest, sending: nil)
            task.withLock { $0 = created }
            return created
        }
        let call = Task { try await exchange.respond() }
        for await _ in creating { break }
        call.cancel()
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
        isCancelled.signal()
        await drain()
        let created = try #require(task.withLock { $0 })
        try #require(created.state == .canceling || created.state == .completed)
        // A start before the cancellation would have reached the protocol by then.
        try await eventually("created.state == .completed") { created.state == .completed }
        #expect(SilentProtocol.starts.load(ordering: .relaxed) == 0)
    }

    @Test(arguments: [URLSessionTransport.ConnectionReuse.always, .sameCredentials, .never])
    func sessionOfACancelledCallIsInvalidatedAfterItsTask(reuse: URLSessionTransport.ConnectionReuse) async {
        queue.suspend()
        do {
            let pool = URLSessionPool(.ephemeral, reuse: reuse, calls: calls)
            let request = request
            let call = Task { try await pool.exchange(request) }
            call.cancel()
            let result = await call.result
            #expect(throws: CancellationError.self) { try result.get() }
        }
        queue.resume()
        await drain()
    }

    // MARK: Threads of the calls

    /// Returns `true` if a call is made before `start` returns.
    private func isMadeImmediately(by calls: URLSessionCalls) -> Bool {
        let isMade = Flag()
        calls.start { isMade.set() }
        return isMade.isSet
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)

        var isSet: Bool { value.load(ordering: .relaxed) }

        func set() {
            value.store(true, ordering: .relaxed)
        }
    }

    @Test func callIsMadeImmediatelyWhileFewExchangesAreInProgress() {
        let calls = URLSessionCalls(queue: queue, maximumLoad: 2)
        queue.suspend()
        defer { queue.resume() }
        let first = URLSessionCalls.Load(on: calls)
        let second = URLSessionCalls.Load(on: calls)
        let third = URLSessionCalls.Load(on: calls)
        first.begin()
        second.begin()
        #expect(isMadeImmediately(by: calls))
        third.begin()
        #expect(!isMadeImmediately(by: calls))
        second.end()
        second.end()
        #expect(isMadeImmediately(by: calls))
        second.begin()
        #expect(!isMadeImmediately(by: calls))
        first.end()
        second.end()
        third.end()
    }

    @Test func callIsMadeOnTheQueueDuringALongTransfer() {
        let calls = URLSessionCalls(queue: queue, maximumLoad: 2)
        queue.suspend()
        defer { queue.resume() }
        let load = URLSessionCalls.Load(on: calls)
        load.begin()
        load.transferred(64 << 10)
        #expect(isMadeImmediately(by: calls))
        load.transferred((64 << 10) + 1)
        load.transferred(1 << 20)
        #expect(!isMadeImmediately(by: calls))
        load.end()
        load.transferred(2 << 20)
        #expect(isMadeImmediately(by: calls))
    }

    @Test(arguments: [true, false])
    func exchangeAddsNoLoadAfterItsEnd(isCancelledBeforeItsStart: Bool) async throws {
        let urlRequest = try URLRequest(request)
        let calls = URLSessionCalls(queue: queue, maximumLoad: 0)
        let exchange = URLSessionExchange(
            request: request,
            cookies: nil,
            upload: nil,
            calls: calls
        )
        if isCancelledBeforeItsStart {
            let call = Task { try await exchange.respond() }
            call.cancel()
            _ = await call.result
        }
        exchange.start { [session] in session.task(for: exchange, with: urlRequest, sending: nil) }
        _ = await Task { try await exchange.respond() }.result
        await drain()
        #expect(isMadeImmediately(by: calls))
    }

    // MARK: Sent bytes

    private func error(_ happens: (URLSessionExchange) -> Void) async -> NetworkingError? {
        let exchange = exchange()
        happens(exchange)
        exchange.complete(with: URLError(.cannotConnectToHost))
        return await #expect(throws: NetworkingError.self) { try await exchange.respond() }
    }

    @Test func failureToConnectCountsAsLostConnectionIfBytesHaveLeft() async {
        #expect(await error { _ in }?.kind == .connection)
        #expect(await error { $0.sent(1) }?.kind == .connectionLost)
        #expect(await error { _ = $0.newBodyStream() }?.kind == .connectionLost)
    }
}
#endif
