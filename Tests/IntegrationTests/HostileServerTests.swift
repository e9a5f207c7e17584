#if TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing

extension Loopback {
    /// What odd and slow servers do to URLSession, beyond what the conformance suite tries over every transport.
    @Suite(.timeLimit(.minutes(5)))
    struct HostileServerTests {
        @Test func cookiesAreFieldsOfTheirOwn() async throws {
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
                // A comma within a value cannot be told from one between two cookies, once URLSession has joined them.
                #expect(
                    response.headerFields[values: .setCookie] == [
                        cookies[0], "b=x", "y=z; Path=/, c", cookies[3],
                    ]
                )
            }
        }

        // MARK: Time

        /// More seconds than fit into what URLSession counts in.
        @Test func aTimeoutForEverIsOne() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                let response = try await transport.timeout(.seconds(Int64.max)).data(HTTPRequestData())
                #expect(response.status == .ok)
            }
        }

        /// Where a name has two addresses and the first refuses, libcurl keeps that error for what happens to the second.
        @Test func whatBreaksAtASecondAddressHasBeenConnected() async throws {
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

        @Test func limitsInMillisecondsHoldOnTheSystemsClock() async throws {
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

        @Test func aConnectionThatNeverComesAboutEndsWithItsLimit() async throws {
            try await withUnresponsiveServer { url in
                let clock = ManualClock()
                let network = URLSessionTransport(configuration: .ephemeral).timeout(connect: .milliseconds(400))
                    .server(baseURL: url).environment(\.clock, .manual(clock))
                let upload = HTTPRequestData(method: .post, body: .data(Data("x".utf8)))
                for request in [HTTPRequestData(), upload] {
                    let call = Task { try await network.data(request) }
                    try await clock.waitForSleepers()
                    clock.advance(by: .milliseconds(400))
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
