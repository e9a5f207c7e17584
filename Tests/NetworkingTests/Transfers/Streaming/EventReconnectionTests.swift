import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The time limit and the server of an event stream, over all of its connections.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EventReconnectionTests {
    private let clock = ManualClock()

    private let received = Locked<[String]>([])

    private func environment(_ clock: ManualClock) -> NetworkEnvironment {
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        return environment
    }

    /// Waits for the pause after an event, because the alarm of the exchange's deadline is gone soon after it.
    private func waitForPause(of duration: Duration, afterEvent count: Int, on clock: ManualClock) async throws {
        while received.value.count < count || clock.nextDeadline.map({ clock.now.duration(to: $0) }) != duration {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Reads the events of a stack, and returns their data and the error at the end.
    private func reading(
        _ network: some NetworkingComponent,
        _ request: HTTPRequestData = .lawful,
        in environment: NetworkEnvironment
    ) -> Task<(data: [String], error: (any Error)?), Never> {
        Task {
            await withEnvironment(environment) {
                var data: [String] = []
                do {
                    for try await event in try await network.events(request) {
                        data.append(event.data)
                        received.append(event.data)
                    }
                    return (data, nil)
                } catch {
                    return (data, error)
                }
            }
        }
    }

    // MARK: Deadlines

    enum Limit: CaseIterable {
        case stack, request, clockOfTheStack
    }

    @Test(arguments: Limit.allCases)
    func deadlineCoversAllConnections(limit: Limit) async throws {
        let transport = MockTransport { _ in .events(.text("retry: 4000\ndata: one\n\n")) }
        let stackClock = ManualClock()
        let network: any NetworkingComponent =
            switch limit {
            case .stack: transport.deadline(.seconds(10))
            case .request: transport.deadline(.seconds(3_600))
            case .clockOfTheStack: transport.deadline(.seconds(10)).environment(\.clock, .manual(stackClock))
            }
        var request = HTTPRequestData.lawful
        if limit == .request { request.deadline = .seconds(10) }
        let call = reading(AnyNetworkingComponent(network), request, in: environment(clock))
        let waits = limit == .clockOfTheStack ? stackClock : clock
        // Two waits of four seconds fit into the limit, and the third one ends with it.
        for (wait, connections) in [(4, 1), (4, 2), (2, 3)] {
            try await waitForPause(of: .seconds(wait), afterEvent: connections, on: waits)
            #expect(transport.requests.count == connections)
            waits.advance(by: .seconds(wait))
        }
        let (data, error) = await call.value
        #expect(data == ["one", "one", "one"])
        #expect((error as? NetworkingError)?.kind == .deadline)
        #expect((error as? NetworkingError)?.reason.contains("within 10.0 seconds") == true)
        #expect(transport.requests.count == 3)
    }

    @Test func deadlineEndsALaterConnection() async throws {
        let transport = MockTransport([
            .events(.text("retry: 4000\ndata: one\n\n")), .events(.text("data: two\n\n"), .hang),
        ])
        let call = reading(transport.deadline(.seconds(10)), in: environment(clock))
        try await waitForPause(of: .seconds(4), afterEvent: 1, on: clock)
        clock.advance(by: .seconds(4))
        try await transport.waitForRequests(2)
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(10))
        clock.advance(by: .seconds(6))
        let (_, error) = await call.value
        #expect((error as? NetworkingError)?.kind == .deadline)
    }

    @Test func streamWithoutADeadlineHasNone() async throws {
        let transport = MockTransport([.events(.text("data: one\n\n")), .status(.noContent)])
        let call = reading(transport, in: environment(clock))
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        #expect(await call.value.error == nil)
    }

    /// Each stream has its own deadline, even if its request is the same.
    @Test func deadlineOfTheNextStreamStartsAgain() async throws {
        let transport = MockTransport([
            .events(.text("data: one\n\n")), .status(.noContent), .events(.text("data: two\n\n")), .status(.noContent),
        ])
        let network = transport.deadline(.seconds(10))
        for (count, expected) in [(1, "one"), (2, "two")] {
            let call = reading(network, in: environment(clock))
            try await waitForPause(of: .seconds(3), afterEvent: count, on: clock)
            clock.advance(by: .seconds(3))
            let (data, error) = await call.value
            #expect(data == [expected])
            #expect(error == nil)
            clock.advance(by: .seconds(8))
        }
    }

    // MARK: Servers

    /// The credentials of the first server would otherwise go to the second one, or those of the second to the first.
    @Test func streamStaysWithItsServer() async throws {
        let transport = MockTransport([
            .events(.text("id: 1\ndata: one\n\n")), .events(.text("data: two\n\n")), .status(.noContent),
        ])
        let server = SwitchableServer(URL(string: "https://api.example.com/v1")!)
        let network = transport.authenticated(with: Session(userID: "emily", accessToken: "token"))
            .server(baseURL: server)
        let call = reading(network, HTTPRequestData(path: "news"), in: environment(clock))
        try await clock.waitForSleepers()
        try server.change(to: URL(string: "https://staging.example.com/v2")!)
        clock.advance(by: .seconds(3))
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        let (data, error) = await call.value
        #expect(data == ["one", "two"])
        #expect(error == nil)
        #expect(Set(transport.requests.map { $0.url?.absoluteString }) == ["https://api.example.com/v1/news"])
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer token", nil, nil])
        let lastIDs = transport.requests.map { $0.headerFields[HTTPField.Name("Last-Event-ID")!] }
        #expect(lastIDs == [nil, "1", "1"])
    }

    @Test func responseHasTheRequestOfTheCaller() async throws {
        let network = MockTransport([.events(.text("data: one\n\n"), .hang)])
            .server(baseURL: URL(string: "https://api.example.com/v1")!)
        let events = try await network.events(HTTPRequestData(path: "news"))
        #expect(events.response.request.path == "/news")
        #expect(events.response.request.authority == nil)
    }

    // MARK: Streams that end after a wait

    /// The caller waits before the transport fails or the server refuses.
    @Test(arguments: [true, false])
    func callerThatWaitsReceivesTheRefusal(isResponse: Bool) async throws {
        let gate = MockGate()
        let transport = MockTransport { _ in
            try await gate.wait()
            return isResponse ? .status(.notFound) : .failure(NetworkingError(.connection, request: .lawful))
        }
        let call = Task { try await transport.stream(.lawful) }
        try await transport.waitForRequests(1)
        for _ in 0..<100 {
            await Task.yield()
        }
        gate.open()
        let result = Mutex<Result<ResponseStream, any Error>?>(nil)
        let waiting = Task {
            let outcome = await call.result
            result.withLock { $0 = outcome }
        }
        defer { waiting.cancel() }
        try await eventually("the call ends", within: .seconds(10)) { result.withLock { $0 } != nil }
        let error = result.withLock { $0 }?.networkingError
        #expect(error?.kind == (isResponse ? .status : .connection))
        call.cancel()
    }

    @Test func cancelledCallerCancelsTheTransferBeforeTheHead() async throws {
        let transport = MockTransport { _ in .never }
        let call = Task { try await transport.stream(.lawful) }
        try await transport.waitForRequests(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await eventually("the transfer is cancelled") { transport.cancelled == 1 }
    }

    // MARK: The size of an event

    @Test(arguments: ["data: abc\n\n", "data: a\ndata: c\n\n"])
    func eventOfTheMaximumSizeIsRead(text: String) throws {
        // The limit counts the data so far and the whole current line: 9, and 2 and 7.
        let size = 9
        var parser = ServerSentEventParser(maximumEventBytes: size)
        #expect(try parser.parse(Data(text.utf8)).count == 1)
        var stricter = ServerSentEventParser(maximumEventBytes: size - 1)
        #expect(throws: StreamTooLong.self) { try stricter.parse(Data(text.utf8)) }
    }
}
