import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct PostFallbackTests {
    private let clock = ManualClock()
    private let query = HTTPRequestData.lawful.with {
        $0.method = .query
        $0.body = .json(["name": "Ada"])
    }

    /// Creates a server that refuses QUERY.
    private func server(_ code: Int, _ fields: HTTPFields = [:]) -> MockTransport {
        MockTransport { request in
            request.method == .query
                ? .status(.init(code: code), headerFields: fields)
                : .text("\(request.method) \(request.body?.data?.count ?? 0)")
        }
    }

    private func network(_ transport: some NetworkingComponent) -> some NetworkingComponent {
        transport.fallbackToPost().environment(\.clock, .manual(clock))
    }

    @Test(arguments: [405, 501]) func sendsAPostIfTheServerRefusesQuery(code: Int) async throws {
        let transport = server(code)
        let events = EventRecorder()
        let response = try await network(transport).data(query.with { $0.addObserver(events) })
        #expect(response.text == "POST 14")
        #expect(response.request.method == .query && response.sentRequest.method == .post)
        #expect(transport.requests.map(\.method) == [.query, .post])
        #expect(transport.requests.allSatisfy { $0.headerFields[.contentType] == "application/json" })
        #expect(events.names.contains("postFallback"))
    }

    @Test(arguments: [200, 400, 404, 415, 422, 500, 503]) func returnsEveryOtherStatus(code: Int) async throws {
        let transport = server(code)
        #expect(try await network(transport).data(query).status.code == code)
        #expect(transport.requests.map(\.method) == [.query])
    }

    @Test(arguments: ["GET, HEAD", "get, post", ""]) func returnsA405WithoutPost(allowed: String) async throws {
        let transport = server(405, [.allow: allowed])
        #expect(try await network(transport).data(query).status == .methodNotAllowed)
        #expect(transport.requests.count == 1)
    }

    @Test func sendsAPostThatTheServerAllows() async throws {
        let transport = server(405, [.allow: "GET,POST , HEAD"])
        #expect(try await network(transport).data(query).text == "POST 14")
    }

    @Test func remembersThePathForAnHour() async throws {
        let transport = server(405)
        let network = network(transport)
        try await network.data(query)
        try await network.data(query.with { $0.query.page = "2" })
        #expect(transport.requests.map(\.method) == [.query, .post, .post])
        try await network.data(query.with { $0.path = "/other" })
        #expect(transport.requests.map(\.method).suffix(2) == [.query, .post])
        clock.advance(by: .seconds(3_600))
        try await network.data(query)
        #expect(transport.requests.map(\.method).suffix(2) == [.query, .post])
    }

    @Test func remembersNothingIfPostIsRefusedToo() async throws {
        let transport = MockTransport { _ in .status(.methodNotAllowed) }
        let network = network(transport)
        #expect(try await network.data(query).status == .methodNotAllowed)
        #expect(try await network.data(query).status == .methodNotAllowed)
        #expect(transport.requests.map(\.method) == [.query, .post, .query, .post])
    }

    /// The server has been updated meanwhile.
    @Test func refusedPostMakesTheNextRequestAQueryAgain() async throws {
        let accepted = Mutex(HTTPRequest.Method.post)
        let transport = MockTransport { request in
            request.method == accepted.withLock { $0 } ? .text("\(request.method)") : .status(.methodNotAllowed)
        }
        let network = network(transport)
        #expect(try await network.data(query).text == "POST")
        accepted.withLock { $0 = .query }
        #expect(try await network.data(query).status == .methodNotAllowed)
        #expect(try await network.data(query).text == "QUERY")
        #expect(transport.requests.map(\.method) == [.query, .post, .post, .query])
    }

    /// RFC 10008 section 2.5: a GET without the body would read something else.
    @Test(arguments: [301, 302, 307, 308], [false, true])
    func redirectedPostKeepsItsBody(code: Int, isOfStack: Bool) async throws {
        let transport = MockTransport { request in
            guard request.path == "/moved" else {
                return request.method == .query
                    ? .status(.methodNotAllowed) : .redirect(to: "/moved", status: .init(code: code))
            }
            return .text("\(request.method) \(request.body?.data?.count ?? 0)")
        }
        let network = isOfStack ? AnyNetworkingComponent(transport.redirected()) : AnyNetworkingComponent(transport)
        #expect(try await self.network(network).data(query).text == "POST 14")
        #expect(transport.requests.map(\.method) == [.query, .post, .post])
        // A POST of the app is redirected as in a browser.
        let post = query.with { $0.method = .post }
        #expect(try await self.network(network).data(post).text == (code < 307 ? "GET 0" : "POST 14"))
    }

    @Test func redirectWith303BecomesAGet() async throws {
        let transport = MockTransport { request in
            request.method == .get
                ? .text("there")
                : request.method == .query ? .status(.methodNotAllowed) : .redirect(to: "/result", status: .seeOther)
        }
        #expect(try await network(transport).data(query).text == "there")
        #expect(transport.requests.map(\.method) == [.query, .post, .get])
    }

    @Test func requestMayForbidIt() async throws {
        let transport = server(405)
        let network = network(transport)
        #expect(try await network.data(query.with { $0.allowsPostFallback = false }).status == .methodNotAllowed)
        try await network.data(query)
        #expect(try await network.data(query.with { $0.allowsPostFallback = false }).status == .methodNotAllowed)
        #expect(transport.requests.map(\.method) == [.query, .query, .post, .query])
    }

    @Test func otherMethodsPass() async throws {
        let transport = MockTransport { _ in .status(.methodNotAllowed) }
        for method in [HTTPRequest.Method.get, .put, .delete, .post] {
            try await network(transport).data(.lawful.with { $0.method = method })
        }
        #expect(transport.requests.map(\.method) == [.get, .put, .delete, .post])
    }

    @Test func postHasNoConditionsAndNoRange() async throws {
        let transport = server(405)
        let request = query.with {
            $0.headerFields[.ifNoneMatch] = "\"a\""
            $0.headerFields[.range] = "bytes=0-1"
            $0.headerFields[.accept] = "application/json"
        }
        try await network(transport).data(request)
        let fields = try #require(transport.requests.last?.headerFields)
        #expect(fields[.ifNoneMatch] == nil && fields[.range] == nil && fields[.accept] == "application/json")
    }

    @Test func bodyThatCannotBeReadAgainIsNotSentAgain() async throws {
        let transport = server(405)
        let once = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1])
            continuation.finish()
        }
        let request = query.with { $0.body = .stream(once) }
        #expect(try await network(transport).data(request).status == .methodNotAllowed)
        #expect(transport.requests.count == 1)
    }

    @Test func redirectedRefusalIsReturned() async throws {
        let transport = MockTransport([
            .redirect(to: "/moved", status: .permanentRedirect), .status(.methodNotAllowed), .ok(),
        ])
        #expect(try await network(transport).data(query).status == .methodNotAllowed)
        #expect(transport.requests.map(\.method) == [.query, .query])
    }

    /// A part further in may throw for the status.
    @Test func errorsForTheStatusAreRefusals() async throws {
        let transport = server(501)
        let checked = network(transport.checkedStatusCode())
        #expect(try await checked.data(query).text == "POST 14")
    }

    @Test func postIsRetriedLikeTheQuery() async throws {
        let transport = MockTransport([
            .status(.methodNotAllowed), .status(.serviceUnavailable), .text("there"),
        ])
        let network = transport.retry(.immediate()).fallbackToPost()
        #expect(try await network.data(query).text == "there")
        #expect(transport.requests.map(\.method) == [.query, .post, .post])
    }

    /// The response to a POST answers no QUERY (RFC 9110 section 9.3.3).
    @Test func cacheStoresNoResponseToThePost() async throws {
        let transport = MockTransport { request in
            request.method == .query
                ? .status(.notImplemented) : .text("fresh").headerFields([.cacheControl: "max-age=100"])
        }
        let network = network(transport).cached()
        for _ in 0..<2 {
            let response = try await network.data(query)
            #expect(response.text == "fresh")
            #expect(!response.isCached && response.cacheStatus?.detail == CacheBypass.method.rawValue)
        }
        #expect(transport.requests.map(\.method) == [.query, .post, .post])
    }

    @Test func anotherUserSendsNothing() async throws {
        let transport = server(405)
        let network = transport.modified(SigningOut()).fallbackToPost()
        #expect(try await network.data(query).status == .methodNotAllowed)
        #expect(transport.requests.count == 1)
    }

    @Test func diagnosticsReportWrongPlaces() {
        let transport = MockTransport { _ in .ok() }
        #expect(transport.fallbackToPost().retry().deduplicated().cached().diagnostics.isEmpty)
        #expect(transport.cached().fallbackToPost().diagnostics.contains { "\($0)".contains("Put it inside") })
        #expect(transport.deduplicated().fallbackToPost().diagnostics.contains { "\($0)".contains("Put it inside") })
    }
}
