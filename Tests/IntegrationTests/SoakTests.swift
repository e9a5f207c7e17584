#if TestServer && os(Linux)
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

extension Loopback {
    /// Many requests, of which many go wrong: each ends as its server made it end, and nothing stays behind.
    ///
    /// A short run by default; `SOAK_REQUESTS=200000 swift test --enable-all-traits --filter SoakTests` is the long
    /// one. In a process of its own, where nothing else takes memory.
    @Suite(.tags(.concurrency, .memory), .serialized, .timeLimit(.minutes(60)))
    struct SoakTests {
        enum Fate: String, CaseIterable, Sendable {
            case answered
            case chunked
            case unavailable
            case stalled
            case cancelled
            case reset

            var answer: TestResponse {
                switch self {
                case .answered: TestResponse(body: .data(Data(count: 1_024)))
                case .chunked: TestResponse(body: .chunks([.init(Data(count: 1_000)), .init(Data(count: 24))]))
                case .unavailable: .status(.serviceUnavailable)
                case .stalled, .cancelled: .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall)
                case .reset: .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .reset)
                }
            }
        }

        private final class Tally: Sendable {
            let begun = Atomic(0)
            let ended = Atomic(0)
        }

        private static var count: Int? {
            ProcessInfo.processInfo.environment["SOAK_REQUESTS"].flatMap { Int($0) }
        }

        #if AsyncHTTPClient
        @Test func everyRequestOverAsyncHTTPClientIsAccountedFor() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let transport = AsyncHTTPClientTransport()
                try await Self.soak(transport, Self.count ?? 4_000, callers: 64, fates: Fate.allCases)
                try await transport.shutdown()
            }
            expectNothing(in: result)
        }
        #endif

        /// Without resets, after which URLSession on Linux may not tell what happened.
        @Test func everyRequestOverURLSessionIsAccountedFor() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let transport = URLSessionTransport(configuration: .ephemeral)
                try await Self.soak(
                    transport,
                    Self.count.map { $0 / 10 } ?? 1_000,
                    callers: 6,
                    fates: Fate.allCases.dropLast()
                )
            }
            expectNothing(in: result)
        }

        private func expectNothing(in result: ExitTest.Result?) {
            let complaint = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(complaint.isEmpty)
        }

        private static func soak(
            _ transport: some NetworkingComponent,
            _ count: Int,
            callers: Int,
            fates: [Fate]
        ) async throws {
            try await withTestServer { server in
                for fate in fates {
                    server.route("/\(fate)") { _ in fate.answer }
                }
                let network = transport.timeout(.seconds(100)).server(baseURL: server.url)
                // What is made once for all requests is made here.
                try await run(count / 10, callers: callers, fates, network, server)
                let start = Footprint()
                try await run(count, callers: callers, fates, network, server)
                try await server.waitForOpenConnections(callers)
                let end = Footprint()
                // This process, its server included, keeps 150 bytes of a request over AsyncHTTPClient, the same as
                // over a bare HTTPClient, and 300 over URLSession, which
                // hides a leak of less; threads keep a quarter of a megabyte each for what comes next.
                let growth = end.memory - start.memory
                if growth > 6_000_000 + count * 400 || end.descriptors > start.descriptors + callers {
                    complain(
                        "\(growth) bytes more after \(count) requests, \(end.descriptors - start.descriptors) descriptors more"
                    )
                }
            }
        }

        private static func run(
            _ count: Int,
            callers: Int,
            _ fates: [Fate],
            _ network: some NetworkingComponent,
            _ server: TestServer
        ) async throws {
            let tally = Tally()
            try await withThrowingTaskGroup { group in
                for _ in 0..<callers {
                    group.addTask {
                        while true {
                            let number = tally.begun.add(1, ordering: .relaxed).oldValue
                            guard number < count else { return }
                            // One in ten goes wrong.
                            let fate = number % 10 == 0 ? fates[number / 10 % fates.count] : .answered
                            try await send(fate, over: network)
                            tally.ended.add(1, ordering: .relaxed)
                            if number % 1_000 == 0 {
                                server.forgetRequests()
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let ended = tally.ended.load(ordering: .relaxed)
            if ended != count {
                complain("\(ended) of \(count) requests have ended")
            }
        }

        /// Sends a request, and complains when it does not end as it should.
        private static func send(_ fate: Fate, over network: some NetworkingComponent) async throws {
            var request = HTTPRequestData(path: "\(fate)")
            if fate == .stalled {
                request.timeout = .milliseconds(100)
            }
            let (reading, began) = AsyncStream.makeStream(of: Void.self)
            let call = Task { [request] in
                try await network.data(request) { progress in
                    if progress.received.count > 0 {
                        began.finish()
                    }
                }
            }
            if fate == .cancelled {
                for await _ in reading {}
                call.cancel()
            }
            let outcome: String
            switch await call.result {
            case .success(let response): outcome = "\(response.status.code) \(response.data.count)"
            case .failure(let error as NetworkingError): outcome = "\(error.kind)"
            case .failure(let error): outcome = "\(type(of: error))"
            }
            let expected =
                switch fate {
                case .answered, .chunked: "200 1024"
                case .unavailable: "503 0"
                case .stalled: "timeout"
                case .cancelled: "CancellationError"
                case .reset: "connectionLost"
                }
            if outcome != expected {
                complain("\(fate): \(outcome)")
            }
        }

        private static func complain(_ text: String) {
            FileHandle.standardError.write(Data((text + "\n").utf8))
        }
    }
}
#endif
