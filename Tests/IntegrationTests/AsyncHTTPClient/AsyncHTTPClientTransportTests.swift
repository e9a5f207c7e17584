#if AsyncHTTPClient && TestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import NIOCore
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// Behaviour specific to AsyncHTTPClient, in addition to the conformance suite of every transport.
    @Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
    struct AsyncHTTPClientTransportTests {
        private let transport = AsyncHTTPClientTransport()

        // MARK: Presets

        @Test(arguments: [StandardStack.app, .server])
        func presetSendsWithoutDiagnostics(stack: StandardStack) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .text("Hello") }
                let network = transport.standard(stack).server(baseURL: server.url)
                #expect(network.diagnostics == [])
                let response = try await network.data(HTTPRequestData())
                #expect(response.data == Data("Hello".utf8))
            }
        }

        // MARK: Existing clients

        @Test func clientIsATransport() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .text("Hello") }
                let client = HTTPClient(configuration: .networking)
                for _ in 1...2 {
                    let response = try await client.server(baseURL: server.url).data(HTTPRequestData())
                    #expect(response.data == Data("Hello".utf8))
                }
                #expect(server.acceptedConnections == 1)
                try await client.shutdown()
            }
        }

        @Test func rejectsClientsThatFollowRedirectsOrDecodeBodies() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                var decoding = HTTPClient.Configuration.singletonConfiguration
                decoding.redirectConfiguration = .disallow
                let following = HTTPClient(configuration: HTTPClient.Configuration())
                let decoder = HTTPClient(configuration: decoding)
                for (client, fault) in [
                    (HTTPClient.shared, "follows redirects and decodes bodies"), (following, "follows redirects by"),
                    (decoder, "decodes bodies by"),
                ] {
                    let error = await #expect(throws: NetworkingError.self) {
                        try await client.server(baseURL: server.url).data(HTTPRequestData())
                    }
                    #expect(error?.kind == .invalidRequest)
                    #expect(error?.reason.contains(fault) == true)
                    #expect(error?.reason.contains("AsyncHTTPClientTransport") == true)
                }
                #expect(server.acceptedConnections == 0)
                try await following.shutdown()
                try await decoder.shutdown()
            }
        }

        // MARK: Proxies

        private func transport(over proxy: TestServer) throws -> AsyncHTTPClientTransport {
            var configuration = HTTPClient.Configuration.networking
            configuration.proxy = .server(host: "127.0.0.1", port: try #require(proxy.url.port))
            return AsyncHTTPClientTransport(configuration: configuration)
        }

        /// The test server acts as the proxy and as the origin.
        @Test func sendsRequestsThroughAProxyTunnel() async throws {
            try await withTestServer { proxy in
                proxy.enqueue(.raw("HTTP/1.1 200 OK\r\n\r\n", .keepAlive))
                proxy.route("/hello") { _ in .text("by proxy") }
                let request = HTTPRequestData(scheme: "http", authority: "api.example:8080", path: "/hello")
                let response = try await transport(over: proxy).timeout(.seconds(100)).data(request)
                #expect(response.data == Data("by proxy".utf8))
                #expect(proxy.requests.map(\.path) == ["api.example:8080", "/hello"])
            }
        }

        @Test(arguments: [407, 502])
        func failedProxyTunnelIsAConnectionError(code: Int) async throws {
            try await withTestServer { proxy in
                proxy.enqueue(.status(HTTPResponse.Status(code: code)))
                let error = await #expect(throws: NetworkingError.self) {
                    let network = try transport(over: proxy).timeout(.seconds(100))
                    try await network.data(HTTPRequestData(authority: "api.example", path: "/hello"))
                }
                #expect(error?.kind == .connection)
                #expect(error?.reason.contains("proxy") == true)
                #expect(proxy.requests.map(\.method.rawValue) == ["CONNECT"])
                #expect(proxy.requests.map(\.path) == ["api.example:443"])
            }
        }

        // MARK: Shutting down

        @Test func shutdownWaitsForRequestsInProgress() async throws {
            try await withTestServer { server in
                let gate = Gate()
                server.route("/") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha", .gate(gate), "lf") }
                server.route("/late") { _ in .ok }
                let network = transport.server(baseURL: server.url)
                let call = Task { try await network.data(HTTPRequestData()) }
                try await server.waitForRequests(1)
                let shutdown = Task { try await transport.shutdown() }
                // Requests succeed until the shutdown has begun.
                let error = await #expect(throws: NetworkingError.self) {
                    while true {
                        try await network.data(HTTPRequestData(path: "late"))
                    }
                }
                #expect(error?.kind == .rejected)
                #expect(error?.reason.contains("shut down") == true)
                // The user cannot wait for this.
                #expect(error?.localizedDescription == "The request could not be sent.")
                gate.open()
                let response = try await call.value
                #expect(response.data == Data("half".utf8))
                try await shutdown.value
                try await transport.shutdown()
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func cancelledShutdownFailsRequestsInProgress() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha", .stall) }
                let network = transport.server(baseURL: server.url)
                let call = Task { try await network.data(HTTPRequestData()) }
                try await server.waitForRequests(1)
                let shutdown = Task { try await transport.shutdown() }
                shutdown.cancel()
                _ = await shutdown.result
                let result = await call.result
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .connectionLost)
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func releasedTransportClosesItsConnections() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                try await AsyncHTTPClientTransport().server(baseURL: server.url).data(HTTPRequestData())
                try await server.waitForOpenConnections(0)
                #expect(server.acceptedConnections == 1)
            }
        }

        // MARK: Request and response bodies

        @Test func readsTheBodyWhileSendingIt() async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.route("/") { _ in .ok }
                let sent = Mutex<[Int64]>([])
                var request = HTTPRequestData(method: .put, url: server.url)
                request.body = .stream {
                    AsyncStream { continuation in
                        for _ in 0..<64 { continuation.yield(Data(count: 64 << 10)) }
                        continuation.finish()
                    }
                }
                try await transport.data(request) { progress in
                    sent.withLock { $0.append(progress.sent.count) }
                }
                #expect(server.requests.first?.bodyByteCount == 4 << 20)
                let counts = sent.withLock { $0 }
                #expect(counts.first == 0)
                #expect(counts.max() == 4 << 20)
                #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 <= $1 })
            }
        }

        /// A body that can be read only once is not read until the connection is open, so that a retry can still send
        /// it.
        @Test func failedConnectionDoesNotConsumeAStream() async throws {
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            continuation.yield(Data("body".utf8))
            continuation.finish()
            let body = RequestBody.stream(stream)
            let error = await #expect(throws: NetworkingError.self) {
                try await transport.data(
                    HTTPRequestData(method: .put, scheme: "http", authority: "127.0.0.1:1", path: "/", body: body)
                )
            }
            #expect(error?.kind == .connection)
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                try await transport.data(HTTPRequestData(method: .put, url: server.url, body: body))
                #expect(server.requests.first?.body == Data("body".utf8))
            }
        }

        /// The server may have processed the request.
        @Test(arguments: [1 << 10, 100 << 10, 8 << 20], [TestResponse.RawStep.reset, .close])
        func doesNotRepeatARequestThatMayHaveArrived(count: Int, ending: TestResponse.RawStep) async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.routeAtHead(.post, "/") { _ in .raw(ending) }
                let body = RequestBody.data(Data(count: count))
                let error = await #expect(throws: NetworkingError.self) {
                    try await transport.retry(.immediate())
                        .data(HTTPRequestData(method: .post, url: server.url, body: body))
                }
                #expect(error?.kind == .connectionLost)
                #expect(server.requests.count == 1)
            }
        }

        /// The server responds before it reads the body, then reads it.
        @Test(arguments: [1 << 10, 1 << 20, 16 << 20], ["data", "stream"])
        func earlyResponseDoesNotTruncateTheRequestBody(count: Int, kind: String) async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.routeAtHead(.put, "/") { _ in .text("early") }
                // The next request waits for the connection, or opens another one if that was closed.
                var configuration = HTTPClient.Configuration.networking
                configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
                let transport = AsyncHTTPClientTransport(configuration: configuration)
                server.route("/next") { _ in .ok }
                let chunks = Array(repeating: Data(count: 1 << 10), count: count >> 10)
                let body: RequestBody =
                    kind == "data"
                    ? .data(Data(count: count))
                    : .stream {
                        AsyncStream { continuation in
                            for chunk in chunks { continuation.yield(chunk) }
                            continuation.finish()
                        }
                    }
                let request = HTTPRequestData(method: .put, url: server.url, body: body)
                let response = try await transport.timeout(.seconds(60)).data(request)
                #expect(response.data == Data("early".utf8))
                try await transport.data(HTTPRequestData(url: server.url.appending(path: "next")))
                // The transport would have closed the connection if it had cut off the body.
                #expect(server.acceptedConnections == 1)
            }
        }

        /// The server rejects the upload before it reads the body.
        ///
        /// The response arrives, and the body is released.
        @Test(
            .timeLimit(.minutes(20)),
            arguments: [33 << 10, 256 << 10, 4 << 20],
            [TestResponse.RawStep.close, .stall, .reset]
        )
        func refusedUploadIsReleased(count: Int, ending: TestResponse.RawStep) async throws {
            final class Token: Sendable {
                let isReleased = Gate()
                deinit { isReleased.open() }
            }
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.routeAtHead(.put, "/") { _ in
                    // A complete response closes the connection, because a stalled server responds to no other request.
                    .raw(
                        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 4\r\n\r\n",
                        "busy",
                        ending
                    )
                }
                var gates: [Gate] = []
                for _ in 1...20 {
                    let token = Token()
                    gates.append(token.isReleased)
                    let body = RequestBody.stream {
                        let left = Mutex(count)
                        return AsyncStream { [token] in
                            withExtendedLifetime(token) {
                                let size = left.withLock { left in
                                    defer { left -= min(left, 11 << 10) }
                                    return min(left, 11 << 10)
                                }
                                return size > 0 ? Data(count: size) : nil
                            }
                        }
                    }
                    do {
                        let request = HTTPRequestData(method: .put, url: server.url, body: body)
                        let response = try await transport.data(request)
                        #expect(response.status.code == 503)
                        #expect(response.data == Data("busy".utf8))
                    } catch let error as NetworkingError {
                        // A reset may arrive before the response and discard it.
                        #expect([.connectionLost, .truncated].contains(error.kind))
                    }
                }
                for gate in gates { try await gate.wait() }
            }
        }

        /// The response and the connection end while a slow reader is still reading.
        @Test func refusalReadSlowlyIsComplete() async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                let page = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
                server.routeAtHead(.put, "/") { _ in
                    .raw(
                        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 200000\r\n\r\n",
                        .drip(page, by: 10_000),
                        .halfClose
                    )
                }
                for _ in 1...10 {
                    let (never, continuation) = AsyncStream.makeStream(of: Data.self)
                    continuation.yield(Data(count: 64 << 10))
                    var request = HTTPRequestData(method: .put, url: server.url, body: .stream(never))
                    request.acceptedStatuses = [413]
                    var received = Data()
                    for try await chunk in try await transport.stream(request) {
                        received += chunk
                        await Task.yield()
                    }
                    #expect(received == page)
                    continuation.finish()
                }
            }
        }

        /// Only the bytes that the connection has accepted count as sent, so the limit detects a server that reads
        /// nothing.
        @Test func idleLimitAppliesWhenTheServerDoesNotReadABodyInMemory() async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.routeAtHead(.put, "/") { _ in .raw(.stall) }
                let sent = Mutex<[Int64]>([])
                let request = HTTPRequestData(method: .put, url: server.url, body: .data(Data(count: 64 << 20)))
                let network = transport.timeout(idle: .milliseconds(300))
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(request) { progress in sent.withLock { $0.append(progress.sent.count) } }
                }
                #expect(error?.kind == .timeout)
                #expect(error?.reason.contains("0.3 seconds") == true)
                #expect(sent.withLock { $0.max() ?? 0 } < 64 << 20)
            }
        }

        // MARK: Kept connections that end

        @Test func repeatedRequestAfterAResetIsAnAttempt() async throws {
            try await withTestServer { server in
                server.enqueue(.text("first"), .raw(.reset), .text("again"))
                let network = transport.server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                let events = EventRecorder()
                var request = HTTPRequestData()
                request.addObserver(events)
                let response = try await network.data(request)
                #expect(response.data == Data("again".utf8))
                #expect(response.attempts.map { ($0.error as? NetworkingError)?.kind } == [.connectionLost])
                let attempts = events.names.filter { $0.hasPrefix("exchange") }
                #expect(attempts == ["exchangeStarted", "exchangeFailed", "exchangeStarted", "exchangeEnded"])
                #expect(server.requests.count == 3)
            }
        }

        @Test func requestWithoutRetriesIsSentOnceAfterAReset() async throws {
            try await withTestServer { server in
                server.enqueue(.text("first"), .raw(.reset), .text("again"))
                let network = transport.server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                var request = HTTPRequestData()
                request.retryPolicy = .never
                let once = request
                let error = await #expect(throws: NetworkingError.self) { try await network.data(once) }
                #expect(error?.kind == .connectionLost)
                #expect(server.requests.count == 2)
            }
        }

        @Test func slowSinkAppliesBackPressure() async throws {
            try await withTestServer { server in
                let isSent = Atomic(false)
                let size = 256 << 20
                let chunk = Data(count: 1 << 20)
                var chunks = Array(repeating: TestResponse.Chunk(chunk), count: size / chunk.count)
                let gate = Gate()
                chunks.append(TestResponse.Chunk("end", gate: gate))
                server.route("/") { [chunks] _ in TestResponse(body: .chunks(chunks)) }
                let stream = try await transport.stream(HTTPRequestData(url: server.url))
                var count = 0
                for try await chunk in stream {
                    count += chunk.count
                    if count >= size, !isSent.exchange(true, ordering: .relaxed) {
                        gate.open()
                    }
                }
                #expect(count == size + 3)
            }
        }

        #if os(Linux)
        /// Runs in a separate process together with the server.
        @Test(arguments: ["download", "file", "stream"])
        func transfersAGibibyteInConstantMemory(kind: String) async {
            await #expect(processExitsWith: .success) { [kind] in
                try await withTemporaryDirectory { directory in
                    try await withTestServer(keepingBodiesUpTo: 0) { server in
                        let chunk = TestResponse.Chunk(Data(count: 4 << 20))
                        server.route("/small") { _ in .text("small") }
                        server.route(.get, "/") { _ in TestResponse(body: .sized(Array(repeating: chunk, count: 256))) }
                        server.route(.put, "/") { _ in .ok }
                        let file = sparseFile(of: 1 << 30, in: directory)
                        let transport = AsyncHTTPClientTransport()
                        try await transport.data(HTTPRequestData(url: server.url.appending(path: "small")))
                        let before = peakMemory()
                        if kind == "download" {
                            var count = 0
                            for try await chunk in try await transport.stream(HTTPRequestData(url: server.url)) {
                                count += chunk.count
                            }
                            #expect(count == 1 << 30)
                        } else {
                            let chunks = Array(repeating: Data(count: 1 << 20), count: 1 << 10)
                            let body: RequestBody =
                                kind == "file"
                                ? .file(file)
                                : .stream {
                                    AsyncStream { continuation in
                                        for chunk in chunks { continuation.yield(chunk) }
                                        continuation.finish()
                                    }
                                }
                            try await transport.data(HTTPRequestData(method: .put, url: server.url, body: body))
                            #expect(server.requests.last?.bodyByteCount == 1 << 30)
                        }
                        let growth = peakMemory() - before
                        #expect(growth < 32 << 20, "\(growth) bytes")
                        try await transport.shutdown()
                    }
                }
            }
        }
        #endif

        // MARK: Idle exchanges

        /// A request with an idle limit of 50 ms.
        private func idleLimited(_ server: TestServer, _ path: String, body: RequestBody? = nil) -> HTTPRequestData {
            var request = HTTPRequestData(method: .put, url: server.url.appending(path: path), body: body)
            request.allowedSilence = .milliseconds(50)
            return request
        }

        @Test func idleExchangeFailsWithATimeout() async throws {
            try await withTestServer { server in
                server.route("/head") { _ in .raw(.stall) }
                server.route("/body") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall) }
                let silent = AsyncStream<Data> { nil }
                let (never, continuation) = AsyncStream.makeStream(of: Data.self)
                for request in [
                    idleLimited(server, "head"), idleLimited(server, "body"),
                    idleLimited(server, "head", body: .data(Data(count: 1 << 20))),
                    idleLimited(server, "head", body: .stream(silent)),
                    idleLimited(server, "head", body: .stream(never)),
                ] {
                    let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
                    #expect(error?.kind == .timeout)
                    #expect(error?.reason.contains("No data was transferred for 0.05 seconds") == true)
                }
                continuation.finish()
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func timeoutOfTheStackReplacesTheTransports() async throws {
            /// Sets the idle limit to one nanosecond.
            struct ShortIdleLimit: NetworkingModifier {
                func send(
                    _ request: HTTPRequestData,
                    upstream: some NetworkingComponent
                ) async throws -> HTTPResponseData {
                    var request = request
                    request.allowedSilence = .nanoseconds(1)
                    return try await upstream.send(request)
                }
            }

            try await withTestServer { server in
                server.route("/") { _ in .text("ok") }
                // A response could arrive before the shortest limit, so this server never responds.
                server.route("/silent") { _ in .raw(.stall) }
                let limited = transport.modified(ShortIdleLimit()).server(baseURL: server.url)
                let error = await #expect(throws: NetworkingError.self) {
                    try await limited.data(HTTPRequestData(path: "silent"))
                }
                #expect(error?.kind == .timeout)
                let response = try await limited.timeout(.seconds(100)).data(HTTPRequestData())
                #expect(response.data == Data("ok".utf8))
            }
        }

        /// Each phase of an exchange ends at its limit, also that of a stream, whose body has none.
        @Test func silentServerEndsAtTheLimitOfItsPhase() async throws {
            try await withTestServer { server in
                server.route("/head") { _ in .raw(.stall) }
                server.route("/body") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall) }
                let limits: [(String, AnyNetworkingComponent)] = [
                    ("head", AnyNetworkingComponent(transport.timeout(.milliseconds(50)))),
                    ("head", AnyNetworkingComponent(transport.timeout(head: .milliseconds(50)))),
                    ("head", AnyNetworkingComponent(transport.timeout(.seconds(40), head: .milliseconds(50)))),
                    ("head", AnyNetworkingComponent(transport.timeout(.milliseconds(50), idle: .seconds(40)))),
                    ("body", AnyNetworkingComponent(transport.timeout(idle: .milliseconds(50)))),
                ]
                for (path, network) in limits {
                    let request = HTTPRequestData(url: server.url.appending(path: path))
                    let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
                    #expect(error?.kind == .timeout)
                    #expect(error?.reason.contains("0.05 seconds") == true)
                    let failed = await #expect(throws: NetworkingError.self) {
                        for try await _ in try await network.stream(request) {}
                    }
                    #expect(failed?.kind == .timeout)
                }
            }
        }

        /// With a listener, the transport reads a short body while it sends it.
        @Test func observedExchangeEndsAtTheTimeLimit() async throws {
            try await withTestServer { server in
                server.route("/head") { _ in .raw(.stall) }
                server.route("/body") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall) }
                let network = transport.observed(by: EventRecorder()).deadline(.milliseconds(100))
                    .server(baseURL: server.url)
                for path in ["head", "body"] {
                    for body in [RequestBody?.none, .data(Data("order".utf8))] {
                        let request = HTTPRequestData(method: .post, path: path, body: body)
                        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
                        #expect(error?.kind == .deadline, "\(path), \(body == nil ? "no body" : "a short body")")
                    }
                }
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func reportsTimeoutsOfTheConfiguration() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .raw(.stall) }
                var configuration = HTTPClient.Configuration.networking
                configuration.timeout.read = .milliseconds(50)
                let transport = AsyncHTTPClientTransport(configuration: configuration)
                let error = await #expect(throws: NetworkingError.self) {
                    try await transport.data(HTTPRequestData(url: server.url))
                }
                #expect(error?.kind == .timeout)
                #expect(error?.underlying is HTTPClientError)
            }
        }

        @Test func outlineNamesTheTransport() {
            #expect("\(transport.logged().outline)".hasSuffix("AsyncHTTPClientTransport"))
            #expect("\(HTTPClient.shared.logged().outline)".hasSuffix("HTTPClient"))
        }
    }
}
#endif
