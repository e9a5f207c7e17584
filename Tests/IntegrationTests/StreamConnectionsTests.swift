#if TestServer && URLSession && AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Event streams that occupy the connections to their server.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct StreamConnectionsTests {
        enum Transport: CaseIterable {
            case urlSession, asyncHTTPClient

            /// The default number of connections to a host.
            var standardLimit: Int {
                switch self {
                case .urlSession: 6
                case .asyncHTTPClient: 8
                }
            }

            func component(maximumConnectionsPerHost limit: Int? = nil) -> AnyNetworkingComponent {
                switch self {
                case .urlSession:
                    AnyNetworkingComponent(
                        URLSessionTransport(configuration: .ephemeral, maximumConnectionsPerHost: limit)
                    )
                case .asyncHTTPClient:
                    AnyNetworkingComponent(AsyncHTTPClientTransport(maximumConnectionsPerHost: limit))
                }
            }
        }

        private let clock = ManualClock()

        /// Opens event streams and returns them when the first event of each has arrived.
        private func openStreams(
            _ count: Int,
            of server: TestServer,
            over network: AnyNetworkingComponent
        ) async throws -> [EventStream.Iterator] {
            var streams: [EventStream.Iterator] = []
            for _ in 0..<count {
                let request = HTTPRequestData(url: server.url.appending(path: "events"))
                var stream = try await network.events(request).makeAsyncIterator()
                #expect(try await stream.next()?.data == "1")
                streams.append(stream)
            }
            return streams
        }

        private func withEvents(_ test: @Sendable (TestServer) async throws -> Void) async throws {
            try await withTestServer { server in
                let gate = Gate()
                server.route("/events") { _ in
                    TestResponse(
                        headerFields: [.contentType: "text/event-stream"],
                        body: .chunks(["data: 1\n\n", TestResponse.Chunk("data: 2\n\n", gate: gate)])
                    )
                }
                server.route("/call") { _ in .text("called") }
                try await test(server)
            }
        }

        private func waits(_ events: EventRecorder) -> Bool {
            events.events.contains { if case WaitEvent.waiting(.connection, _) = $0 { true } else { false } }
        }

        @Test(arguments: Transport.allCases)
        func callTimesOutWhileStreamsHoldEveryConnection(transport: Transport) async throws {
            try await withEvents { server in
                let network = transport.component()
                let limit = transport.standardLimit
                var streams = try await openStreams(limit, of: server, over: network)
                let limited = network.timeout(.seconds(10)).environment(\.clock, .manual(clock))
                let events = EventRecorder()
                let request = HTTPRequestData(url: server.url.appending(path: "call")).with { $0.addObserver(events) }
                let call = Task { try await limited.data(request) }
                try await eventually("the call waits for a connection") { waits(events) }
                clock.advance(by: .seconds(10))
                let result = await call.result
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .timeout)
                #expect(error?.reason.contains("\(limit) streams to this server are open") == true)
                #expect(error?.reason.hasSuffix("with a larger maximumConnectionsPerHost.") == true)
                #expect(server.requests(for: .get, path: "/call").isEmpty)
                streams.removeLast()
                #expect(try await limited.data(request).data == Data("called".utf8))
                streams.removeAll()
            }
        }

        @Test(arguments: Transport.allCases)
        func callCompletesWithMoreConnectionsThanStreams(transport: Transport) async throws {
            try await withEvents { server in
                let limit = transport.standardLimit
                let network = transport.component(maximumConnectionsPerHost: limit + 1)
                let streams = try await openStreams(limit, of: server, over: network)
                let events = EventRecorder()
                let limited = network.timeout(.seconds(10)).environment(\.clock, .manual(clock))
                let request = HTTPRequestData(url: server.url.appending(path: "call")).with { $0.addObserver(events) }
                let call = Task { try await limited.data(request) }
                try await eventually("the call waits for a connection, or has a response") {
                    waits(events) || events.names.contains("headReceived")
                }
                if waits(events) { call.cancel() }
                #expect(try await call.value.data == Data("called".utf8))
                #expect(server.acceptedConnections == limit + 1)
                #expect(streams.count == limit)
            }
        }
    }
}
#endif
