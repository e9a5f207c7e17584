#if TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// Malformed and slow responses over URLSession, in addition to the conformance suite of every transport.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct HostileServerTests {
        @Test func keepsEachSetCookieFieldSeparate() async throws {
            try await withTestServer { server in
                let cookies = [
                    "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", "b=x,y=z; Path=/", "c", "d=4; Max-Age=60",
                ]
                server.enqueue(
                    .raw(
                        .text("HTTP/1.1 200 OK\r\n" + cookies.map { "Set-Cookie: \($0)\r\n" }.joined()),
                        "Content-Length: 0\r\n\r\n"
                    )
                )
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData())
                #expect(response.headerFields[values: .setCookie] == cookies)
            }
        }

        @Test func rejectsContentLengthWithOtherCharactersThanDigits() async throws {
            try await withTestServer { server in
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                for length in ["+5", "5 5", "0x5", "5;", "1e0", "5, +5", "9223372036854775808"] {
                    server.enqueue(.raw("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nhello"))
                    await expectInvalidResponse(from: network, "\(length)")
                }
            }
        }

        private func expectInvalidResponse(from network: some NetworkingComponent, _ comment: Comment) async {
            let error = await #expect(throws: NetworkingError.self, comment) {
                try await network.data(HTTPRequestData())
            }
            #expect(error?.kind == .invalidResponse, comment)
        }

        @Test func rejectsInformationalStatusAsFinalResponse() async throws {
            try await withTestServer { server in
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                for status in [100, 101, 102, 103, 199] {
                    server.enqueue(.raw("HTTP/1.1 \(status) Odd\r\nContent-Length: 2\r\n\r\nok"))
                    await expectInvalidResponse(from: network, "\(status)")
                }
            }
        }

        @Test func offersTheFinalResponseToTheSink() async throws {
            try await withTestServer { server in
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                server.enqueue(
                    .raw(
                        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
                        .delay(.milliseconds(50)),
                        "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nok"
                    )
                )
                let sink = CollectingSink()
                var request = HTTPRequestData()
                request.sink = sink
                let response = try await network.data(request)
                #expect(response.status == .notFound)
                #expect(sink.data.isEmpty)
            }
        }

        // MARK: Time

        /// The timeout has more seconds than URLSession can represent.
        @Test func acceptsATimeoutBeyondTheRangeOfURLSession() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                let response = try await transport.timeout(.seconds(Int64.max)).data(HTTPRequestData())
                #expect(response.status == .ok)
            }
        }

        /// If a name has two addresses and the first refuses the connection, libcurl keeps that error for failures at
        /// the second address.
        @Test func failureAtTheSecondAddressIsNotAConnectionFailure() async throws {
            try await withTestServer { server in
                let network = URLSessionTransport(configuration: .ephemeral)
                    .server(authority: "localhost:\(server.port)")
                let request = HTTPRequestData(method: .post, scheme: "http", path: "/", body: .data(Data("order".utf8)))
                server.enqueue(TestResponse(body: .hangUp), .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
                for kind in [NetworkingError.Kind.connectionLost, .truncated] {
                    let error = await #expect(throws: NetworkingError.self) { try await network.retry().data(request) }
                    #expect(error?.kind == kind)
                }
                #expect(server.requests.count == 2)
            }
        }

        @Test func enforcesLimitsInMillisecondsOnTheSystemClock() async throws {
            try await withTestServer { server in
                server.route("/head") { _ in .raw(.stall) }
                server.route("/body") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall) }
                let transport = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                let clock = ContinuousClock()
                let start = clock.now
                for (path, network) in [
                    ("head", AnyNetworkingComponent(transport.timeout(.milliseconds(50)))),
                    ("head", AnyNetworkingComponent(transport.timeout(head: .milliseconds(50)))),
                    ("body", AnyNetworkingComponent(transport.timeout(idle: .milliseconds(50)))),
                ] {
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: path))
                    }
                    #expect(error?.kind == .timeout)
                    #expect(error?.reason.contains("0.05 seconds") == true)
                }
                let elapsed = start.duration(to: clock.now)
                #expect(elapsed >= .milliseconds(150))
                // URLSession's own timeout would be 60 s; a busy machine may take long for three times 50 ms.
                #expect(elapsed < .seconds(45))
            }
        }

        @Test func failsWhenNoConnectionOpensWithinTheConnectLimit() async throws {
            try await withUnresponsiveServer { url in
                let clock = ManualClock()
                let network = URLSessionTransport(configuration: .ephemeral).timeout(connect: .milliseconds(400))
                    .server(baseURL: url).environment(\.clock, .manual(clock))
                let upload = HTTPRequestData(method: .post, body: .data(Data("x".utf8)))
                for request in [HTTPRequestData(), upload] {
                    let hasEnded = Mutex(false)
                    let call = Task {
                        defer { hasEnded.withLock { $0 = true } }
                        return try await network.data(request)
                    }
                    // The limit restarts when the body has been read and when the connection begins.
                    try await eventually("the call ends") {
                        clock.advance(by: .milliseconds(400))
                        return hasEnded.withLock { $0 }
                    }
                    let result = await call.result
                    let error = #expect(throws: NetworkingError.self) { try result.get() }
                    #expect(error?.kind == .timeout)
                    #expect(error?.reason.contains("No connection within 0.4 seconds") == true)
                }
            }
        }
    }
}
#endif
