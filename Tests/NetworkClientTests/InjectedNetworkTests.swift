import NetworkClient
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct InjectedNetworkTests {
    /// Created before a client is provided.
    private static let network: any NetworkingComponent = InjectedNetwork().server(authority: "api.example.com")

    @Test func sendsThroughTheCurrentClient() async throws {
        let (first, second) = (MockTransport([.ok()]), MockTransport([.ok()]))
        try await withNetworkClient(first) { _ = try await Self.network.data(HTTPRequestData(path: "a")) }
        try await withNetworkClient(second) { _ = try await Self.network.data(HTTPRequestData(path: "b")) }
        #expect(first.requests.map(\.path) == ["/a"])
        #expect(second.requests.map(\.path) == ["/b"])
    }

    @Test func clientsShareNoStoredResponse() async throws {
        let network = InjectedNetwork().cached().server(authority: "api.example.com")
        @Sendable func transport(_ text: String) -> MockTransport {
            MockTransport { _ in .text(text).headerFields([.cacheControl: "max-age=100"]) }
        }
        for name in ["first", "second"] {
            let client = NetworkClient(transport(name))
            for isCached in [false, true] {
                let response = try await withNetworkClient(client) {
                    try await network.data(HTTPRequestData(path: "a"))
                }
                #expect(response.text == name)
                #expect(response.isCached == isCached)
            }
        }
        // A copy with another network is another client.
        var client = NetworkClient(transport("third"))
        client.network = { transport("fourth") }
        let copy = client
        client.network = { transport("fifth") }
        for (client, name) in [(copy, "fourth"), (client, "fifth")] {
            let response = try await withNetworkClient(client) { try await network.data(HTTPRequestData(path: "a")) }
            #expect(response.text == name)
        }
    }

    @Test func clientsShareNoExchange() async throws {
        let inFlight = InFlightRequests()
        let network = InjectedNetwork().deduplicated(sharing: inFlight).server(authority: "api.example.com")
        let held = [HeldResponse(), HeldResponse()]
        let calls = held.map { held in
            Task {
                try await withNetworkClient(MockTransport { _ in .held(by: held) }) {
                    try await network.data(HTTPRequestData(path: "a"))
                }
            }
        }
        try await eventually("inFlight.waiting == 2") { inFlight.waiting == 2 }
        #expect(inFlight.count == 2)
        for (number, held) in held.enumerated() {
            held.respond(with: .text("\(number)"))
        }
        for (number, call) in calls.enumerated() {
            #expect(try await call.value.text == "\(number)")
        }
    }

    @Test func throwsUnimplementedWithoutAClient() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await Self.network.data(HTTPRequestData(path: "a"))
        }
        #expect(error?.kind == .unimplemented)
    }

    @Test func resolvesRequestsAndPrincipalsWithTheCurrentClient() async throws {
        let transport = MockTransport([.ok()])
        let tokens = TokenStore(Session(userID: "emily", accessToken: "secret"))
        let client = NetworkClient(transport.authenticated(with: tokens).server(prefixPath: "v1"))
        try await withNetworkClient(client) {
            let request = HTTPRequestData(path: "users")
            #expect(Self.network.resolved(request).path == "/v1/users")
            #expect(Self.network.principal(for: request)?.id == "emily")
            _ = try await Self.network.data(request)
        }
        #expect(transport.requests.map(\.path) == ["/v1/users"])
    }

    @Test func returnsTheDiagnosticsOfTheCurrentClient() async {
        var request = HTTPRequestData(path: "users")
        request.cacheMode = .noStore
        #expect(Self.network.modifiers.count == 1)
        #expect(Self.network.diagnostics(for: request).map(\.option) == [.cacheMode])
        await withNetworkClient(MockTransport().cached().deduplicated()) {
            #expect(Self.network.diagnostics.count == 1)
            #expect(Self.network.diagnostics(for: request).isEmpty)
        }
        await withNetworkClient(Misconfigured()) {
            #expect(Self.network.diagnostics.map(\.modifier) == ["Misconfigured"])
        }
    }

    @Test func keepsTheLaws() async throws {
        // The client of the scope sends the requests, so it must keep the laws.
        try await checkLaws { upstream in
            AnyNetworkingComponent(upstream.modified(Injecting()))
        }
    }

    @Test func answersQuestionsAsTheClientDoes() async {
        await withNetworkClient(PromptTransport().retry()) {
            #expect(InjectedNetwork().modifiers.count == 1)
        }
    }

    @Test func timeLimitReachesATransportThatEnforcesIt() async throws {
        let journal = Journal()
        let transport = PromptTransport { request in
            journal.note("\(request.exchangeLimit != nil)")
            return HTTPResponseData(request: request)
        }
        try await withNetworkClient(transport.retry()) {
            _ = try await InjectedNetwork().deadline(.seconds(5)).data(.lawful)
        }
        // A component that does not end at the limit is cancelled instead.
        try await withNetworkClient(transport.delayed(by: .zero).retry()) {
            _ = try await InjectedNetwork().deadline(.seconds(5)).data(.lawful)
        }
        #expect(journal.entries == ["true", "false"])
    }

    @Test func appearsInOutlines() {
        #expect("\(InjectedNetwork().numbered().outline)".contains("InjectedNetwork"))
    }
}

/// Sends requests through an injected network that uses the upstream as its client.
private struct Injecting: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await withNetworkClient(upstream) { try await InjectedNetwork().numbered().send(request) }
    }
}

private struct Misconfigured: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request, status: .ok)
    }

    var stackPart: StackPart {
        StackPart(rules: [StackRule { _ in "There is no proxy." }])
    }
}
