import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RedirectRulesTests {
    private let request = HTTPRequestData(authority: "example.com", path: "a/b")

    // MARK: Methods and bodies

    @Test(
        arguments: [
            (301, .get, .get), (301, .head, .head), (301, .post, .get), (301, .put, .put), (301, .delete, .delete),
            (302, .get, .get), (302, .head, .head), (302, .post, .get), (302, .put, .put), (302, .patch, .patch),
            (303, .get, .get), (303, .head, .head), (303, .post, .get), (303, .put, .get), (303, .delete, .get),
            (307, .get, .get), (307, .head, .head), (307, .post, .post), (307, .put, .put), (307, .delete, .delete),
            (308, .get, .get), (308, .head, .head), (308, .post, .post), (308, .put, .put), (308, .patch, .patch),
            (301, .query, .query), (302, .query, .query), (303, .query, .get), (307, .query, .query),
            (308, .query, .query),
        ] as [(Int, HTTPRequest.Method, HTTPRequest.Method)]
    )
    func methodDependsOnTheStatus(code: Int, method: HTTPRequest.Method, next: HTTPRequest.Method) async throws {
        let transport = MockTransport([.redirect(to: "/c", status: .init(code: code)), .ok()])
        var request = request
        request.method = method
        request.headerFields[.contentLanguage] = "de"
        request.headerFields[.accept] = "text/plain"
        request.headerFields[.idempotencyKey] = "\"1\""
        if method != .get, method != .head {
            request.body = .json([1])
        }
        try await transport.data(request)
        let followed = try #require(transport.requests.last)
        #expect(transport.requests.count == 2)
        #expect(followed.method == next)
        #expect(followed.path == "/c")
        #expect(followed.headerFields[.accept] == "text/plain")
        if next == method {
            #expect(followed.body == request.body)
            #expect(followed.headerFields[.contentLanguage] == "de")
            #expect(followed.headerFields[.idempotencyKey] == "\"1\"")
            #expect(followed.headerFields[.contentType] == request.body?.contentType)
        } else {
            #expect(followed.body == nil)
            #expect(followed.headerFields[.contentLanguage] == nil)
            #expect(followed.headerFields[.idempotencyKey] == nil)
            #expect(followed.headerFields[.contentType] == nil)
        }
    }

    @Test(arguments: [200, 201, 300, 304, 305, 306, 309, 399, 404])
    func followsNoOtherStatus(code: Int) async throws {
        let transport = MockTransport([.redirect(to: "/c", status: .init(code: code))])
        let response = try await transport.data(request)
        #expect(response.status.code == code)
        #expect(response.redirects.isEmpty)
    }

    @Test func redirectWithoutALocationIsReturned() async throws {
        #expect(try await MockTransport([.status(.found)]).data(request).status == .found)
    }

    // MARK: Locations

    @Test(arguments: [
        ("https://other.example/x?y=1", "https://other.example/x?y=1"),
        ("//other.example/x", "https://other.example/x"),
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("./x/", "https://example.com/a/x/"),
        ("../x", "https://example.com/x"),
        ("../../../x", "https://example.com/x"),
        ("https://other.example/a/../x", "https://other.example/x"),
        ("//other.example/a/./b/%2E%2e/c?d=/../e", "https://other.example/a/c?d=/../e"),
        ("https://other.example:/x", "https://other.example/x"),
        ("?y=1&y=2", "https://example.com/a/b?y=1&y=2"),
        ("/x#part", "https://example.com/x"),
        ("HTTPS://Other.Example/x", "https://Other.Example/x"),
        ("https:x", "https://example.com/a/x"),
        ("HTTPS:/x", "https://example.com/x"),
        ("https:?y=1", "https://example.com/a/b?y=1"),
        ("https:12:30", "https://example.com/a/12:30"),
        ("https://other.example", "https://other.example/"),
        ("https://[::1]:8443/x", "https://[::1]:8443/x"),
        ("/x%2Fy%20z", "https://example.com/x%2Fy%20z"),
        ("/x y", "https://example.com/x%20y"),
        ("/ü", "https://example.com/%C3%BC"),
        ("/ü%20x", "https://example.com/%C3%BC%20x"),
        ("/x|y%20z", "https://example.com/x%7Cy%20z"),
        ("/100%/a%20b", "https://example.com/100%25/a%20b"),
        ("https://other.example/x[1]?a[b]=c%20d", "https://other.example/x%5B1%5D?a%5Bb%5D=c%20d"),
        ("?q={x}%20", "https://example.com/a/b?q=%7Bx%7D%20"),
        ("/x?redirect=https://y/", "https://example.com/x?redirect=https://y/"),
        ("/x//y/", "https://example.com/x//y/"),
        ("https://münchen.de/ü%20x", "https://xn--mnchen-3ya.de/%C3%BC%20x"),
    ])
    func resolvesTheLocation(location: String, url: String) async throws {
        let transport = MockTransport([.redirect(to: location), .text("there")])
        let response = try await transport.data(request)
        #expect(response.data == Data("there".utf8))
        #expect(transport.requests.last?.url?.absoluteString == url)
        #expect(response.url?.absoluteString == url)
    }

    @Test(arguments: [
        "", "#part", "http://example.com/x", "http://other.example/x", "ftp://example.com/x",
        "mailto:emily@example.com",
        "javascript:alert(1)", "file:///etc/passwd", "data:text/plain,x", "https:///x", "https://", "https://exa mple/",
        "https://u:hunter2@other.example/", "https://other.example:99999/x", "https://other.example:port/x",
        "https://<x>/", "//", "https://[::1/x", "https:", "http:x", "http:/other.example/x",
    ])
    func returnsARedirectThatItCannotFollow(location: String) async throws {
        let transport = MockTransport([.redirect(to: location)])
        let response = try await transport.data(request)
        #expect(response.status == .found)
        #expect(response.redirects.isEmpty)
        #expect(transport.requests.count == 1)
    }

    /// The limit applies to the location and to the URL that it leads to.
    @Test(arguments: [("https://example.com/", 65_536, 200), ("https://example.com/", 65_537, 302), ("/", 65_518, 302)])
    func followsALocationUpToTheMaximumLength(start: String, length: Int, code: Int) async throws {
        let location = start + String(repeating: "x", count: length - start.utf8.count)
        let transport = MockTransport([.redirect(to: location), .ok()])
        #expect(try await transport.data(request).status.code == code)
    }

    /// Circuits and retries use it to tell which server has failed.
    @Test(arguments: [("/c", true), ("https://other.example/c", false)])
    func errorOfAHopKnowsWhetherTheServerIsTheSame(location: String, isSame: Bool) async throws {
        let transport = MockTransport { request in
            if request.path == "/c" { throw NetworkingError(.connection, request: request) }
            return .redirect(to: location)
        }
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.redirect == (isSame ? .sameServer : .anotherServer))
    }

    /// The location of the server is invalid, and no request of the app.
    @Test(arguments: [
        ("/", "x", 1 << 16, ""), ("/", "ü", 12_000, ""), ("https://other.example/", "x", 9_000_000, ""),
        ("https://", "x.", 150, "example/"), ("https://", "x", 66_000, "/"),
    ])
    func returnsARedirectWithATooLongLocation(start: String, text: String, count: Int, end: String) async throws {
        let location = start + String(repeating: text, count: count) + end
        let transport = MockTransport([.redirect(to: location), .ok()])
        let recorder = EventRecorder()
        let response = try await transport.data(request.with { $0.addObserver(recorder) })
        #expect(response.status == .found)
        #expect(response.redirects.isEmpty)
        #expect(transport.requests.count == 1)
        #expect(recorder.refusals == [.unusableLocation])
    }

    @Test func followsALongLocation() async throws {
        let path = "/" + String(repeating: "x", count: 60_000)
        let transport = MockTransport([.redirect(to: path), .ok()])
        try await transport.data(request)
        #expect(transport.requests.last?.path == path)
    }

    private final class EventRecorder: NetworkEventObserver {
        private let events = Mutex<[RedirectRefusal]>([])

        var refusals: [RedirectRefusal] {
            events.withLock { $0 }
        }

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            guard case RedirectEvent.refused(let refusal) = event else { return }
            events.withLock { $0.append(refusal) }
        }
    }

    @Test(arguments: ["https://example.com/b", "http://example.com/b", "http://other.example/b"])
    func plainHTTPMayLeadToHTTPSAndToPlainHTTP(location: String) async throws {
        let transport = MockTransport([.redirect(to: location), .ok()])
        var request = request
        request.scheme = "http"
        try await transport.data(request)
        #expect(transport.requests.last?.description == "GET \(location)")
    }

    /// It describes the former path in metrics and traces.
    @Test func routeDoesNotApplyToTheNextURL() async throws {
        let transport = MockTransport([.redirect(to: "/c"), .ok()])
        try await transport.data(request.with { $0.route = "/a/{id}" })
        #expect(transport.requests.map(\.route) == ["/a/{id}", nil])
    }

    // MARK: Credentials

    private static let credentials = [
        "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token",
        "X-Amz-Security-Token", "X-Goog-Api-Key",
    ]

    private func requestWithCredentials(scheme: String = "https") throws -> HTTPRequestData {
        var request = request
        request.scheme = scheme
        request.headerFields[.accept] = "text/plain"
        for name in Self.credentials {
            request.headerFields[try #require(HTTPField.Name(name))] = "hunter2"
        }
        var field = HTTPField(name: .userAgent, value: "hunter2")
        field.indexingStrategy = .disallow
        request.headerFields.append(field)
        return request
    }

    @Test(arguments: [
        "https://other.example/x", "//sub.example.com/x", "https://example.com:8443/x", "https://example.com.evil/x",
        "https://example.org/x",
    ])
    func sendsNoCredentialsToAnotherOrigin(location: String) async throws {
        let transport = MockTransport([.redirect(to: location, status: .temporaryRedirect), .ok()])
        try await transport.data(try requestWithCredentials())
        let followed = try #require(transport.requests.last)
        #expect(followed.headerFields.map(\.name) == [.accept])
    }

    @Test(arguments: ["/x", "https://example.com/x", "https://example.com:443/x", "https://EXAMPLE.com/x"])
    func keepsCredentialsWithinTheOrigin(location: String) async throws {
        let transport = MockTransport([.redirect(to: location), .ok()])
        try await transport.data(try requestWithCredentials())
        #expect(transport.requests.last?.headerFields.count == Self.credentials.count + 2)
        #expect(transport.requests.last?.headerFields[.authorization] == "hunter2")
    }

    @Test(arguments: ["/x", "http://localhost:80/x"])
    func keepsCredentialsWithinAnOriginOverPlainHTTP(location: String) async throws {
        let transport = MockTransport([.redirect(to: location), .ok()])
        var request = try requestWithCredentials(scheme: "http")
        request.authority = "localhost"
        try await transport.data(request)
        #expect(transport.requests.last?.headerFields[.authorization] == "hunter2")
    }

    @Test func anotherSchemeIsAnotherOrigin() async throws {
        let transport = MockTransport([.redirect(to: "https://localhost/x"), .ok()])
        var request = try requestWithCredentials(scheme: "http")
        request.authority = "localhost"
        try await transport.data(request)
        #expect(transport.requests.last?.headerFields.map(\.name) == [.accept])
    }

    @Test func removedCredentialsAreNotRestored() async throws {
        let transport = MockTransport([
            .redirect(to: "https://other.example/x"), .redirect(to: "https://example.com/y"), .ok(),
        ])
        try await transport.data(try requestWithCredentials())
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["hunter2", nil, nil])
    }

    @Test func removedCredentialsOfAServerModifierAreNotRestored() async throws {
        let transport = MockTransport([
            .redirect(to: "https://other.example/x"), .redirect(to: "https://example.com/y"), .ok(),
        ])
        let network = transport.server(headerField: .authorization, "Bearer hunter2").server(prefixPath: "v1")
            .server(authority: "example.com")
        try await network.data(HTTPRequestData(path: "a"))
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer hunter2", nil, nil])
        #expect(transport.requests.map(\.path) == ["/v1/a", "/x", "/y"])
    }

    // MARK: Limits

    @Test func followsUpToTwentyRedirects() async throws {
        let hops = (1...20).map { MockResponse.redirect(to: "/\($0)") }
        let transport = MockTransport(hops + [.text("there")])
        let response = try await transport.data(request)
        #expect(response.data == Data("there".utf8))
        #expect(response.redirects.count == 20)
        #expect(transport.requests.count == 21)
    }

    @Test func failsAfterTwentyRedirects() async throws {
        let transport = MockTransport((1...21).map { .redirect(to: "/\($0)") })
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        )
        #expect(error.kind == .tooManyRedirects)
        #expect(error.reason.contains("20"))
        #expect(error.response?.status == .found)
        #expect(error.request.path == "/20")
        #expect(transport.requests.count == 21)
    }

    @Test(arguments: [1, 2, 5])
    func followsUpToTheLimitOfTheRequest(limit: Int) async throws {
        let transport = MockTransport { request in
            let number = request.path.flatMap { Int($0.dropFirst()) } ?? 0
            return .redirect(to: "/\(number + 1)")
        }
        var request = request
        request.redirects = .follow(upTo: limit)
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.kind == .tooManyRedirects)
        #expect(transport.requests.count == limit + 1)
    }

    @Test func followsNoneIfDisabled() async throws {
        let transport = MockTransport([.redirect(to: "/c")])
        var request = request
        request.redirects = .never
        let response = try await transport.data(request)
        #expect(response.status == .found)
        #expect(response.headerFields[.location] == "/c")
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [
        ["/a/b"], ["b"], ["/c", "/a/b"], ["/c", "/d", "/c"], ["/c", "/c"], ["https://EXAMPLE.com/a/b"],
    ])
    func loopIsAnError(locations: [String]) async throws {
        let transport = MockTransport(locations.map { .redirect(to: $0) })
        var request = request
        request.scheme = "https"
        if locations == ["https://EXAMPLE.com/a/b"] {
            request.authority = "EXAMPLE.com"
        }
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        )
        #expect(error.kind == .tooManyRedirects)
        #expect(error.reason.contains("in a loop"))
        #expect(transport.requests.count == locations.count)
    }

    @Test func redirectWithAnotherMethodIsNoLoop() async throws {
        let transport = MockTransport([.redirect(to: "/a/b", status: .seeOther), .text("there")])
        var request = request
        request.method = .post
        #expect(try await transport.data(request).data == Data("there".utf8))
    }

    /// Login and consent pages set a cookie and redirect back to the original URL.
    @Test func redirectBackAfterASetCookieIsNoLoop() async throws {
        let cookie = MockResponse(status: .found, headerFields: [.location: "/a/b", .setCookie: "seen=1"])
        let transport = MockTransport([.redirect(to: "/consent"), cookie, .text("there")])
        let response = try await transport.data(request)
        #expect(response.data == Data("there".utf8))
    }

    // MARK: History and sinks

    @Test func responseHasItsRedirects() async throws {
        let transport = MockTransport([
            .redirect(to: "/one", status: .movedPermanently), .redirect(to: "/two", status: .temporaryRedirect), .ok(),
        ])
        let response = try await transport.data(request)
        #expect(response.redirects.map(\.response.status) == [.movedPermanently, .temporaryRedirect])
        #expect(response.redirects.map(\.request.path) == ["/a/b", "/one"])
        #expect(response.sentRequest.path == "/two")
        #expect(response.request == request)
        #expect(response.request.id == request.id)
        #expect(Set(transport.requests.map(\.id)) == [request.id])
    }

    @Test func sinkDoesNotReceiveThePageOfARedirect() async throws {
        let sink = CollectingSink { _ in .take }
        var request = request
        request.sink = sink
        let pages = ["/c", "/d"]
            .map { MockResponse(status: .found, data: Data("moved".utf8), headerFields: [.location: $0]) }
        let response = try await MockTransport(pages + [.text("there")]).data(request)
        #expect(sink.heads.map(\.status) == [.ok])
        #expect(sink.data == Data("there".utf8))
        #expect(sink.finished == 1)
        #expect(response.body == .delivered(byteCount: 5))
    }

    @Test func sinkIsNotNotifiedOfTooManyRedirects() async {
        let sink = CollectingSink { _ in .take }
        var request = request
        request.sink = sink
        await #expect(throws: NetworkingError.self) {
            try await MockTransport([.redirect(to: "/a/b")]).data(request)
        }
        #expect(sink.heads.isEmpty)
    }

    @Test func isCancelledBetweenHops() async {
        let transport = MockTransport { _ in
            withUnsafeCurrentTask { $0?.cancel() }
            return .redirect(to: "/c")
        }
        let call = Task { try await transport.data(request) }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
    }
}
