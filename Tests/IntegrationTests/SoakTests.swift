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
    /// Sends many requests, of which one in ten fails, and checks every outcome and the memory and descriptors
    /// afterwards.
    ///
    /// The default is a short run. The long one is `SOAK_REQUESTS=200000 swift test --enable-all-traits --filter
    /// SoakTests`.
    /// It runs in a separate process, where no other code allocates memory.
    @Suite(.tags(.concurrency, .memory), .serialized, .timeLimit(.minutes(60)))
    struct SoakTests {
        enum Fate: String, CaseIterable, Sendable {
            case responded
            case chunked
            case unavailable
            case stalled
            case cancelled
            case reset

            var response: TestResponse {
                switch self {
                case .responded: TestResponse(body: .data(Data(count: 1_024)))
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
        @Test func asyncHTTPClientEndsEveryRequestWithoutLeaks() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let transport = AsyncHTTPClientTransport()
                try await Self.soak(transport, Self.count ?? 4_000, callers: 64, fates: Fate.allCases)
                try await transport.shutdown()
            }
            expectNothing(in: result)
        }
        #endif

        /// Without resets, because URLSession on Linux does not always report them.
        @Test func urlSessionEndsEveryRequestWithoutLeaks() async {
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
            let reports = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(reports.isEmpty)
        }

        private static func soak(
            _ transport: some NetworkingComponent,
            _ count: Int,
            callers: Int,
            fates: [Fate]
        ) async throws {
            try await withTestServer { server in
                for fate in fates {
                    server.route("/\(fate)") { _ in fate.response }
                }
                let network = transport.timeout(.seconds(100)).server(baseURL: server.url)
                // Objects that all requests share are created in this first run.
                try await run(count / 10, callers: callers, fates, network, server)
                let start = Footprint()
                try await run(count, callers: callers, fates, network, server)
                try await server.waitForOpenConnections(callers)
                let end = Footprint()
                // This process, including the server, keeps 150 bytes of each request over AsyncHTTPClient, the same as
                // over a bare HTTPClient, and 300 over URLSession, which masks a smaller leak. Each thread keeps up to
                // 256 KB for its next allocations.
                let growth = end.memory - start.memory
                if growth > 6_000_000 + count * 400 || end.descriptors > start.descriptors + callers {
                    report(
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
                            // One request in ten fails.
                            let fate = number % 10 == 0 ? fates[number / 10 % fates.count] : .responded
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
                report("\(ended) of \(count) requests have ended")
            }
        }

        /// Sends a request and reports an unexpected outcome.
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
                case .responded, .chunked: "200 1024"
                case .unavailable: "503 0"
                case .stalled: "timeout"
                case .cancelled: "CancellationError"
                case .reset: "connectionLost"
                }
            if outcome != expected {
                report("\(fate): \(outcome)")
            }
        }

        private static func report(_ text: String) {
            FileHandle.standardError.write(Data((text + "\n").utf8))
        }
    }
}
#endif
