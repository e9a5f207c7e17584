import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct EventStreamTests {
    /// Returns all events and the error at the end.
    private func read(
        _ network: some NetworkingComponent,
        _ request: HTTPRequestData = .lawful,
        until terminator: String? = nil
    ) async -> (data: [String], error: (any Error)?) {
        var data: [String] = []
        do {
            try await withEnvironment(.withoutDelays) {
                for try await event in try await network.events(request, until: terminator) {
                    data.append(event.data)
                }
            }
            return (data, nil)
        } catch {
            return (data, error)
        }
    }

    @Test func returnsEventsAsTheyArrive() async throws {
        let transport = MockTransport([
            .events(.text("id: 7\nevent: greeting\nda"), .text("ta: hello\n"), .text("\ndata: again\n\n"), .hang)
        ])
        var events = try await transport.events(.lawful).makeAsyncIterator()
        #expect(try await events.next() == ServerSentEvent(type: "greeting", data: "hello", id: "7"))
        #expect(try await events.next() == ServerSentEvent(data: "again", id: "7"))
        #expect(events.lastEventID == "7")
        #expect(transport.requests[0].headerFields[.accept] == "text/event-stream")
        #expect(transport.requests[0].headerFields[.cacheControl] == "no-store")
    }

    @Test func lastIDIsThatOfTheLastReturnedEvent() async throws {
        let transport = MockTransport([
            .events(.text("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: end\n\nid: 4\n\n"))
        ])
        var events = try await transport.events(.lawful, until: "end").makeAsyncIterator()
        for id in ["1", "2"] {
            #expect(try await events.next()?.id == id)
            #expect(events.lastEventID == id)
        }
        #expect(try await events.next() == nil)
        #expect(events.lastEventID == "3")
    }

    // MARK: Reconnecting

    /// A server that ends each connection at once would otherwise get requests without a pause.
    @Test func pausesGrowBetweenConnectionsWithoutEvents() async throws {
        let clock = ManualClock()
        let nothing = MockResponse.events(.text("retry: 0\n\n"))
        let transport = MockTransport([
            nothing,
            nothing,
            nothing,
            .events(.text("data: one\n\n")),
            .status(.noContent),
        ])
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        environment.random = RandomSource { .max }
        let call = Task {
            try await withEnvironment(environment) {
                var data: [String] = []
                for try await event in try await transport.events(.lawful) { data.append(event.data) }
                return data
            }
        }
        for milliseconds in [500, 2_000, 4_000] {
            try await clock.waitForSleepers()
            #expect(clock.nextDeadline.map { clock.now.duration(to: $0) } ?? .zero > .milliseconds(milliseconds - 5))
            clock.advance(by: .milliseconds(milliseconds))
        }
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(500))
        #expect(try await call.value == ["one"])
    }

    /// A server that ends each connection after one event would otherwise get requests without a pause.
    @Test func pausesBetweenConnectionsWithOneEvent() async throws {
        let clock = ManualClock()
        let one = MockResponse.events(.text("retry: 0\ndata: one\n\n"))
        let transport = MockTransport([one, one, one, .status(.noContent)])
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        let call = Task {
            try await withEnvironment(environment) {
                var count = 0
                for try await _ in try await transport.events(.lawful) { count += 1 }
                return count
            }
        }
        for connections in 1...3 {
            try await clock.waitForSleepers()
            #expect(transport.requests.count == connections)
            #expect(clock.nextDeadline?.offset == .milliseconds(500 * connections))
            clock.advanceToNextDeadline()
        }
        #expect(try await call.value == 3)
        #expect(transport.requests.count == 4)
    }

    /// A request with such an ID would fail, and its error would blame the app.
    @Test(arguments: ["2\u{1}", "2\u{7f}", "\t2", "2 ", " 2", String(repeating: "2", count: 1 << 16), "2\u{0}"])
    func reconnectsAfterAnIDThatCannotBeSent(id: String) async throws {
        let transport = MockTransport([
            .events(.text("id: 1\ndata: one\n\nid: \(id)\ndata: two\n\n")),
            .events(.text("data: three\n\n")),
            .status(.noContent),
        ])
        let (data, error) = await read(transport)
        #expect(data == ["one", "two", "three"])
        #expect(error == nil)
        #expect(transport.requests.map(\.lastEventID) == [nil, "1", "1"])
    }

    @Test(arguments: ["2", "a b", "ü-名", "a\tb", String(repeating: "2", count: 4_096)])
    func sendsAnyOtherIDBack(id: String) async throws {
        let transport = MockTransport([.events(.text("id: \(id)\ndata: one\n\n")), .status(.noContent)])
        let (data, error) = await read(transport)
        #expect(data == ["one"])
        #expect(error == nil)
        #expect(transport.requests.map(\.lastEventID) == [nil, id])
    }

    @Test func reconnectsWhenAConnectionEnds() async throws {
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let transport = MockTransport([
            .events(.text("id: 1\ndata: one\n\ndata: hal")),
            .events(.text("data: two\n\nid: 2\n\n"), .failure(lost)),
            .events(.text("data: three\n\n")),
            .status(.noContent),
        ])
        let (data, error) = await read(transport)
        #expect(data == ["one", "two", "three"])
        #expect(error == nil)
        #expect(transport.requests.map(\.lastEventID) == [nil, "1", "2", "2"])
    }

    @Test func waitsOnTheClockOfTheStack() async throws {
        let clock = ManualClock()
        let transport = MockTransport([.events(.text("data: one\n\n")), .status(.noContent)])
        let network = transport.environment(\.clock, .manual(clock))
        let call = Task {
            for try await _ in try await network.events(.lawful) {}
        }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(3))
        clock.advanceToNextDeadline()
        try await call.value
    }

    @Test(
        arguments: [
            (nil, .seconds(3)), ("retry: 10000\n", .seconds(10)), ("retry: 500\n", .milliseconds(500)),
            ("retry: 0\n", .milliseconds(500)), ("retry: 99999999999\n", .seconds(3_600)),
        ] as [(String?, Duration)]
    )
    func waitsForTheTimeOfTheServer(line: String?, time: Duration) async throws {
        let clock = ManualClock()
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        let transport = MockTransport([.events(.text("\(line ?? "")data: one\n\n")), .status(.noContent)])
        let call = Task {
            try await withEnvironment(environment) {
                var count = 0
                for try await _ in try await transport.events(.lawful) {
                    count += 1
                }
                return count
            }
        }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == time)
        #expect(transport.requests.count == 1)
        clock.advanceToNextDeadline()
        #expect(try await call.value == 1)
        #expect(transport.requests.count == 2)
    }

    @Test func cancellationDuringTheWaitEndsTheStream() async throws {
        let clock = ManualClock()
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        let transport = MockTransport([.events(.text("data: one\n\n"))])
        let call = Task {
            try await withEnvironment(environment) {
                for try await _ in try await transport.events(.lawful) {}
            }
        }
        try await clock.waitForSleepers()
        call.cancel()
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(transport.requests.count == 1)
    }

    @Test func failedReconnectionIsLeftToTheRetryOfTheStack() async throws {
        let down = NetworkingError(.connection, request: .lawful)
        let one = MockResponse.events(.text("data: one\n\n"))
        let transport = MockTransport([
            one, .failure(down), .failure(down), .events(.text("data: two\n\n")), .status(.noContent),
        ])
        let (data, error) = await read(transport.retry(.immediate()))
        #expect(data == ["one", "two"])
        #expect(error == nil)

        let bare = MockTransport([one, .failure(down)])
        let (some, failure) = await read(bare)
        #expect(some == ["one"])
        #expect((failure as? NetworkingError)?.kind == .connection)
    }

    @Test func requestThatIsNotIdempotentIsNotReconnected() async throws {
        let transport = MockTransport([.events(.text("data: one\n\n")), .events(.text("data: two\n\n"))])
        let (data, error) = await read(transport, .lawful.with { $0.method = .post })
        #expect(data == ["one"])
        #expect(error == nil)
        #expect(transport.requests.count == 1)

        let lost = NetworkingError(.connectionLost, request: .lawful)
        let breaking = MockTransport([.events(.text("data: one\n\n"), .failure(lost))])
        let (some, failure) = await read(breaking, .lawful.with { $0.method = .post })
        #expect(some == ["one"])
        #expect((failure as? NetworkingError)?.kind == .connectionLost)
    }

    // MARK: The end

    @Test func terminatorEndsTheStream() async throws {
        let transport = MockTransport([.events(.text("data: one\n\ndata: [DONE]\n\ndata: more\n\n"), .hang)])
        let (data, error) = await read(transport, until: "[DONE]")
        #expect(data == ["one"])
        #expect(error == nil)
        try await transport.waitForEnds()
    }

    @Test func noContentIsAnEmptyStream() async throws {
        let (data, error) = await read(MockTransport([.status(.noContent)]))
        #expect(data.isEmpty)
        #expect(error == nil)
    }

    @Test(arguments: [
        "text/event-stream\t;charset=utf-8", "Text/Event-Stream", "text/event-stream ; charset=\"utf-8\"",
        "\ttext/event-stream", "text/event-stream;",
    ])
    func readsEveryFormOfTheMediaType(type: String) async throws {
        let transport = MockTransport([
            .chunks([.text("data: one\n\n")], headerFields: [.contentType: type]), .status(.noContent),
        ])
        let (data, error) = await read(transport)
        #expect(data == ["one"])
        #expect(error == nil)
    }

    /// WHATWG requires clients to fail for any status but 200.
    @Test(arguments: [201, 202, 203, 205, 206, 210, 226, 299], [true, false])
    func refusesEveryStatusBut200(code: Int, isAccepted: Bool) async throws {
        let refused = MockResponse.chunks(
            [.text("data: two\n\n")],
            status: .init(code: code),
            headerFields: [.contentType: "text/event-stream"]
        )
        let transport = MockTransport([.events(.text("data: one\n\n")), refused])
        let network = transport.server(mutateRequest: { request in
            if isAccepted { request.acceptedStatuses = .all }
        })
        let (data, error) = await read(network)
        #expect(data == ["one"])
        #expect((error as? NetworkingError)?.kind == .status)
        #expect((error as? NetworkingError)?.response?.status.code == code)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [
        "text/html", "application/json; charset=utf-8", "text/event-streams", "text/event-stream charset=utf-8", nil,
    ])
    func otherMediaTypeIsAnError(type: String?) async throws {
        let transport = MockTransport([
            .chunks([.text("<html>"), .hang], headerFields: type.map { [.contentType: $0] } ?? [:])
        ])
        let error = await #expect(throws: NetworkingError.self) { try await transport.events(.lawful) }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.reason.contains("instead of text/event-stream") == true)
        try await transport.waitForEnds()
    }

    @Test func statusThatIsNoSuccessIsAnError() async throws {
        let transport = MockTransport([.events(.text("data: one\n\n")), .chunks([.text("gone")], status: .gone)])
        let (data, error) = await read(transport)
        #expect(data == ["one"])
        #expect((error as? NetworkingError)?.response?.status == .gone)
    }

    @Test func eventWithoutAnEndIsAnError() async throws {
        let chunk = MockResponse.Chunk.text(String(repeating: "data: x\n", count: 100))
        let transport = MockTransport([
            .chunks(Array(repeating: chunk, count: 1_000), headerFields: [.contentType: "text/event-stream"])
        ])
        let error = await #expect(throws: NetworkingError.self) {
            for try await _ in try await transport.events(.lawful, maximumEventBytes: 10_000) {}
        }
        #expect(error?.kind == .tooLarge)
        #expect(error?.reason.contains("event of more than 10000 bytes") == true)
        #expect(transport.deliveredChunks < 1_000)
    }

    @Test func leavingTheLoopEndsTheTransfer() async throws {
        let transport = MockTransport([.events(.text("data: one\n\ndata: two\n\n"), .hang)])
        let events = try await transport.events(.lawful)
        for try await event in events where event.data == "one" { break }
        try await transport.waitForEnds()
        #expect(events.response.status == .ok)
    }

    // MARK: Values

    /// After a change of the model, the stream would otherwise be empty.
    @Test func eventThatDoesNotDecodeIsAnErrorByDefault() async throws {
        let transport = MockTransport([.events(.text("data: {\"n\":1}\n\ndata: nonsense\n\n"), .hang)])
        var numbers: [Int] = []
        let error = await #expect(throws: NetworkingError.self) {
            for try await value in try await transport.events(.lawful, as: [String: Int].self) {
                numbers.append(value["n"] ?? 0)
            }
        }
        #expect(numbers == [1])
        #expect(error?.kind == .decoding)
        #expect(error?.reason.contains("onDecodingFailure") == true)
        #expect(error?.reason.contains("\n") == false)
    }

    @Test(arguments: [
        (#"{"name":"a","tags":[{"id":1},{"id":"hunter2"}]}"#, "expected Int at tags.[1].id, found a string."),
        (#"{"tags":[]}"#, #"the key "name" is missing in the object at the top level."#),
        (#"{"name":"a""#, "it is JSON that ends early, after 11 bytes."),
        ("[OK]", "it is not valid JSON from byte 2 of 4 on."),
    ])
    func errorOfAnElementNamesTheFaultAndItsPath(element: String, fault: String) async throws {
        let transport = MockTransport { _ in MockResponse.events(.text("data: \(element)\n\n")) }
        let error = await #expect(throws: NetworkingError.self) {
            for try await _ in try await transport.events(.lawful, as: TaggedUser.self) {}
        }
        let reason = error?.reason ?? ""
        #expect(reason.hasPrefix("An element of the stream does not decode to TaggedUser: \(fault)"), "\(reason)")
        #expect(!reason.contains("hunter2"))
    }

    @Test func decodesTheDataOfEvents() async throws {
        let stream = "data: {\"n\":1}\n\ndata: nonsense\n\ndata: {\"n\":\ndata: 2}\n\ndata: [DONE]\n\n"
        let failureCount = Mutex(0)
        let failures: [(DecodingFailures, [Int], NetworkingError.Kind?)] = [
            (.skip, [1, 2], nil), (.report { _ in failureCount.withLock { $0 += 1 } }, [1, 2], nil),
            (.fail, [1], .decoding),
        ]
        for (policy, expected, kind) in failures {
            let transport = MockTransport([.events(.text(stream), .hang)])
            var numbers: [Int] = []
            var failure: NetworkingError?
            do {
                let values = try await transport.events(.lawful, as: [String: Int].self, onDecodingFailure: policy)
                for try await value in values {
                    numbers.append(value["n"] ?? 0)
                }
            } catch let error as NetworkingError {
                failure = error
            }
            #expect(numbers == expected)
            #expect(failure?.kind == kind)
            try await transport.waitForEnds()
        }
        #expect(failureCount.withLock { $0 } == 1)
    }
}

extension EventStreamTests {
    // MARK: Events of several types

    private struct Order: Decodable, Sendable, Equatable {
        let orderID: Int
    }

    private var snakeCase: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            path.last?.stringValue == "order_id" ? AnyKey("orderID") : path.last ?? AnyKey("")
        }
        return decoder
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ stringValue: String) {
            self.stringValue = stringValue
        }

        init(stringValue: String) {
            self.init(stringValue)
        }

        init?(intValue: Int) {
            nil
        }
    }

    private func events() -> MockTransport {
        MockTransport { _ in
            .events(.text("event: order\ndata: {\"order_id\":\ndata: 7}\n\nevent: note\ndata: hunter2\n\n"), .hang)
        }
    }

    @Test(arguments: ["stack", "request", "argument"])
    func eventDecodesItsDataWithTheDecoderOfTheStack(place: String) async throws {
        let network = AnyNetworkingComponent(
            place == "stack" ? AnyNetworkingComponent(events().decoder(snakeCase)) : AnyNetworkingComponent(events())
        )
        let request = HTTPRequestData.lawful.with { request in
            if place == "request" { request.decoder = snakeCase }
        }
        var iterator = try await network.events(request).makeAsyncIterator()
        let event = try #require(try await iterator.next())
        let decoder = place == "argument" ? snakeCase : nil
        #expect(try event.json(as: Order.self, decoder: decoder) == Order(orderID: 7))
        let order: Order = try event.json(decoder: decoder)
        #expect(order.orderID == 7)
        // The decoder is no part of the event.
        #expect(event == ServerSentEvent(type: "order", data: "{\"order_id\":\n7}"))
        #expect(Set([event, ServerSentEvent(type: "order", data: "{\"order_id\":\n7}")]).count == 1)
    }

    @Test func errorOfAnEventNamesItsFaultWithoutItsData() async throws {
        var iterator = try await events().events(.lawful).makeAsyncIterator()
        let event = try #require(try await iterator.next())
        let error = #expect(throws: NetworkingError.self) { try event.json(as: Order.self) }
        #expect(error?.kind == .decoding)
        #expect(error?.request.path == HTTPRequestData.lawful.path)
        #expect(error?.reason.contains("the key \"orderID\" is missing") == true)
        #expect(error?.reason.contains("onDecodingFailure") == false)
        let note = try #require(try await iterator.next())
        let failure = #expect(throws: NetworkingError.self) { try note.json(as: Order.self) }
        #expect(failure.map { "\($0)".contains("hunter2") } == false)
    }

    /// An event that the app has created, for example in a test.
    @Test func eventWithoutAStreamUsesAPlainDecoder() throws {
        #expect(try ServerSentEvent(data: "[1]").json(as: [Int].self) == [1])
        #expect(throws: NetworkingError.self) { try ServerSentEvent(data: "[").json(as: [Int].self) }
    }
}

extension HTTPRequestData {
    fileprivate var lastEventID: String? {
        headerFields.first { $0.name.canonicalName == "last-event-id" }?.value
    }
}

extension NetworkEnvironment {
    /// An environment with waits that take no time.
    fileprivate static var withoutDelays: NetworkEnvironment {
        var environment = NetworkEnvironment.current
        environment.clock = .immediate()
        return environment
    }
}
