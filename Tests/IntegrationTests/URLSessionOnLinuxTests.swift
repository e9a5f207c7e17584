#if TestServer && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// The known problems of URLSession on Linux, by their number in
    /// `Documentation/Architecture/ClientDefects.md`.
    ///
    /// Other suites cover the behaviour of all platforms.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct URLSessionOnLinuxTests {
        // MARK: Problems that the library works around

        /// Without a delegate, the process deadlocks when a cancellation coincides with the end of its task.
        @Test func trapL2CancellationRacesWithCompletion() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .text("hello") }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                var random = SeededRandom.announced()
                for _ in 0..<100 {
                    let calls = (0..<6).map { _ in Task { try await network.data(HTTPRequestData()) } }
                    for call in calls {
                        for _ in 0..<Int.random(in: 0...300, using: &random) {
                            await Task.yield()
                        }
                        call.cancel()
                    }
                    for call in calls {
                        switch await call.result {
                        case .success(let response): #expect(response.data == Data("hello".utf8))
                        case .failure(let error): #expect(error is CancellationError)
                        }
                    }
                }
            }
        }

        /// With a cache, the process crashes when a task is cancelled while URLSession reads the cache.
        @Test func trapL3EarlyCancellationDoesNotCrashASessionWithACache() async {
            await #expect(processExitsWith: .success) {
                try await withTestServer { server in
                    server.route("/") { _ in .text("hello") }
                    let configuration = URLSessionConfiguration.default
                    configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
                    let network = URLSession(configuration: configuration).server(baseURL: server.url)
                    for _ in 0..<200 {
                        let call = Task { try await network.data(HTTPRequestData()) }
                        await Task.yield()
                        call.cancel()
                        _ = await call.result
                    }
                }
            }
        }

        /// URLSession offers no back pressure, so the transport closes the connection when the body exceeds the limit.
        @Test func trapL5ClosesTheConnectionOfAnEndlessBody() async throws {
            try await withTestServer { server in
                server.route("/") { _ in
                    .raw(
                        "HTTP/1.1 200 OK\r\n\r\n",
                        .drip(Data(count: 64 << 20), by: 1 << 16),
                        .stall
                    )
                }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                var request = HTTPRequestData()
                request.maximumResponseBytes = 1 << 20
                let limited = request
                let error = await #expect(throws: NetworkingError.self) { try await network.data(limited) }
                #expect(error?.kind == .tooLarge)
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func trapL12URLSessionCachesNothing() async throws {
            try await withTestServer { server in
                server.route("/") { _ in
                    TestResponse(headerFields: [.cacheControl: "max-age=600"], body: .data(Data("hello".utf8)))
                }
                let configuration = URLSessionConfiguration.default
                configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
                configuration.requestCachePolicy = .returnCacheDataElseLoad
                let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                try await network.data(HTTPRequestData())
                #expect(server.requests.count == 2)
            }
        }

        @Test func trapL13DoesNotUseACredentialOfTheSession() async throws {
            try await withTestServer { server in
                server.route("/") { _ in
                    TestResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: "Basic realm=\"users\""])
                }
                let configuration = URLSessionConfiguration.ephemeral
                let space = URLProtectionSpace(
                    host: "127.0.0.1",
                    port: server.port,
                    protocol: "http",
                    realm: "users",
                    authenticationMethod: NSURLAuthenticationMethodHTTPBasic
                )
                configuration.urlCredentialStorage?
                    .setDefaultCredential(
                        URLCredential(user: "emily", password: "hunter2", persistence: .forSession),
                        for: space
                    )
                let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData())
                #expect(response.status == .unauthorized)
                #expect(server.requests.map { $0.headerFields[.authorization] } == [nil])
            }
        }

        /// URLSession reports a failed TLS handshake without a specific error code.
        @Test func trapL19ReportsATLSErrorForAPlainHTTPServer() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = URLSessionTransport(configuration: .ephemeral)
                    .server(scheme: "https").server(authority: server.authority)
                let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
                #expect(error?.kind == .tls)
                #expect(error?.underlying is URLError)
            }
        }

        @Test func trapL22DoesNotInventAContentType() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                try await network.data(HTTPRequestData(method: .post, body: .data(Data("x".utf8))))
                try await network.data(HTTPRequestData(method: .post))
                #expect(server.requests.map { $0.headerFields[.contentType] } == ["application/octet-stream", nil])
            }
        }

        @Test func trapL22RejectsAGETRequestWithABody() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(method: .get, body: .data(Data("x".utf8))))
                }
                #expect(error?.kind == .invalidRequest)
                #expect(error?.reason.contains("GET") == true)
                #expect(server.requests.isEmpty)
            }
        }

        @Test func trapL24ReleasedTransportClosesItsConnections() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                do {
                    let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                    try await network.data(HTTPRequestData())
                    #expect(server.openConnections == 1)
                }
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func trapL29AlreadyCancelledCallerSendsNothing() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = URLSessionTransport(configuration: .ephemeral)
                let url = server.url
                let call = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await transport.data(HTTPRequestData(url: url))
                }
                let result = await call.result
                #expect(throws: CancellationError.self) { try result.get() }
                #expect(server.acceptedConnections == 0)
            }
        }

        /// libcurl uses the last length, while the delegate sees either of the two at random.
        ///
        /// The transport rejects the response if the lengths differ from the body.
        @Test func trapL21AcceptsConflictingLengthsOnlyIfTheBodyMatches() async throws {
            try await withTestServer { server in
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                for count in 0..<20 {
                    // The number of fields changes their order in URLSession's dictionary.
                    let others = (0..<count).map { "X-\($0): a\r\n" }.joined()
                    server.enqueue(
                        .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 7\r\n\(others)\r\nhello12")
                    )
                    do {
                        let response = try await network.data(HTTPRequestData())
                        #expect(response.headerFields[.contentLength] == "\(response.data.count)")
                    } catch let error as NetworkingError {
                        #expect(error.kind == .invalidResponse)
                    }
                }
            }
        }

        // MARK: Crashes

        /// Responses that crash the process for every user of URLSession.
        ///
        /// No code can catch this.
        @Test(arguments: [
            // L10, until Swift 6.4: the connection closes within the head, and chunks with a trailer.
            "HTTP/1.1 200 OK\r\nContent-Le",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\n\r\n",
            // L35: a length that is 2^63 as a floating-point number.
            "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775296\r\n\r\nok",
            // L36: a redirect to an address with a zone and without a scheme.
            "HTTP/1.1 302 Found\r\nLocation: //[::1%25eth0]/\r\nContent-Length: 0\r\n\r\n",
        ])
        func responsesThatCrashTheProcess(response: String) async throws {
            try await withKnownIssue("L10, L35 and L36: the process ends", upTo: .swift63) {
                await #expect(processExitsWith: .success) { [response] in
                    try await withTestServer { server in
                        server.enqueue(.raw(.text(response)))
                        let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                        _ = try? await network.data(HTTPRequestData())
                    }
                }
            }
        }
    }
}
#endif
