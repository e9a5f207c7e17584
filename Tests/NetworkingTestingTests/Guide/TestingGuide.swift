import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

struct Shop: Sendable {
    let network: any NetworkingComponent

    init(over transport: some NetworkingComponent) {
        network = transport.timeout(.seconds(10)).retry().checkedStatusCode()
            .server(headerField: .accept, "application/json")
            .server(authority: "api.example.com")
    }

    func item(_ id: Int) async throws -> Item {
        try await network.request(.get("items/\(id)"))
    }

    func order(_ item: Item) async throws {
        try await network.perform(.post("orders", body: .json(item)))
    }
}

struct Item: Codable, Sendable, Equatable {
    let id: Int
    let name: String
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TestingGuide {
    @Test func getsAnItem() async throws {
        let transport = MockTransport()
        transport.on(.get, "/items/7", .json(Item(id: 7, name: "Lamp")))

        let item = try await Shop(over: transport).item(7)

        #expect(item.name == "Lamp")
        #expect(transport.requests.map(\.path) == ["/items/7"])
        #expect(transport.requests.first?.headerFields[.accept] == "application/json")
    }

    @Test func sendsTheOrderOnce() async throws {
        try await withMockTransport { transport in
            transport.on(.post, "/orders", uses: .once) { request in
                #expect(request.body?.data == Data(#"{"id":7,"name":"Lamp"}"#.utf8))
                return .status(.created)
            }
            try await Shop(over: transport).order(Item(id: 7, name: "Lamp"))
        }
    }

    @Test func reportsTheClosestMock() async throws {
        let transport = MockTransport()
        transport.on(.get, "/items/7", .json(Item(id: 7, name: "Lamp")))
        let error = await #expect(throws: NetworkingError.self) { try await Shop(over: transport).item(8) }
        #expect(error?.kind == .unimplemented)
        #expect("\(try #require(error))".contains("/items/7"))
        #expect(throws: UnusedMocks.self) { try transport.verifyAllUsed() }
    }

    @Test func matchesRequestsByPatterns() async throws {
        let transport = MockTransport()
        let items = RequestMatcher.request(.get, "/items/:id")
        transport.on(items && .headerField(.accept, "application/json")) { request in
            .json(Item(id: Int(request.pathParameters["id"] ?? "") ?? 0, name: "Lamp"))
        }
        #expect(try await Shop(over: transport).item(42).id == 42)
    }

    @Test func retriesAfter503() async throws {
        try await withMockTransport { transport in
            transport.expect(.get, "/items/7", .status(.serviceUnavailable))
            transport.expect(.get, "/items/7", .json(Item(id: 7, name: "Lamp")))

            let network = Shop(over: transport).network.environment(\.clock, .immediate())
            let response = try await network.data(.get("items/7"))
            #expect(response.status == .ok)
        }
    }

    @Test func cancellingReachesTheTransport() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let call = Task { try await Shop(over: transport).item(7) }

        try await held.waitForRequests()
        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(held.cancellations == 1)
    }

    @Test func readsEventsAsTheyArrive() async throws {
        let gate = MockGate()
        let transport = MockTransport()
        transport.on(.get, "/news", .events("data: one\n\n", .wait(for: gate), "data: two\n\n"))

        var texts: [String] = []
        let request = HTTPRequestData(authority: "api.example.com", path: "/news")
        for try await event in try await transport.events(request) {
            texts.append(event.data)
            gate.open()
            if texts.count == 2 { break }
        }
        #expect(texts == ["one", "two"])
    }

    @Test func mocksOneEndpoint() async throws {
        let rest = MockTransport { _ in .status(.notFound) }
        let lamp = Item(id: 7, name: "Lamp")
        let network = rest.mocked(.request(.get, "/items/*"), with: .json(lamp))
        #expect(try await Shop(over: network).item(7).name == "Lamp")
        #expect(rest.requests.isEmpty)
    }

    @Test func retriesInAPrivateStack() async throws {
        let lamp = MockResponse.json(Item(id: 7, name: "Lamp"))
        let transport = MockTransport([.status(.serviceUnavailable), lamp])
        let clock = ManualClock()
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        let item = try await withEnvironment(environment) {
            try await clock.run { try await Shop(over: transport).item(7) }
        }
        #expect(item.name == "Lamp")
        #expect(transport.requests.count == 2)
    }

    @Test func timesOutAfterTenSeconds() async throws {
        let clock = ManualClock()
        let shop = Shop(over: MockTransport { _ in .never })
        let network = shop.network.environment(\.clock, .manual(clock))
        async let failure = #expect(throws: NetworkingError.self) {
            try await network.data(.post("orders"))
        }

        try await clock.advance(by: .seconds(10), afterSleepers: 1)
        #expect(await failure?.kind == .timeout)
    }

    @Test func sendsTheSameIDsInEachRun() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.traced()
            .environment(\.random, .seeded(42))
            .environment(\.secureRandom, .incrementing())
        try await withIncrementingIDs {
            _ = try await network.data(HTTPRequestData(authority: "api.example.com"))
        }
        #expect(transport.requests.map(\.id.description) == ["000001"])
        let trace = try #require(HTTPField.Name("traceparent"))
        #expect(transport.requests.first?.headerFields[trace]?.contains("00000000000000000001") == true)
    }

    @Test func logsNoSecret() async throws {
        let (log, events) = (LogRecorder(), EventRecorder())
        let network = MockTransport { _ in .ok() }
            .logged(using: log.logger(), detail: .body())
            .observed(by: events)
            .server(headerField: .authorization, "Bearer secret-token")
            .server(authority: "api.example.com")
        try await network.perform(.get("items/7"))

        #expect(log.text.contains("items/7"))
        #expect(!log.text.contains("secret-token"))
        #expect(events.names.contains("exchangeStarted"))
    }

    @Test func concurrentRequestsShareOneRefresh() async throws {
        let new = Session(accessToken: "new")
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(new)])
        let tokens = TokenStore(Session(accessToken: "old"), delegate: delegate)
        let transport = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let network = transport.authenticated(with: tokens).server(authority: "api.example.com")

        async let first = network.data(.get("one"))
        async let second = network.data(.get("two"))
        #expect(try await [first.status, second.status] == [.ok, .ok])
        #expect(delegate.refreshes == 1)
    }

    @Test func replaysARecordedResponse() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "item.har")
            // In an app, URLSession.shared.
            let server = MockTransport([.json(Item(id: 7, name: "Lamp"))])

            for _ in 1...2 {  // the first run writes the file, later ones replay it
                try await withCassette(at: file, mode: .once) { cassette in
                    let item = try await Shop(over: server.cassette(cassette)).item(7)
                    #expect(item.name == "Lamp")
                }
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test func matchesOrdersByTheirBody() async throws {
        var options = Cassette.Options()
        options.matching += [.jsonBody, .headerFields(.accept)]
        options.redaction = .standard.addingBodyFields("name")
        options.expiration = Cassette.Expiration(after: .seconds(90 * 86_400), .warn)

        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "order.har")
            let server = MockTransport { _ in .status(.created) }
            try await withCassette(at: file, mode: .once, options: options) { cassette in
                try await Shop(over: server.cassette(cassette)).order(Item(id: 7, name: "Lamp"))
            }
            let archive = try String(contentsOf: file, encoding: .utf8)
            #expect(!archive.contains("Lamp"))
        }
    }

    @Test func retriesInjectedFaults() async throws {
        let faults = FaultInjector(
            seed: 42,
            [
                .latency(.milliseconds(200), jitter: .milliseconds(100), rate: 0.5),
                .error(.connectionLost, rate: 0.1),
                .status(.serviceUnavailable, rate: 0.1),
                .truncated(after: 5, rate: 0.1),
            ]
        )
        let backend = MockTransport { _ in .json(Item(id: 7, name: "Lamp")) }
        let network = Shop(over: backend.faultInjected(by: faults)).network
            .environment(\.clock, .immediate()).environment(\.random, .seeded(1))
        for _ in 1...20 {
            try await network.perform(.get("items/7"))
        }
        #expect(!faults.injected.isEmpty, "\(faults)")
    }

    @Test func throwsIfTheConnectionIsLostAfterSending() async throws {
        let faults = FaultInjector(script: [.error(.connectionLost, afterSending: true)])
        let shop = Shop(over: MockTransport { _ in .status(.created) }.faultInjected(by: faults))
        await #expect(throws: NetworkingError.self) { try await shop.order(Item(id: 7, name: "Lamp")) }
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws { upstream in
            AnyNetworkingComponent(Shop(over: upstream).network)
        }
    }

    @Test func mocksABackend() async throws {
        try await withTemporaryDirectory { folder in
            let items = folder.appending(path: "items")
            try FileManager.default.createDirectory(at: items, withIntermediateDirectories: true)
            try Data(#"{"id": 7, "name": "Lamp"}"#.utf8).write(to: items.appending(path: "7.json"))

            let backend = MockTransport(serving: folder)  // items/7.json for GET /items/7
            backend.delay(by: .milliseconds(200), jitter: .milliseconds(300))
            backend.on(.post, "/orders") { _ in .status(.created) }
            let shop = Shop(over: backend)

            var environment = NetworkEnvironment.current
            environment.clock = .immediate()
            try await withEnvironment(environment) {
                try await shop.order(try await shop.item(7))
            }
            #expect(backend.requests.map(\.path) == ["/items/7", "/orders"])
        }
    }
}
