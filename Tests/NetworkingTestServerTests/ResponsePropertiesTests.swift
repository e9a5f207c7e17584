#if TestServer
import HTTPTypes
import Testing

@testable import NetworkingTestServer

/// The properties of responses and of a server's errors.
@Suite(.timeLimit(.minutes(20)))
struct ResponsePropertiesTests {
    @Test func responseExposesItsPacing() {
        let plain = TestResponse.text("page")
        #expect(plain.throttle == nil)
        #expect(plain.readingThrottle == nil)
        #expect(plain.bodyDelay == .zero)
        #expect(plain.trailersDelay == .zero)
        #expect(plain.informational.isEmpty)
        #expect(plain.expectation == .continued)

        let hints = TestResponse.Informational(
            .earlyHints,
            headerFields: [.server: "test"],
            delay: .seconds(5)
        )
        let slow =
            plain
            .throttled(to: 10, every: .seconds(1))
            .readingThrottled(to: 20, every: .seconds(2))
            .delayed(body: .seconds(3), trailers: .seconds(4))
            .preceded(by: .processing, hints)
            .onExpectation(.refused)
        #expect(slow.throttle?.byteCount == 10)
        #expect(slow.throttle?.period == .seconds(1))
        #expect(slow.readingThrottle?.byteCount == 20)
        #expect(slow.readingThrottle?.period == .seconds(2))
        #expect(slow.bodyDelay == .seconds(3))
        #expect(slow.trailersDelay == .seconds(4))
        #expect(slow.informational.map(\.status.code) == [102, 103])
        #expect(slow.informational.last?.headerFields == [.server: "test"])
        #expect(slow.informational.last?.delay == .seconds(5))
        #expect(slow.expectation == .refused)
    }

    @Test func laterExpectationReplacesAnEarlierOne() async throws {
        try await withTestServer { server in
            server.enqueue(.text("taken").onExpectation(.refused).onExpectation(.continued))
            try await withClient(of: server) { client in
                try await client.send("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
                #expect(try await client.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                try await client.send("body")
                #expect(try await client.receiveResponse().hasSuffix("taken"))
            }
            #expect(server.requests.map(\.text) == ["body"])
        }
    }

    @Test func sendsFieldsOfInformationalResponses() async throws {
        try await withTestServer { server in
            server.enqueue(.ok.preceded(by: .init(.earlyHints, headerFields: [.server: "test"])))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                let head = try await client.receive(through: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 103 "))
                #expect(head.hasSuffix("\r\nServer: test\r\n\r\n"))
                _ = try await client.receiveResponse()
            }
        }
    }

    @Test func recordsBodiesUpToTheLimit() async throws {
        let server = try await TestServer.start(keepingBodiesUpTo: 4)
        server.route("/") { _ in .ok }
        _ = try await response(of: server, to: "PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789")
        let request = try #require(server.requests.first)
        #expect(request.text == "0123")
        #expect(request.bodyByteCount == 10)
        await server.stop()
    }

    @Test func errorDescriptionEqualsItsDescription() async throws {
        let forbidden = TestServerError.portForbidden(80)
        #expect(forbidden.kind == .portForbidden)
        #expect(forbidden.errorDescription == forbidden.description)
        #expect(forbidden.errorDescription?.contains("port 80 of 127.0.0.1") == true)
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            _ = try await response(of: server, to: get("/"))
            let unverified = try #require(throws: TestServerError.self) { try server.verify() }
            #expect(unverified.kind == .verificationFailed)
            #expect(unverified.errorDescription == unverified.description)
        }
    }
}
#endif
