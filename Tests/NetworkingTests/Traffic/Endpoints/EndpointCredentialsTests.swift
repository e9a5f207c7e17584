import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// The stack knows one server: its credentials go to the endpoints and nowhere else, and its responses have one URL.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EndpointCredentialsTests {
    /// New endpoints for each stack: a test that runs beside this one would decide which of them is preferred.
    private static var endpoints: ServerEndpoints {
        ServerEndpoints("api.example", endpoints: ["a.example", "b.example"])
    }

    private let request = HTTPRequestData(path: "users")

    /// The places at which a stack adds a credential.
    enum Place: CaseIterable {
        case outside, inside, field, namedOutside

        func stack(_ transport: MockTransport) -> AnyNetworkingComponent {
            let tokens = BearerCredentials(token: "secret")
            return switch self {
            case .outside:
                AnyNetworkingComponent(transport.server(endpoints: endpoints).authenticated(with: tokens))
            case .inside:
                AnyNetworkingComponent(transport.authenticated(with: tokens).server(endpoints: endpoints))
            case .field:
                AnyNetworkingComponent(
                    transport.server(endpoints: endpoints).server(headerField: .authorization, "Bearer secret")
                )
            case .namedOutside:
                AnyNetworkingComponent(
                    transport.server(endpoints: endpoints).authenticated(with: tokens).server(authority: "API.example")
                )
            }
        }
    }

    private func sent(
        _ request: HTTPRequestData,
        by place: Place,
        _ respond: @escaping MockTransport.Responder
    ) async throws
        -> [(authority: String?, path: String?, authorization: String?)]
    {
        let transport = MockTransport(respond)
        _ = try? await place.stack(transport).data(request)
        return transport.requests.map { ($0.authority, $0.path, $0.headerFields[.authorization]) }
    }

    private func url(_ text: String) throws -> HTTPRequestData {
        HTTPRequestData(url: try #require(URL(string: text)))
    }

    @Test(arguments: Place.allCases)
    func endpointsGetTheCredentials(place: Place) async throws {
        for _ in 0..<20 {
            let sent = try await sent(request, by: place) { _ in .ok() }
            #expect(sent.count == 1)
            #expect(["a.example", "b.example"].contains(sent[0].authority))
            #expect(sent[0].authorization == "Bearer secret")
        }
    }

    @Test(arguments: Place.allCases, ["https://api.example/u", "https://API.example:443/u"])
    func absoluteRequestToTheServerIsSentToAnEndpoint(place: Place, text: String) async throws {
        let sent = try await sent(try url(text), by: place) { _ in .ok() }
        #expect(["a.example", "b.example"].contains(sent[0].authority))
        #expect(sent[0].authorization == "Bearer secret")
    }

    @Test(arguments: Place.allCases)
    func absoluteRequestToAnEndpointIsSentThereWithCredentials(place: Place) async throws {
        for _ in 0..<10 {
            let sent = try await sent(try url("https://B.example/u"), by: place) { _ in .ok() }
            #expect(sent[0].authority == "B.example")
            // The server that is named outside is the nearest, and has no endpoints of its own.
            #expect(sent[0].authorization == (place == .namedOutside ? nil : "Bearer secret"))
        }
    }

    @Test(
        arguments: Place.allCases,
        [
            "https://c.example/u", "https://a.example.evil.example/u", "https://xa.example/u",
            "https://a.example:444/u",
            "https://example/u",
        ]
    )
    func otherServersGetNoCredentials(place: Place, text: String) async throws {
        let sent = try await sent(try url(text), by: place) { _ in .ok() }
        #expect(sent.allSatisfy { $0.authorization == nil })
        #expect(sent.first?.authority == (try url(text)).authority)
    }

    @Test(arguments: Place.allCases)
    func plainHTTPGetsNoCredentials(place: Place) async throws {
        let sent = try await sent(try url("http://api.example/u"), by: place) { _ in .ok() }
        #expect(sent.allSatisfy { $0.authorization == nil })
    }

    // MARK: Redirects

    enum Target: CaseIterable {
        case relative, ownEndpoint, server, other, otherEndpoint

        func location(from authority: String) -> String {
            switch self {
            case .relative: "/next"
            case .ownEndpoint: "https://\(authority)/next"
            case .server: "https://api.example/next"
            case .other: "https://c.example/next"
            case .otherEndpoint: "https://\(authority == "a.example" ? "b" : "a").example/next"
            }
        }

        var staysAtTheServer: Bool {
            self == .relative || self == .ownEndpoint || self == .server
        }
    }

    @Test(arguments: Place.allCases, Target.allCases)
    func redirectsKeepCredentialsOnlyAtTheServer(place: Place, target: Target) async throws {
        let sent = try await sent(request, by: place) { request in
            request.path == "/next" ? .ok() : .redirect(to: target.location(from: request.authority ?? ""))
        }
        #expect(sent.count == 2)
        #expect(sent[1].path == "/next")
        if target.staysAtTheServer {
            #expect(["a.example", "b.example"].contains(sent[1].authority))
            #expect(sent[1].authorization == "Bearer secret")
        } else {
            #expect(
                sent[1].authority
                    == HTTPRequestData(
                        url: try #require(URL(string: target.location(from: sent[0].authority ?? "")))
                    )
                    .authority
            )
            #expect(sent[1].authorization == nil)
        }
    }

    @Test(arguments: Place.allCases)
    func redirectAwayAndBackGetsNoCredentials(place: Place) async throws {
        let sent = try await sent(request, by: place) { request in
            switch (request.authority, request.path) {
            case ("c.example", _): .redirect(to: "https://api.example/back")
            case (_, "/back"): .ok()
            default: .redirect(to: "https://c.example/away")
            }
        }
        #expect(sent.count == 3)
        #expect(sent.map { $0.authorization == nil } == [false, true, true])
        #expect(["a.example", "b.example"].contains(sent[2].authority))
    }

    // MARK: One server

    @Test func responseHasTheURLOfTheServer() async throws {
        let transport = MockTransport { request in
            let own = "https://\(request.authority ?? "")"
            return .ok(
                headerFields: [
                    .location: "\(own):443/users/1", .contentLocation: "//\(request.authority ?? "")/users/2",
                    HTTPField.Name("Link")!: "<\(own)/users?page=2>; rel=\"next\", <https://c.example/>; rel=\"x\"",
                ]
            )
        }
        let response = try await transport.server(endpoints: Self.endpoints).data(request)
        #expect(response.url?.absoluteString == "https://api.example/users")
        #expect(response.endpoint == transport.requests[0].authority)
        #expect(response.headerFields[.location] == "https://api.example/users/1")
        #expect(response.headerFields[.contentLocation] == "//api.example/users/2")
        #expect(
            response.headerFields[HTTPField.Name("Link")!]
                == "<https://api.example/users?page=2>; rel=\"next\", <https://c.example/>; rel=\"x\""
        )
    }

    @Test(arguments: ["https://c.example/u", "http://a.example/u", "users/1", "https://e@a.example/", "//", ""])
    func otherURLsInFieldsStayAsTheyAre(location: String) async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.location: location]) }
        let response = try await transport.server(endpoints: Self.endpoints).data(request)
        #expect(response.headerFields[.location] == location)
    }

    @Test func contradictoryLocationsAreNotJoined() async throws {
        let transport = MockTransport { request in
            guard request.path == "/users" else { return .ok() }
            var fields: HTTPFields = [:]
            for path in ["1", "2"] {
                fields.append(HTTPField(name: .location, value: "https://\(request.authority ?? "")/\(path)"))
            }
            return .status(.found, headerFields: fields)
        }
        let response = try await transport.server(endpoints: Self.endpoints).data(request)
        #expect(response.status == .found)
        #expect(response.headerFields[values: .location].count == 2)
        #expect(transport.requests.count == 1)
    }

    @Test func responseOfOneEndpointIsCachedForAll() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=60"]) }
        let network = transport.server(endpoints: Self.endpoints).cached()
        for _ in 0..<20 { try await network.data(request) }
        #expect(transport.requests.count == 1)
    }

    @Test func requestsToTheServerShareAnExchange() async throws {
        let gate = HeldResponse()
        let transport = MockTransport { _ in .held(by: gate) }
        let inFlightRequests = InFlightRequests()
        let network = transport.server(endpoints: Self.endpoints).deduplicated(sharing: inFlightRequests)
        let calls = (0..<8).map { _ in Task { try await network.data(request) } }
        try await eventually("all calls wait") { inFlightRequests.waiting == 8 }
        gate.respond()
        for call in calls { _ = try await call.value }
        #expect(transport.requests.count == 1)
    }

    @Test func cookiesBelongToTheServer() async throws {
        let transport = MockTransport { request in
            request.headerFields[.cookie] == nil ? .ok(headerFields: [.setCookie: "a=1"]) : .ok()
        }
        let jar = CookieJar()
        // No endpoint is slower than the other, so chance chooses.
        let network = transport.server(endpoints: Self.endpoints).cookies(in: jar)
            .environment(\.clock, .manual(ManualClock())).environment(\.random, .seeded(1))
        for _ in 0..<20 { try await network.data(request) }
        #expect(Set(transport.requests.compactMap(\.authority)) == ["a.example", "b.example"])
        #expect(transport.requests.dropFirst().allSatisfy { $0.headerFields[.cookie] == "a=1" })
        // The cookie does not go to an endpoint that is named directly, because it is another host.
        try await network.data(HTTPRequestData(authority: "a.example"))
        #expect(transport.requests.last?.headerFields[.cookie] == nil)
    }

    @Test func linksAreFollowedThroughTheEndpoints() async throws {
        let transport = MockTransport { request in
            guard request.query["page"] == nil else { return .json(text: "[2]") }
            let link = "<https://\(request.authority ?? "")/users?page=2>; rel=\"next\""
            return .ok(Data("[1]".utf8), headerFields: [HTTPField.Name("Link")!: link])
        }
        let network = transport.server(endpoints: Self.endpoints)
            .authenticated(with: BearerCredentials(token: "secret"))
        for try await page in network.pages(Request<[Int]>.get("users"), next: .link) { #expect(page.count == 1) }
        #expect(transport.requests.count == 2)
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] == "Bearer secret" })
        #expect(transport.requests.allSatisfy { ["a.example", "b.example"].contains($0.authority) })
    }

    // MARK: Settings

    @Test func requestWithoutServerMutationsIsLeftAlone() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(endpoints: Self.endpoints)
        await #expect(throws: NetworkingError.self) {
            try await network.data(request.with { $0.serverMutations = .disabled })
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func requestOfAnotherStackIsSentToAnEndpointAgain() async throws {
        let transport = MockTransport { _ in .ok() }
        let endpoints = Self.endpoints
        let network = transport.server(endpoints: endpoints)
            .authenticated(with: BearerCredentials(token: "secret"))
        let resolved = MockTransport().server(endpoints: endpoints).resolved(request)
        try await network.data(resolved)
        let response = try await network.data(request)
        try await network.data(response.sentRequest)
        #expect(transport.requests.count == 3)
        #expect(transport.requests.allSatisfy { ["a.example", "b.example"].contains($0.authority) })
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] == "Bearer secret" })
    }

    @Test func modifierOfAnAppCanChooseAMember() async throws {
        let server = ServerMembers("api.example", members: ["a.example", "b.example"])
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: BearerCredentials(token: "secret")).modified(Last(server: server))
        try await network.data(request)
        #expect(transport.requests[0].authority == "b.example")
        #expect(transport.requests[0].headerFields[.authorization] == "Bearer secret")
    }
}

private struct Last: NetworkingModifier {
    let server: ServerMembers

    func resolve(_ request: inout HTTPRequestData) {
        request.setServer(server)
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        if request.isAddressed(to: server) {
            request.authority = server.members.last
        }
        return try await upstream.send(request)
    }
}
