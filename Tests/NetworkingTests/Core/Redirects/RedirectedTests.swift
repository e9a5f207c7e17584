import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RedirectedTests {
    private let request = HTTPRequestData(authority: "example.com", path: "a")

    @Test func upstreamModifiersGetEachHop() async throws {
        let outside = RequestRecorder()
        let inside = RequestRecorder()
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "/c"), .text("there")])
        let network = transport.recorded(by: inside).redirected().recorded(by: outside)
        let response = try await network.data(request)
        #expect(response.data == Data("there".utf8))
        #expect(response.redirects.map(\.request.path) == ["/a", "/b"])
        #expect(response.url?.path == "/c")
        #expect(response.request == request)
        #expect(inside.requests.map(\.path) == ["/a", "/b", "/c"])
        #expect(outside.requests.map(\.path) == ["/a"])
    }

    /// A fragment belongs to the app that shows the response (RFC 9110 section 10.2.2).
    @Test(arguments: ["/b#part", "https://example.com/b#part", "//example.com/b?#part", "/b#a#b?c"])
    func fragmentOfALocationIsNotSentAndStaysInIt(location: String) async throws {
        let transport = MockTransport([.redirect(to: location).headerFields([.setCookie: "a=1"]), .text("there")])
        let request = HTTPRequestData(url: try #require(URL(string: "https://example.com/a#own")))
        let response = try await transport.redirected().data(request)
        #expect(transport.requests.allSatisfy { $0.target?.contains("#") == false })
        #expect(response.data == Data("there".utf8))
        #expect(response.url?.fragment() == nil)
        #expect(response.redirects.map { $0.response.headerFields[.location] } == [location])
    }

    @Test func transportFollowsWithoutTheModifier() async throws {
        let recorder = RequestRecorder()
        let transport = MockTransport([.redirect(to: "/b"), .text("there")])
        let response = try await transport.recorded(by: recorder).data(request)
        #expect(response.redirects.count == 1)
        #expect(recorder.requests.map(\.path) == ["/a"])
    }

    @Test func hopsAreNotChangedByTheServer() async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "https://other.example/c"), .ok()])
        let network = transport.redirected()
            .server(headerField: .authorization, "Bearer token-1")
            .server(prefixPath: "v1")
            .server(authority: "example.com")
        try await network.data(HTTPRequestData(path: "a"))
        #expect(
            transport.requests.map(\.description) == [
                "GET https://example.com/v1/a", "GET https://example.com/b", "GET https://other.example/c",
            ]
        )
        #expect(
            transport.requests.map { $0.headerFields[.authorization] } == ["Bearer token-1", "Bearer token-1", nil]
        )
    }

    /// A modifier that signs or compares the path must see the one that is sent.
    @Test(arguments: ["/x/../b", "x/%2E%2e/b", "https://example.com/./b"])
    func upstreamModifiersGetTheLocationWithoutDotSegments(location: String) async throws {
        let inside = RequestRecorder()
        let transport = MockTransport([.redirect(to: location), .ok()])
        try await transport.recorded(by: inside).redirected().data(request)
        #expect(inside.requests.map(\.path) == ["/a", "/b"])
    }

    @Test func upstreamModifierAppliesToEachHopOnce() async throws {
        let transport = MockTransport([.redirect(to: "https://other.example/b"), .ok()])
        try await transport.modified(Stamp()).redirected().data(request)
        #expect(transport.requests.map { $0.headerFields[.accept] } == ["example.com", "other.example"])
    }

    @Test(
        arguments: [
            (nil, 3), (.follow(upTo: 1), 2), (.never, 1), (.follow(upTo: 9), 4),
        ] as [(RedirectPolicy?, Int)]
    )
    func policyOfTheRequestTakesPrecedence(own: RedirectPolicy?, sent: Int) async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "/c"), .redirect(to: "/d"), .ok()])
        var request = request
        if let own {
            request.redirects = own
        }
        _ = try? await transport.redirected(.follow(upTo: 2)).data(request)
        #expect(transport.requests.count == sent)
    }

    @Test func nestedModifiersFollowOnce() async throws {
        let inside = RequestRecorder()
        let between = RequestRecorder()
        let transport = MockTransport([.redirect(to: "/b"), .ok()])
        let network = transport.recorded(by: inside).redirected(.never).recorded(by: between).redirected()
        let response = try await network.data(request)
        #expect(response.redirects.count == 1)
        #expect(inside.requests.count == 2)
        #expect(between.requests.count == 2)
    }

    @Test func requestOfTheResponseCanBeSentAgain() async throws {
        let transport = MockTransport([.redirect(to: "/b"), .ok(), .redirect(to: "/d"), .text("there")])
        let response = try await transport.redirected().data(request)
        // The sent request is not marked as redirected, so the transport follows again.
        let again = try await transport.data(response.sentRequest)
        #expect(again.data == Data("there".utf8))
    }

    @Test func sinkReceivesTheLastBody() async throws {
        let sink = CollectingSink { _ in .take }
        let transport = MockTransport([
            MockResponse(status: .found, data: Data("moved".utf8), headerFields: [.location: "/b"]), .text("there"),
        ])
        let response = try await transport.redirected().data(request.with { $0.sink = sink })
        #expect(sink.data == Data("there".utf8))
        #expect(sink.heads.map(\.status) == [.ok])
        #expect(response.body == .delivered(byteCount: 5))
    }

    @Test func isCancelledBetweenHops() async {
        let (inside, events) = (RequestRecorder(), EventRecorder())
        let transport = MockTransport { _ in .redirect(to: "/c") }
        // The response has already arrived when the caller cancels the call.
        let cancelling = transport.modified("Cancels") { request, upstream in
            let response = try await upstream.send(request)
            withUnsafeCurrentTask { $0?.cancel() }
            return response
        }
        let network = cancelling.recorded(by: inside).redirected().observed(by: events)
        let call = Task { try await network.data(request) }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
        #expect(inside.requests.count == 1)
        #expect(!events.names.contains("redirected"))
    }

    @Test func eachRedirectIsReported() async throws {
        let events = EventRecorder()
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "https://other.example/c"), .ok()])
        try await transport.redirected().observed(by: events).data(request)
        #expect(
            events.events.map(\.description).filter { $0.hasPrefix("redirect") } == [
                "redirected(to: GET https://example.com/b)", "redirected(to: GET https://other.example/c)",
            ]
        )
    }

    /// A modifier that numbers the exchanges of a call.
    private struct HopsNumbered: NetworkingModifier {
        func send(
            _ request: HTTPRequestData,
            upstream: some NetworkingComponent
        ) async throws -> HTTPResponseData {
            let number = Mutex(0)
            let principal = { (hop: HTTPRequestData) in upstream.principal(for: hop) }
            return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
                var hop = hop
                hop.headerFields["X-Hop"] = number.withLock { number in
                    number += 1
                    return "\(number)"
                }
                return try await upstream.send(hop)
            }
        }

        var stackPart: StackPart {
            StackPart(rules: [StackRule { "\($0.name) is not for production." }])
        }
    }

    @Test func modifierOfAnotherPackageActsOnEachHop() async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "/c"), .text("there")])
        let network = transport.redirected(.follow(upTo: 5)).modified(HopsNumbered())
        #expect(try await network.data(request).text == "there")
        #expect(transport.requests.map { $0.headerFields["X-Hop"] } == ["1", "2", "3"])
        #expect(network.diagnostics.map(\.message).contains("HopsNumbered is not for production."))
    }

    /// The outer modifier makes the hops, and the inner one decides how many.
    @Test(
        arguments: [
            (.never, nil, 1), (.follow(upTo: 1), nil, 2), (.follow(upTo: 2), nil, 3), (.never, .follow(upTo: 1), 2),
        ] as [(RedirectPolicy, RedirectPolicy?, Int)]
    )
    func policyOfAnInnerModifierApplies(policy: RedirectPolicy, own: RedirectPolicy?, sent: Int) async throws {
        let transport = MockTransport([.redirect(to: "/b"), .redirect(to: "/c"), .ok()])
        var request = request
        if let own {
            request.redirects = own
        }
        _ = try? await transport.redirected(policy).modified(HopsNumbered()).data(request)
        #expect(transport.requests.count == sent)
    }

    @Test func outlineListsThePolicy() {
        let network = MockTransport().redirected(.follow(upTo: 5))
        #expect(network.outline.contains("redirected(up to 5)"))
    }

    private struct Stamp: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            var request = request
            request.headerFields[.accept] = request.authority
            return try await upstream.send(request)
        }
    }
}
