import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(1)))
struct NetworkingTransportTests {
    private func post(_ url: String) throws -> HTTPRequestData {
        HTTPRequestData(method: .post, url: try #require(URL(string: url)), body: .json(["a": 1]))
    }

    // MARK: Events

    @Test func exchangeTellsWhatHappensInOrder() async throws {
        let events = CapturedEvents()
        let transport = MockTransport([.redirect(to: "/next"), .text("there")])

        try await transport.data(.lawful.with { $0.addObserver(events) })

        #expect(
            events.names == [
                "attemptStarted", "headReceived", "attemptEnded", "redirected",
                "attemptStarted", "headReceived", "attemptEnded",
            ]
        )
        #expect(events.requests.first?.path == "/check")
        #expect(events.requests.last?.path == "/next")
    }

    @Test func everyObserverHearsInTheOrderOfAdding() async throws {
        let journal = Journal()
        let request = HTTPRequestData.lawful.with {
            $0.addObserver(Naming(name: "first", journal: journal))
            $0.addObserver(Naming(name: "second", journal: journal))
        }

        try await MockTransport { _ in .ok() }.data(request)

        #expect(journal.entries == ["first", "second", "first", "second", "first", "second"])
    }

    @Test func observerOfAModifierHearsOfThatSendAloneAndOnlyUpstream() async throws {
        let events = CapturedEvents()
        let network = MockTransport { _ in .ok() }
            .modified(Observing(observer: events))
            .delayed(by: .seconds(1))
            .environment(\.clock, .immediate())

        let response = try await network.data(.lawful)
        #expect(events.names == ["attemptStarted", "headReceived", "attemptEnded"])
        try await MockTransport { _ in .ok() }.data(response.sentRequest)

        #expect(events.names.count == 3)
    }

    @Test func eventIsNotMadeWhenNobodyListens() {
        HTTPRequestData.lawful.emit(unwanted())

        func unwanted() -> NetworkEvent {
            Issue.record("The event was made.")
            return .attemptStarted
        }
    }

    // MARK: Redirects

    @Test(
        arguments: [
            (301, .post, .get), (302, .post, .get), (303, .post, .get), (307, .post, .post), (308, .post, .post),
            (301, .put, .put), (302, .delete, .delete), (303, .put, .get), (303, .head, .head), (301, .get, .get),
        ] as [(Int, HTTPRequest.Method, HTTPRequest.Method)]
    )
    func methodChangesAsFetchHasIt(code: Int, method: HTTPRequest.Method, expected: HTTPRequest.Method) async throws {
        let transport = MockTransport([.redirect(to: "/next", status: .init(code: code)), .ok()])
        let body: RequestBody? = method == .get || method == .head ? nil : .json(["a": 1])

        try await transport.data(HTTPRequestData(method: method, authority: "a.example", body: body))

        let sent = try #require(transport.requests.last)
        #expect(transport.requests.count == 2)
        #expect(sent.method == expected)
        #expect((sent.body != nil) == (body != nil && expected == method))
        #expect(sent.headerFields.contains(.contentType) == (sent.body != nil))
    }

    @Test(
        arguments: [
            ("https://a.example/next", true), ("https://A.example:443/next", true), ("/next", true),
            ("//a.example/next", true), ("https://b.example/next", false), ("https://a.example:8443/next", false),
            ("https://sub.a.example/next", false),
        ]
    )
    func credentialsStayWithTheirOrigin(location: String, isKept: Bool) async throws {
        let transport = MockTransport([.redirect(to: location), .ok()])
        let request = HTTPRequestData(
            authority: "a.example",
            path: "start",
            headerFields: [.authorization: "secret", .cookie: "secret", .accept: "text/plain"]
        )

        try await transport.data(request)

        let sent = try #require(transport.requests.last)
        #expect(sent.path == "/next")
        #expect(sent.headerFields[.authorization] == (isKept ? "secret" : nil))
        #expect(sent.headerFields[.cookie] == (isKept ? "secret" : nil))
        #expect(sent.headerFields[.accept] == "text/plain")
    }

    @Test func credentialsThatWereTakenOffDoNotComeBack() async throws {
        let transport = MockTransport([
            .redirect(to: "https://b.example/"), .redirect(to: "https://a.example/back"), .ok(),
        ])

        try await transport.data(HTTPRequestData(authority: "a.example", headerFields: [.authorization: "secret"]))

        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["secret", nil, nil])
    }

    @Test func hopsPassTheServerModifiersUntouched() async throws {
        let transport = MockTransport([.redirect(to: "/next"), .ok()])
        let network = transport.server(prefixPath: "v1").server(authority: "a.example")

        try await network.data(HTTPRequestData(path: "users"))

        #expect(transport.requests.map(\.path) == ["/v1/users", "/next"])
    }

    @Test(
        arguments: [
            "http://a.example/plain", "ftp://a.example/file", "data:text/plain,x", "mailto:emily@a.example",
            "https:///nowhere",
        ]
    )
    func redirectThatMustNotBeFollowedIsTheResponse(location: String) async throws {
        let transport = MockTransport([.redirect(to: location)])

        let response = try await transport.data(.lawful)

        #expect(response.status == .found)
        #expect(response.redirects.isEmpty)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [300, 304, 305, 306])
    func otherStatusesAreNoRedirects(code: Int) async throws {
        let transport = MockTransport([.redirect(to: "/next", status: .init(code: code))])

        #expect(try await transport.data(.lawful).status.code == code)
    }

    @Test func redirectWithoutALocationIsTheResponse() async throws {
        #expect(try await MockTransport([.status(.found)]).data(.lawful).status == .found)
    }

    @Test(arguments: [(.follow, 20), (.follow(upTo: 3), 3), (.follow(upTo: 1), 1)] as [(RedirectPolicy, Int)])
    func redirectsBeyondTheLimitFail(policy: RedirectPolicy, limit: Int) async throws {
        let transport = MockTransport { request in .redirect(to: "\(request.path ?? "")x") }

        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(.lawful.with { $0.redirects = policy })
        }

        #expect(error?.kind == .tooManyRedirects)
        #expect(error?.response?.status == .found)
        #expect(transport.requests.count == limit + 1)
    }

    @Test(arguments: [["/check"], ["/a", "/b", "/a"]])
    func redirectsInCirclesFail(locations: [String]) async {
        let transport = MockTransport(locations.map { .redirect(to: $0) })

        let error = await #expect(throws: NetworkingError.self) { try await transport.data(.lawful) }

        #expect(error?.kind == .tooManyRedirects)
    }

    /// A form that answers a POST with a redirect to its own page.
    @Test func sameURLWithAnotherMethodIsNoCircle() async throws {
        let transport = MockTransport([.redirect(to: "/form", status: .seeOther), .ok()])

        #expect(try await transport.data(try post("https://a.example/form")).status == .ok)
        #expect(transport.requests.map(\.method) == [.post, .get])
    }

    @Test func redirectWithCredentialsInItsURLIsReturnedAndNotFollowed() async throws {
        let transport = MockTransport([.redirect(to: "https://user:secret@b.example/")])

        let response = try await transport.data(.lawful)

        #expect(response.status == .found)
        #expect(transport.requests.count == 1)
        #expect(!everyPrint(of: response).contains("secret"))
    }

    @Test func fragmentOfALocationIsNotSent() async throws {
        let transport = MockTransport([.redirect(to: "/next?a=b#part"), .ok()])

        try await transport.data(.lawful)

        #expect(transport.requests.last?.url?.absoluteString == "https://laws.example/next?a=b")
    }
}

// MARK: - Parts

private struct Naming: NetworkEventObserver {
    let name: String
    let journal: Journal

    func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
        journal.note(name)
    }
}

private struct Observing: NetworkingModifier {
    let observer: CapturedEvents

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.addObserver(observer)
        return try await upstream.send(request)
    }
}
