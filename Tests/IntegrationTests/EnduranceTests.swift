#if TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Loopback {
    /// Many requests over URLSession: concurrent, in sequence, and cancelled at random moments.
    @Suite(.tags(.concurrency), .serialized, .timeLimit(.minutes(20)))
    struct EnduranceTests {
        /// On Linux, URLSession crashes when it follows a redirect of a request that has waited for a connection (L9).
        @Test func followsRedirectsOfManyConcurrentRequests() async throws {
            try await withTestServer { server in
                server.route(.get, "/old/:id") { request in .redirect(to: "/new/\(request.parameters["id"] ?? "")") }
                server.route(.get, "/new/:id") { request in .text(request.parameters["id"] ?? "") }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for id in 0..<100 {
                        group.addTask {
                            try await network.data(HTTPRequestData(path: "old/\(id)")).data == Data("\(id)".utf8)
                        }
                    }
                    for try await isRight in group {
                        #expect(isRight)
                    }
                }
            }
        }

        // MARK: Cancellation

        enum Moment: CaseIterable {
            case beforeTheHead
            case withinTheHead
            case withinTheBody
        }

        /// Cancels a thousand requests at random moments and checks that the session is still usable afterwards.
        @Test func cancellationIsPromptAndClosesTheConnection() async throws {
            try await withTestServer { server in
                let gate = Gate()
                server.route("/beforeTheHead") { _ in .raw(.gate(gate)) }
                server.route("/withinTheHead") { _ in .raw("HTTP/1.1 200 OK\r\nX-A: ", .gate(gate), .stall) }
                server.route("/withinTheBody") { _ in
                    .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", .gate(gate), .stall)
                }
                server.route("/after") { _ in .text("still here") }
                let transport = URLSessionTransport(configuration: .ephemeral)
                let network = transport.server(baseURL: server.url)
                var random = SeededRandom.announced()
                var lags: [Duration] = []

                // In rounds of ten, because a host has six connections and further requests only wait for one.
                for _ in 0..<100 {
                    let calls = (0..<10)
                        .map { _ in CancelledCall(Moment.allCases.randomElement(using: &random)!, network) }
                    for call in calls {
                        for _ in 0..<Int.random(in: 0...200, using: &random) {
                            await Task.yield()
                        }
                        call.cancel()
                    }
                    for call in calls {
                        lags.append(await call.lag())
                    }
                }
                #expect(lags.count == 1_000)
                lags.sort()
                #expect(lags[500] < .milliseconds(100), "the median took \(lags[500])")
                // A shared machine may pause a whole process, and the thread sanitizer makes it slow.
                #expect(lags[999] < .milliseconds(100) * 5, "the longest took \(lags[999])")

                // No cancelled request holds a connection.
                try await server.waitForOpenConnections(0)
                #expect(server.activeRequests == 0)
                let after = try await network.data(HTTPRequestData(path: "after"))
                #expect(after.data == Data("still here".utf8))
            }
        }

        /// A call to cancel, with the time that it takes to end after its cancellation.
        private final class CancelledCall: Sendable {
            private let task: Task<ContinuousClock.Instant, Never>
            private let moment = Mutex(ContinuousClock.now)

            init(_ moment: Moment, _ network: some NetworkingComponent) {
                task = Task {
                    let error = await #expect(throws: (any Error).self) {
                        try await network.data(HTTPRequestData(path: "\(moment)"))
                    }
                    let end = ContinuousClock.now
                    #expect(error is CancellationError)
                    return end
                }
            }

            func cancel() {
                moment.withLock { $0 = .now }
                task.cancel()
            }

            func lag() async -> Duration {
                let end = await task.value
                return moment.withLock { $0 }.duration(to: end)
            }
        }

        @Test func closesTheConnectionWhenEveryCallerOfASharedRequestIsCancelled() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall) }
                let inFlightRequests = InFlightRequests()
                let network = URLSessionTransport(configuration: .ephemeral).deduplicated(sharing: inFlightRequests)
                    .server(baseURL: server.url)
                let calls = (0..<100).map { _ in Task { try await network.data(HTTPRequestData()) } }
                try await server.waitForRequests(1)
                try await eventually("inFlightRequests.waiting >= 100") { inFlightRequests.waiting >= 100 }
                var random = SeededRandom.announced()
                for call in calls.shuffled(using: &random) {
                    call.cancel()
                }
                for call in calls {
                    let result = await call.result
                    #expect(throws: CancellationError.self) { try result.get() }
                }
                try await server.waitForOpenConnections(0)
                #expect(server.requests.count == 1)
            }
        }

        // MARK: Leaks

        #if os(Linux)
        /// URLSession itself leaks about 300 bytes for each request here, so the test measures only the growth beyond
        /// that.
        ///
        /// The test runs in a separate process, where no other code allocates memory.
        @Test func twentyThousandRequestsLeakNeitherMemoryNorDescriptors() async {
            await #expect(processExitsWith: .success) {
                try await withTestServer { server in
                    server.route("/") { _ in TestResponse(body: .data(Data(count: 1_024))) }
                    let url = server.url
                    let configuration = URLSessionConfiguration.ephemeral
                    configuration.urlCache = nil
                    let session = URLSession(configuration: configuration)
                    // The exit code identifies the failure, because no other output of a failed process is shown.
                    let raw: @Sendable () async throws -> Int = {
                        // Failures of URLSession itself are outside the scope of this test.
                        for _ in 0..<3 {
                            if let (data, _) = try? await session.data(from: url) { return data.count }
                        }
                        exit(2)
                    }
                    let network = URLSessionTransport(configuration: .ephemeral).timeout(.seconds(60))
                        .server(baseURL: url)
                    let ours: @Sendable () async throws -> Int = {
                        do {
                            return try await network.data(HTTPRequestData()).data.count
                        } catch {
                            exit(3)
                        }
                    }

                    try await Self.repeat(2_000, raw, server)
                    try await Self.repeat(2_000, ours, server)
                    let start = Footprint()
                    try await Self.repeat(10_000, raw, server)
                    let middle = Footprint()
                    try await Self.repeat(20_000, ours, server)
                    let end = Footprint()

                    let (theirs, growth) = (2 * (middle.memory - start.memory), end.memory - middle.memory)
                    let (opened, before) = (end.descriptors, middle.descriptors)
                    // Threads keep up to 256 KB each for their next allocations, and the number of descriptors varies
                    // by a few. A leak for every request would amount to thousands.
                    if growth > theirs + 6_000_000 { exit(4) }
                    if opened > before + 16 { exit(5) }
                    if start.memory == 0 { exit(6) }
                }
            }
        }

        private static func `repeat`(
            _ count: Int,
            _ send: @escaping @Sendable () async throws -> Int,
            _ server: TestServer
        ) async throws {
            for _ in 0..<count / 1_000 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            for _ in 0..<125 {
                                let length = try await send()
                                #expect(length == 1_024)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                server.forgetRequests()
            }
        }
        #endif
    }
}
#endif
