#if TestServer && URLSession && os(Linux)
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
    /// Mixed traffic with faults, after which descriptors, memory, tasks and connections must be as after a warm-up.
    ///
    /// The default is a run of seconds. `SOAK_MINUTES=60 swift test --enable-all-traits --filter SoakTests` runs each
    /// transport for an hour. The traffic runs in a separate process, where no other code allocates memory. It has no tag
    /// of a sanitizer, because those keep freed memory and the clocks of finished tasks.
    @Suite(.serialized)
    struct SoakTests {
        #if AsyncHTTPClient
        @Test func asyncHTTPClientEndsEveryCallWithoutLeaks() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let transport = AsyncHTTPClientTransport()
                try await Soak(over: transport, SoakTraffic.allCases, callers: 32, connections: 8).run()
                try await transport.shutdown()
            }
            expectNoProblem(in: result)
        }
        #endif

        /// Without resets, because URLSession on Linux does not always report them.
        @Test func urlSessionEndsEveryCallWithoutLeaks() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let transport = URLSessionTransport(configuration: .ephemeral)
                let traffic = SoakTraffic.allCases.filter { $0 != .reset }
                try await Soak(over: transport, traffic, callers: 6, connections: 6).run()
            }
            expectNoProblem(in: result)
        }

        private func expectNoProblem(in result: ExitTest.Result?) {
            let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
            for line in lines where line.hasPrefix(Soak.figures) {
                print(line)
            }
            #expect(lines.filter { !$0.hasPrefix(Soak.figures) } == [])
        }
    }
}

/// A run of mixed traffic over a transport, which prints its problems and figures to the standard error.
struct Soak: Sendable {
    /// The beginning of the lines with figures.
    static let figures = "soak: "

    /// The allocated bytes that a call may leave behind.
    ///
    /// A call has up to three exchanges. URLSession on Linux and the server of this process keep 370 bytes of each one,
    /// also without this library.
    private static let bytesPerCall = 800

    /// The growth that does not depend on the number of calls: a thread keeps up to 256 KB for its next allocations.
    private static let slack = 6_000_000

    private let transport: AnyNetworkingComponent
    private let traffic: [SoakTraffic]
    private let callers: Int
    private let connections: Int
    private let duration: Duration

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - transport: The transport, with connections that no other code uses.
    ///   - traffic: The kinds of calls.
    ///   - callers: The number of concurrent calls.
    ///   - connections: The maximum number of connections that the transport keeps to a server.
    init(over transport: some NetworkingComponent, _ traffic: [SoakTraffic], callers: Int, connections: Int) {
        self.transport = AnyNetworkingComponent(transport)
        self.traffic = traffic
        self.callers = callers
        self.connections = connections
        let minutes = ProcessInfo.processInfo.environment["SOAK_MINUTES"].flatMap { Double($0) }
        duration = minutes.map { .seconds($0 * 60) } ?? .seconds(12)
    }

    /// Runs the traffic for a warm-up and for the duration, and compares the process after both.
    func run() async throws {
        try await withTestServer { server in
            SoakTraffic.route(on: server)
            let client = SoakClient(transport, server)
            // Objects that all calls share are created during the warm-up, which has at least every kind once.
            _ = try await send(for: min(duration / 3, .seconds(60)), client, server)
            let start = try await footprint(client, server)
            let count = try await send(for: duration, client, server)
            let end = try await footprint(client, server)
            let growth = end.memory - start.memory
            let descriptors = end.descriptors - start.descriptors
            Self.report(
                """
                \(Self.figures)\(count) calls in \(duration), \(growth) bytes and \(descriptors) descriptors more, \
                \(server.acceptedConnections) connections accepted and \(server.openConnections) open
                """
            )
            if growth > Self.slack + count * Self.bytesPerCall {
                Self.report("\(growth) bytes more after \(count) calls")
            }
            // Pools of threads and of connections open descriptors at any time.
            if descriptors > 2 * connections {
                Self.report("\(descriptors) descriptors more after \(count) calls")
            }
        }
    }

    /// Sends calls until the duration is over, and returns their number.
    private func send(for duration: Duration, _ client: SoakClient, _ server: TestServer) async throws -> Int {
        let tally = Tally()
        let end = ContinuousClock.now + duration
        try await withThrowingTaskGroup { group in
            for _ in 0..<callers {
                group.addTask {
                    while true {
                        let number = tally.begun.add(1, ordering: .relaxed).oldValue
                        guard number < traffic.count || .now < end else { return }
                        let call = traffic[number % traffic.count]
                        let outcome = await CallMarker.marking { await client.outcome(of: call, number: number) }
                        if outcome != call.expectedOutcome {
                            Self.report("\(call): \(outcome)")
                        }
                        if number % 500 == 0 {
                            server.forgetRequests()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return tally.begun.load(ordering: .relaxed) - callers
    }

    private final class Tally: Sendable {
        let begun = Atomic(0)
    }

    /// Returns the footprint when no call is in progress, after it has checked the tasks and connections.
    private func footprint(_ client: SoakClient, _ server: TestServer) async throws -> Footprint {
        // A connection that is not returned to its pool stays open, or keeps the pool from serving these calls.
        let accepted = server.acceptedConnections
        for number in 0..<20 {
            let outcome = await client.outcome(of: .json, number: number)
            if outcome != SoakTraffic.json.expectedOutcome {
                Self.report("\(SoakTraffic.json) after the traffic: \(outcome)")
            }
        }
        if server.acceptedConnections > accepted + 1 {
            Self.report("\(server.acceptedConnections - accepted) connections for calls in sequence")
        }
        try await Self.expectSoon("no more than \(connections) connections", "\(server.openConnections) are open") {
            server.openConnections <= connections
        }
        try await Self.expectSoon("no exchange in progress", "the server has \(server.activeRequests)") {
            server.activeRequests == 0
        }
        try await Self.expectSoon("no task of a call", "\(CallMarker.count) calls have tasks or closures left") {
            CallMarker.count == 0
        }
        server.forgetRequests()
        return Footprint()
    }

    /// Reports a problem if a condition does not become true within some seconds.
    private static func expectSoon(
        _ expectation: String,
        _ state: @autoclosure () -> String,
        _ condition: () -> Bool
    ) async throws {
        let end = ContinuousClock.now + .seconds(10)
        while !condition() {
            guard .now < end else { return report("expected \(expectation), but \(state())") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private static func report(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
#endif
