import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite
struct RequestMethodsTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    @Test func createsARequestForEachMethod() {
        let body = RequestBody.json(User(name: "Emily"))
        let requests: [HTTPRequestData] = [
            .get("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .head("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .delete("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .post("a", query: ["q": 1], headers: ["X-Id": "1"], body: body),
            .put("a", query: ["q": 1], headers: ["X-Id": "1"], body: body),
            .patch("a", query: ["q": 1], headers: ["X-Id": "1"], body: body),
        ]
        #expect(requests.map(\.method) == [.get, .head, .delete, .post, .put, .patch])
        #expect(requests.allSatisfy { $0.requestTarget == "/a?q=1" && $0.headerFields["X-Id"] == "1" })
        #expect(requests.map { $0.body == body } == [false, false, false, true, true, true])
    }

    @Test func createsARequestToAURLForEachMethod() throws {
        let url = try #require(URL(string: "https://other.example/a?p=0"))
        let body = RequestBody.json(User(name: "Emily"))
        let requests: [HTTPRequestData] = [
            .get(url, query: ["q": 1], headers: ["X-Id": "1"]),
            .head(url, query: ["q": 1], headers: ["X-Id": "1"]),
            .delete(url, query: ["q": 1], headers: ["X-Id": "1"]),
            .post(url, query: ["q": 1], headers: ["X-Id": "1"], body: body),
            .put(url, query: ["q": 1], headers: ["X-Id": "1"], body: body),
            .patch(url, query: ["q": 1], headers: ["X-Id": "1"], body: body),
        ]
        let typed: [Request<User>] = [.get(url), .delete(url), .post(url), .put(url), .patch(url)]
        let unread: [Request<Void>] = [.get(url), .delete(url), .post(url), .put(url), .patch(url)]
        #expect(requests.map(\.method) == [.get, .head, .delete, .post, .put, .patch])
        #expect(requests.allSatisfy { $0.url?.absoluteString == "https://other.example/a?p=0&q=1" })
        #expect(requests.allSatisfy { $0.headerFields["X-Id"] == "1" })
        #expect(requests.map { $0.body == body } == [false, false, false, true, true, true])
        #expect(typed.map(\.http.method) == [.get, .delete, .post, .put, .patch])
        #expect(unread.map(\.http.method) == [.get, .delete, .post, .put, .patch])
        #expect((typed.map(\.http.url) + unread.map(\.http.url)).allSatisfy { $0 == url })
    }

    @Test func createsATypedRequestForEachMethod() async throws {
        let network = MockTransport { _ in .json(User(name: "Emily")) }.server(authority: "a.example")
        let user = User(name: "Emily")
        let typed: [Request<User>] = [
            .get("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .delete("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .post("a", query: ["q": 1], headers: ["X-Id": "1"], body: .json(user)),
            .put("a", query: ["q": 1], headers: ["X-Id": "1"], body: .json(user)),
            .patch("a", query: ["q": 1], headers: ["X-Id": "1"], body: .json(user)),
        ]
        #expect(typed.map(\.http.method) == [.get, .delete, .post, .put, .patch])
        for request in typed {
            #expect(try await network.request(request) == user)
        }
        let unread: [Request<Void>] = [
            .get("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .delete("a", query: ["q": 1], headers: ["X-Id": "1"]),
            .post("a", query: ["q": 1], headers: ["X-Id": "1"], body: .json(user)),
            .put("a", query: ["q": 1], headers: ["X-Id": "1"], body: .json(user)),
            .patch("a", query: ["q": 1], headers: ["X-Id": "1"], body: .json(user)),
        ]
        #expect(unread.map(\.http.method) == [.get, .delete, .post, .put, .patch])
        for request in unread {
            try await network.request(request)
        }
    }

    @Test func methodWithoutAPropertyHasTheSameForms() throws {
        let url = try #require(URL(string: "https://other.example/files"))
        let method = try #require(HTTPRequest.Method("PROPFIND"))
        let body = RequestBody.data(Data([1]))
        let plain = RequestFactory<HTTPRequestData>(method)
        let typed = RequestFactory<Request<User>>(method)
        let unread = RequestFactory<Request<Void>>(method)
        let requests = [
            plain("files", query: ["q": 1], headers: ["Depth": "1"], body: body),
            typed("files", query: ["q": 1], headers: ["Depth": "1"], body: body).http,
            unread("files", query: ["q": 1], headers: ["Depth": "1"], body: body).http,
            plain(url, query: ["q": 1], headers: ["Depth": "1"], body: body),
            typed(url, query: ["q": 1], headers: ["Depth": "1"], body: body).http,
            unread(url, query: ["q": 1], headers: ["Depth": "1"], body: body).http,
        ]
        #expect(requests.allSatisfy { $0.method == method && $0.body == body && $0.headerFields["Depth"] == "1" })
        #expect(requests.map(\.requestTarget) == Array(repeating: "/files?q=1", count: 6))
        #expect(requests.map { $0.authority == "other.example" } == [false, false, false, true, true, true])
    }

    @Test func voidIsTheOnlyResponseWithoutAValue() async throws {
        let network = MockTransport { _ in .json(User(name: "Emily")) }.server(authority: "a.example")
        func send<each Element: NoElement>(_ request: Request<(repeat each Element)>) async throws {
            _ = try await network.value(Request<Void>(request.http))
        }
        try await send(Request<Void>.delete("a"))
        try await send(Request<Void>(.get("a")))
    }

    @Test func requestWithoutATypeHasNoValue() async throws {
        struct Refused: Error {}
        let network = MockTransport { _ in .ok() }.server(authority: "a.example")
        // Only a closure that throws can decode the type that the compiler finds for a request without a type.
        let request = Request<UntypedResponse>(HTTPRequestData.get("a")) { _ in throw Refused() }
        await #expect(throws: Refused.self) { try await network.request(request) }
    }

    @Test func changesOneOptionOfACopy() {
        let request = HTTPRequestData.get("a")
        let changed = request.with(\.timeout, .seconds(5)).with(\.method, .head)
        #expect(changed.timeout == .seconds(5))
        #expect(changed.method == .head)
        #expect(request.timeout == nil)
        let typed = Request<User>.get("a").with(\.timeout, .seconds(5))
        #expect(typed.http.timeout == .seconds(5))
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, true, true), (.head, true, true), (.options, true, true), (.trace, true, true),
        (.query, true, true), (.put, false, true), (.delete, false, true), (.post, false, false),
        (.patch, false, false),
        (.connect, false, false),
    ])
    func classifiesSafeAndIdempotentMethods(method: HTTPRequest.Method, isSafe: Bool, isIdempotent: Bool) {
        #expect(method.isSafe == isSafe)
        #expect(method.isIdempotent == isIdempotent)
    }

    @Test func queryHasABody() async throws {
        let untyped: HTTPRequestData = .query("users", query: ["page": 2], body: .json(["name": "Ada"]))
        #expect(untyped.method == .query && untyped.path == "/users" && untyped.query.page == "2")
        let typed: Request<[String]> = .query("users", body: .json(["name": "Ada"]))
        #expect(typed.http.method.rawValue == "QUERY" && typed.http.body?.contentType == "application/json")
        let transport = MockTransport { _ in .json(["Ada"]) }
        let names: [String] = try await transport.server(authority: "a.example")
            .request(.query("users", body: .json([1])))
        #expect(names == ["Ada"])
        #expect(transport.requests.first?.method == .query)
    }

    @Test(arguments: [
        (100, 1), (199, 1), (200, 2), (299, 2), (300, 3), (399, 3), (400, 4), (499, 4), (500, 5), (599, 5),
    ])
    func classifiesStatuses(code: Int, number: Int) {
        let status = HTTPResponse.Status(code: code)
        let classes = [
            status.isInformational, status.isSuccess, status.isRedirection, status.isClientError, status.isServerError,
        ]
        #expect(classes == (1...5).map { $0 == number })
    }
}
