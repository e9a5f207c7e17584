#if AsyncHTTPClient && (os(Linux) || os(macOS))
import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// A circuit breaker in front of a server that is another process.
    @Suite(.timeLimit(.minutes(20)))
    struct CircuitBreakerTests {
        private let clock = ManualClock()
        private let transport = AsyncHTTPClientTransport(maximumConnectionsPerHost: 1_000)

        private func network(_ server: URL, _ breaker: CircuitBreaker) -> some NetworkingComponent {
            transport.timeout(.seconds(10)).circuitBreaker(by: breaker).server(baseURL: server)
                .environment(\.clock, .manual(clock)).environment(\.random, RandomSource { .max })
        }

        private func key(_ server: URL) throws -> String {
            "127.0.0.1:\(try #require(server.port))"
        }

        /// 200 requests a second, with a time limit of 10 s each, of which a call is slow after 2 s.
        @Test func serverThatHangsReceivesAtMostTwoAndAHalfSecondsOfTraffic() async throws {
            try await Python.withServer(program) { server in
                let breaker = CircuitBreaker(.init(slowCalls: .init(after: .seconds(2))))
                let network = self.network(server, breaker)
                let rejected = Counter()
                var calls: [Task<Void, Never>] = []
                for number in 1...520 {
                    calls.append(
                        Task {
                            do {
                                _ = try await network.data(HTTPRequestData(path: "hang"))
                            } catch let error as NetworkingError where error.circuitRejection != nil {
                                rejected.add(1)
                            } catch {}
                        }
                    )
                    // The clock advances in steps of twenty requests, once all of them have arrived or are refused.
                    guard number.isMultiple(of: 20) else { continue }
                    try await eventually("the requests arrive or are refused") {
                        try await counts(of: server).total + rejected.value == number
                    }
                    clock.advance(by: .milliseconds(100))
                }
                #expect(breaker.state(of: try key(server)) == .open)
                #expect((400...500).contains(try await counts(of: server).total))
                for call in calls { call.cancel() }
                for call in calls { await call.value }

                try await transport.server(baseURL: server).data(HTTPRequestData(path: "recover"))
                clock.advance(by: .seconds(5))
                try await network.data(HTTPRequestData(path: "hang"))
                #expect(breaker.state(of: try key(server)) == .closed)
            }
            try await transport.shutdown()
        }

        @Test func cancelledProbesReachTheServerOneAtATime() async throws {
            try await Python.withServer(program) { server in
                let breaker = CircuitBreaker()
                let network = self.network(server, breaker)
                for _ in 1...10 {
                    _ = try? await network.data(HTTPRequestData(path: "fail"))
                }
                #expect(breaker.state(of: try key(server)) == .open)
                clock.advance(by: .seconds(5))
                for round in 1...10 {
                    let rejected = Counter()
                    let calls = (1...100)
                        .map { _ in
                            Task {
                                do {
                                    _ = try await network.data(HTTPRequestData(path: "hang"))
                                } catch let error as NetworkingError where error.circuitRejection != nil {
                                    rejected.add(1)
                                } catch {}
                            }
                        }
                    try await eventually("the probe arrives, and the others are refused") {
                        let total = try await counts(of: server).total
                        return rejected.value == 99 && total == round
                    }
                    for call in calls { call.cancel() }
                    for call in calls { await call.value }
                    #expect(breaker.state(of: try key(server)) == .halfOpen)
                    try await eventually("the server notices the end") { try await counts(of: server).now == 0 }
                }
                #expect(try await counts(of: server).highest == 1)
            }
            try await transport.shutdown()
        }

        @Test func deadServerIsProbedUntilItIsBack() async throws {
            let breaker = CircuitBreaker()
            let place = Counter()
            try await Python.withServer(program) { server in
                place.add(server.port ?? 0)
                try await self.network(server, breaker).data(HTTPRequestData(path: "ok"))
            }
            let port = place.value
            let server = try #require(URL(string: "http://127.0.0.1:\(port)"))
            let network = self.network(server, breaker)
            for _ in 1...5 {
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "ok"))
                }
                #expect(error?.circuitRejection == nil)
            }
            for seconds in [5, 10] {
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "ok"))
                }
                #expect(error?.circuitRejection?.state == .open)
                #expect(error?.retryAfter.map { .seconds(seconds) - $0 < .milliseconds(1) } == true)
                clock.advance(by: .seconds(seconds))
                // The probe fails.
                let failure = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "ok"))
                }
                #expect(failure?.kind == .connection)
            }
            clock.advance(by: .seconds(20))
            try await Python.withServer("port = \(port)\n" + program) { _ in
                try await network.data(HTTPRequestData(path: "ok"))
                #expect(breaker.state(of: try key(server)) == .closed)
            }
            try await transport.shutdown()
        }

        private final class Counter: Sendable {
            private let count = Atomic(0)

            var value: Int { count.load(ordering: .relaxed) }

            func add(_ number: Int) {
                count.add(number, ordering: .relaxed)
            }
        }

        // MARK: The server

        private struct Counts: Decodable {
            /// The requests to `/hang` in progress, the highest number of them, and all of them.
            let now, highest, total: Int
        }

        private func counts(of server: URL) async throws -> Counts {
            let response = try await transport.server(baseURL: server).data(HTTPRequestData(path: "counts"))
            return try JSONDecoder().decode(Counts.self, from: response.data)
        }

        /// A server that never responds to `/hang`, until `/recover` is requested or the client closes the connection.
        private let program = """
            import json, os, select, socket, sys, threading
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

            lock = threading.Lock()
            counts = {"now": 0, "highest": 0, "total": 0}
            hangs = True

            def count(step):
                with lock:
                    counts["now"] += step
                    counts["total"] += max(0, step)
                    counts["highest"] = max(counts["highest"], counts["now"])

            class Handler(BaseHTTPRequestHandler):
                protocol_version = "HTTP/1.1"

                def do_GET(self):
                    global hangs
                    status = 503 if self.path == "/fail" else 200
                    if self.path == "/hang":
                        count(1)
                        while hangs:
                            if select.select([self.connection], [], [], 0.5)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                                break
                        count(-1)
                    if self.path == "/recover":
                        hangs = False
                    with lock:
                        body = json.dumps(counts).encode()
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *arguments):
                    pass

            class Server(ThreadingHTTPServer):
                request_queue_size = 256
                daemon_threads = True

                def handle_error(self, request, address):
                    pass

            server = Server(("127.0.0.1", globals().get("port", 0)), Handler)
            threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
            print(server.server_port, flush=True)
            signal.alarm(0)
            server.serve_forever()
            """
    }
}
#endif
