#if URLSession && canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

import Networking
@testable import NetworkingURLSession

/// Tasks that are created, started, cancelled and released while their callers are cancelled at random moments.
///
/// No server listens at the port, so each task also ends by itself.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct URLSessionCallsHammerTests {
    private static let request = HTTPRequestData(scheme: "http", authority: "127.0.0.1:9", path: "/")

    /// The moment at which the caller of one exchange is cancelled.
    private enum Cancellation: CaseIterable {
        case never
        case beforeTheCreation
        case duringTheCreation
        case later
    }

    /// Without a permitted load, tasks are created on the queue.
    ///
    /// With one, most are created on the threads of their callers.
    @Test(arguments: [0, 16])
    func everyCallEndsAndItsTaskIsReleased(maximumLoad: Int) async throws {
        let hammer = Hammer()
        let queue = DispatchQueue(label: "URLSessionCallsHammerTests")
        let calls = URLSessionCalls(queue: queue, maximumLoad: maximumLoad)
        let session = URLSession.forExchanges(.ephemeral)
        let urlRequest = try URLRequest(Self.request)
        let objects = WatchedObjects()
        await hammer.run(tasks: 8, rounds: 150) { random, task, round in
            let name = "\(hammer), task \(task), round \(round)"
            await run(&random, session, urlRequest, calls, objects, name)
        }
        calls.end { session.finishTasksAndInvalidate() }
        let count = await objects.countAtEnd()
        #expect(count == 0, "\(hammer)")
    }

    private func run(
        _ random: inout RandomSource,
        _ session: URLSession,
        _ urlRequest: URLRequest,
        _ calls: URLSessionCalls,
        _ objects: WatchedObjects,
        _ name: String
    ) async {
        let exchange = URLSessionExchange(
            request: Self.request,
            cookies: nil,
            upload: nil,
            calls: calls
        )
        objects.watch(exchange)
        let cancellation = Cancellation.allCases.randomElement(using: &random) ?? .never
        let place = Mutex<Task<HTTPResponseData, any Error>?>(nil)
        let created = Mutex(0)
        let start = { @Sendable in
            exchange.start {
                created.withLock { $0 += 1 }
                if cancellation == .duringTheCreation {
                    place.withLock { $0 }?.cancel()
                }
                let task = session.task(for: exchange, with: urlRequest, sending: nil)
                objects.watch(task)
                return task
            }
        }
        let call = Task { try await exchange.respond() }
        place.withLock { $0 = call }
        if cancellation == .beforeTheCreation {
            call.cancel()
            _ = await call.result
        }
        start()
        if cancellation == .later {
            await random.yield(upTo: 100)
            call.cancel()
        }
        let result = await call.result
        place.withLock { $0 = nil }
        switch result {
        case .success:
            Issue.record("\(name): a response without a server")
        case .failure(let error as NetworkingError):
            #expect(cancellation != .beforeTheCreation && error.kind == .connection, "\(name): \(error)")
        case .failure(let error):
            #expect(cancellation != .never && error is CancellationError, "\(name): \(error)")
        }
        // The queue has passed the start of this exchange, because this task added both jobs.
        await withCheckedContinuation { continuation in
            calls.interrupt { continuation.resume() }
        }
        #expect(created.withLock { $0 } <= (cancellation == .beforeTheCreation ? 0 : 1), "\(name)")
    }

    /// Creating a task on an invalidated session would terminate the process.
    @Test func poolIsReleasedWhileItsCallsAreCancelled() async {
        let hammer = Hammer()
        let objects = WatchedObjects()
        await hammer.run(tasks: 4, rounds: 25) { random, _, _ in
            await releasePool(&random, objects)
        }
        let count = await objects.countAtEnd()
        #expect(count == 0, "\(hammer)")
    }

    private func releasePool(_ random: inout RandomSource, _ objects: WatchedObjects) async {
        let reuses = [URLSessionTransport.ConnectionReuse.always, .sameCredentials, .never]
        let pool = URLSessionPool(.ephemeral, reuse: reuses.randomElement(using: &random) ?? .always)
        objects.watch(pool)
        var calls: [Task<HTTPResponseData, any Error>] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            var request = Self.request
            request.headerFields[.authorization] = "Bearer \(Int.random(in: 0...2, using: &random))"
            calls.append(Task { [request] in try await pool.exchange(request) })
        }
        for call in calls where !random.once(in: 3) {
            await random.yield(upTo: 30)
            call.cancel()
        }
        for call in calls {
            _ = await call.result
        }
    }
}
#endif
