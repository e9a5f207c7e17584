#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Throttled responses and throttled reading, on a clock that does not wait.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct PaceTests {
    /// Returns the bytes of a response as text, and the durations that the server slept.
    private func play(
        _ response: TestResponse,
        to request: String = get("/")
    ) async throws -> (text: String, sleeps: [Duration]) {
        let clock = RecordingClock()
        let text = try await withTestServer(clock: clock) { server in
            server.enqueue(response.disconnecting(.close, at: .responseEnd))
            return try await withClient(of: server) { client in
                try await client.send(request)
                return try await client.receiveToEnd()
            }
        }
        return (text, clock.sleeps)
    }

    @Test(arguments: [(1, 9), (3, 3), (4, 2), (5, 1), (9, 1), (10, 0), (100, 0)])
    func sendsAThrottledBodyInParts(byteCount: Int, pauses: Int) async throws {
        let response = TestResponse.text("0123456789").throttled(to: byteCount, every: .milliseconds(100))
        let (text, sleeps) = try await play(response)
        #expect(text.hasSuffix("\r\nContent-Length: 10\r\n\r\n0123456789"))
        #expect(sleeps == Array(repeating: .milliseconds(100), count: pauses))
    }

    /// Throttling ignores chunk boundaries and counts bytes on the wire: two chunks of eight bytes, and an end of five.
    @Test func throttlingCountsTheChunkedCoding() async throws {
        let body = TestResponse.Body.chunks(["abc", TestResponse.Chunk("def", delay: .seconds(1))])
        let (text, sleeps) = try await play(TestResponse(body: body).throttled(to: 8, every: .seconds(10)))
        #expect(text.hasSuffix("\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"))
        #expect(sleeps == [.seconds(11), .seconds(10)])
    }

    @Test func delaysHeadBodyAndTrailers() async throws {
        let response = TestResponse.text("ab").preceded(by: .init(.earlyHints, delay: .seconds(1)))
            .trailers([.eTag: "\"1\""]).delayed(head: .seconds(2), body: .seconds(3), trailers: .seconds(4))
        let (text, sleeps) = try await play(response)
        #expect(text.hasSuffix("\r\n\r\n2\r\nab\r\n0\r\nETag: \"1\"\r\n\r\n"))
        #expect(sleeps == [.seconds(1), .seconds(2), .seconds(3), .seconds(4)])
    }

    /// Bytes after a delay are not sent before the delay is over.
    @Test func sendsNothingBeforeItsDelayIsOver() async throws {
        let clock = HeldClock()
        try await withTestServer(clock: clock) { server in
            server.enqueue(.text("body").delayed(body: .seconds(60)))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                let head = try await client.receive(through: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                try await clock.asked.wait()
                #expect(server.activeRequests == 1)
                clock.pass.open()
                #expect(try await client.receive(4) == "body")
            }
        }
    }

    /// The delay ends early if the client disconnects or the server stops.
    @Test func clientDisconnectEndsADelay() async throws {
        let clock = HeldClock()
        try await withTestServer(clock: clock) { server in
            server.enqueue(TestResponse(delay: .seconds(60)))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                try await clock.asked.wait()
            }
            try await server.waitForOpenConnections(0)
            #expect(server.activeRequests == 0)
        }
    }

    @Test(arguments: [
        ("Content-Length: 10\r\n\r\n0123456789", "0123456789", 3),
        ("Content-Length: 0\r\n\r\n", "", 0),
        ("Content-Length: 3\r\n\r\n012", "012", 0),
        ("Transfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n0\r\n\r\n", "012345", 2),
    ])
    func throttledReadingReadsABodyInParts(rest: String, body: String, pauses: Int) async throws {
        let clock = RecordingClock()
        try await withTestServer(clock: clock) { server in
            server.enqueue(.text("read").readingThrottled(to: 3, every: .seconds(5)))
            let received = try await response(of: server, to: "POST / HTTP/1.1\r\n" + rest)
            #expect(received.hasSuffix("\r\n\r\nread"))
            #expect(server.requests.map(\.text) == [body])
            #expect(server.requests.map(\.isComplete) == [true])
        }
        #expect(clock.sleeps == Array(repeating: .seconds(5), count: pauses))
    }

    /// The server also pauses after a chunk that turns out to be the last one, because only the next read reports the
    /// end.
    @Test(arguments: [
        ("Content-Length: 7\r\n\r\n0123456", ["012", "345", "6"], 2),
        ("Content-Length: 3\r\n\r\n012", ["012"], 0),
        ("Transfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n1\r\n6\r\n0\r\n\r\n", ["012", "345", "6"], 2),
    ])
    func echoReadsThrottledToo(rest: String, chunks: [String], pauses: Int) async throws {
        let clock = RecordingClock()
        try await withTestServer(clock: clock) { server in
            server.routeAtHead(.post, "/") { _ in
                TestResponse(body: .echo).readingThrottled(to: 3, every: .seconds(5))
            }
            let received = try await response(of: server, to: "POST / HTTP/1.1\r\n" + rest)
            let body = chunks.map { "\($0.utf8.count)\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
            #expect(received == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        }
        #expect(clock.sleeps == Array(repeating: .seconds(5), count: pauses))
    }

    /// Unread bytes fill the system's buffers, so the client blocks while it sends.
    @Test func throttledReadingBlocksTheClient() async throws {
        let clock = HeldClock()
        let server = try await TestServer.start(clock: clock)
        server.enqueue(.text("read").readingThrottled(to: 10_000, every: .seconds(5)))
        let client = try await RawClient(to: server)
        let sent = Gate()
        async let sending: Void = {
            // The body is larger than the buffers of a loopback connection.
            let count = 16_000_000
            try await client.send("POST / HTTP/1.1\r\nContent-Length: \(count)\r\n\r\n")
            try await client.send(String(repeating: "x", count: count))
            sent.open()
        }()
        try await clock.asked.wait()
        #expect(server.requests.isEmpty)
        await server.stop()
        // The client was still sending when the server stopped, which resets a connection with unread bytes.
        try? await sending
        #expect(!sent.isOpen)
        await client.close()
    }

    @Test func throttledReadingCanDisconnect() async throws {
        let clock = RecordingClock()
        try await withTestServer(clock: clock) { server in
            server.enqueue(
                .ok.readingThrottled(to: 3, every: .seconds(1)).disconnecting(.halfClose, at: .requestBody(after: 7))
            )
            try await withClient(of: server) { client in
                try await client.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n0123456789")
                #expect(try await client.receiveToEnd() == "")
            }
            #expect(server.requests.map(\.text) == ["0123456"])
        }
        #expect(clock.sleeps == [.seconds(1), .seconds(1)])
    }
}
#endif
