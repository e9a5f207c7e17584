import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

extension RequestOptionKey {
    fileprivate static let ticket = RequestOption<String?>(
        "ticket",
        default: nil,
        affects: .nothing,
        isCredential: true
    )
}

/// Pages that are connected by `Link` header fields.
@Suite(.timeLimit(.minutes(20)))
struct PageLinkTests {
    private let transport = MockTransport()

    private var network: some NetworkingComponent {
        transport.authenticated(with: BearerCredentials(token: "stack-secret"))
            .server(authority: "api.example.com")
    }

    private func page(_ items: [Int], _ links: String...) throws -> MockResponse {
        let name = try #require(HTTPField.Name("Link"))
        let fields = HTTPFields(links.map { HTTPField(name: name, value: $0) })
        return .ok(Data("\(items)".utf8), headerFields: fields)
    }

    private func read(
        _ first: HTTPRequestData = HTTPRequestData(path: "items"),
        next rule: PageRule<[Int]> = .link
    ) async throws -> [[Int]] {
        var pages: [[Int]] = []
        for try await page in network.pages(Request<[Int]>(first), next: rule) {
            pages.append(page)
        }
        return pages
    }

    private var urls: [String?] {
        transport.requests.map(\.url?.absoluteString)
    }

    // MARK: Targets

    @Test(
        arguments: [
            ("https://api.example.com/items?page=2", "https://api.example.com/items?page=2"),
            ("/items?page=2", "https://api.example.com/items?page=2"),
            ("?page=2", "https://api.example.com/v1/items?page=2"),
            ("more", "https://api.example.com/v1/more"),
            ("../more?a=b", "https://api.example.com/more?a=b"),
            ("//api.example.com/more", "https://api.example.com/more"),
            ("/items?page=2#top", "https://api.example.com/items?page=2"),
            ("/items?q=a%20b&c=%2F", "https://api.example.com/items?q=a%20b&c=%2F"),
            ("/items?q=a b|%zz", "https://api.example.com/items?q=a%20b%7C%25zz"),
            // Other spellings of the same origin
            ("HTTPS://API.example.com/more", "https://api.example.com/more"),
            ("https://api.example.com:443/more", "https://api.example.com/more"),
        ]
    )
    func resolvesTheTargetAgainstTheURLOfTheResponse(target: String, expected: String) async throws {
        transport.enqueue(try page([1], "<\(target)>; rel=\"next\""), try page([2]))

        #expect(try await read(HTTPRequestData(path: "v1/items")) == [[1], [2]])

        #expect(urls == ["https://api.example.com/v1/items", expected])
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] == "Bearer stack-secret" })
    }

    @Test func responseWithoutALinkIsTheLastPage() async throws {
        transport.enqueue(try page([1], "</items?page=0>; rel=prev, </items?page=9>; rel=last"))

        #expect(try await read() == [[1]])
    }

    @Test func followsAnotherRelation() async throws {
        transport.enqueue(try page([2], "</3>; rel=next", "</1>; rel=\"PREV first\""), try page([1]))

        #expect(try await read(next: .link(relation: "Prev")) == [[2], [1]])
        #expect(transport.requests.map(\.path) == ["/items", "/1"])
    }

    @Test func keepsMethodFieldsBodyAndOptions() async throws {
        transport.enqueue(try page([1], "</items?page=2>; rel=next"), try page([2]))
        let request = HTTPRequestData(method: .post, path: "items", body: .json(["q": "x"]))
            .with {
                $0.headerFields[.acceptLanguage] = "de"
                $0.timeout = .seconds(5)
                $0.route = "/items"
                $0[.ticket] = "ticket"
            }

        _ = try await read(request)

        let next = try #require(transport.requests.last)
        #expect(next.method == .post)
        #expect(next.headerFields[.acceptLanguage] == "de")
        #expect(next.body?.data == transport.requests.first?.body?.data)
        #expect(next.timeout == .seconds(5))
        #expect(next.route == "/items")
        #expect(next[.ticket] == "ticket")
        #expect(Set(transport.requests.map(\.id)).count == 2)
    }

    @Test func routeOfAnotherPathIsRemoved() async throws {
        transport.enqueue(try page([1], "</others/2>; rel=next"), try page([2]))

        _ = try await read(HTTPRequestData(path: "items").with { $0.route = "/items" })

        #expect(transport.requests.map(\.route) == ["/items", nil])
    }

    // MARK: Other servers

    @Test func anotherServerGetsNoCredentials() async throws {
        transport.enqueue(
            try page([1], "<https://cdn.example/items?page=2>; rel=next"),
            try page([2], "</items?page=3>; rel=next"),
            try page([3], "<https://api.example.com/items?page=4>; rel=next"),
            try page([4])
        )
        let request = HTTPRequestData(path: "items")
            .with {
                $0.headerFields["X-Auth-Token"] = "app-secret"
                $0.headerFields[.cookie] = "session=app-secret"
                $0.headerFields[.acceptLanguage] = "de"
                $0.setCredential("app-secret", forQueryItem: "key")
                $0[.ticket] = "ticket"
            }

        #expect(try await read(request) == [[1], [2], [3], [4]])

        let sent = transport.requests
        #expect(sent.map(\.authority) == ["api.example.com", "cdn.example", "cdn.example", "api.example.com"])
        // The stack's own server gets the stack's token again; the app's credentials are not restored.
        #expect(
            sent.map { $0.headerFields[.authorization] }
                == ["Bearer stack-secret", nil, nil, "Bearer stack-secret"]
        )
        #expect(sent.map { $0.headerFields["X-Auth-Token"] } == ["app-secret", nil, nil, nil])
        #expect(sent.map { $0.headerFields[.cookie] } == ["session=app-secret", nil, nil, nil])
        #expect(sent.map { $0.query["key"] } == ["app-secret", nil, nil, nil])
        #expect(sent.map { $0[.ticket] } == ["ticket", nil, nil, nil])
        #expect(sent.allSatisfy { $0.headerFields[.acceptLanguage] == "de" })
    }

    @Test func anotherServerGetsTheOptionsThatAreNoCredentials() async throws {
        transport.enqueue(try page([1], "<https://cdn.example/items?page=2>; rel=next"), try page([2]))
        let request = HTTPRequestData(path: "items")
            .with {
                $0.allowsCellularAccess = false
                $0.cacheMode = .noStore
                $0.offlinePolicy = .wait(upTo: .seconds(5))
                $0[.ticket] = "ticket"
            }

        #expect(try await read(request) == [[1], [2]])

        let next = try #require(transport.requests.last)
        #expect(next.authority == "cdn.example")
        #expect(!next.allowsCellularAccess)
        #expect(next.cacheMode == .noStore)
        #expect(next.offlinePolicy == .wait(upTo: .seconds(5)))
        #expect(next[.ticket] == nil)
    }

    /// Reads two pages after a redirect to another server, and checks that only the first request has the app's token.
    private func checkPagesAfterRedirect(
        linking link: String,
        to url: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        transport.enqueue(
            .redirect(to: "https://cdn.example/items"),
            try page([1], "<\(link)>; rel=next"),
            try page([2])
        )
        let request = HTTPRequestData(path: "items").with { $0.headerFields["X-Auth-Token"] = "app-secret" }

        #expect(try await read(request) == [[1], [2]], sourceLocation: sourceLocation)

        #expect(urls.last == url, sourceLocation: sourceLocation)
        let tokens = transport.requests.map { $0.headerFields["X-Auth-Token"] }
        #expect(tokens == ["app-secret", nil, nil], sourceLocation: sourceLocation)
    }

    /// The link is relative to the server that the request was redirected to, which never got the credentials.
    @Test func redirectToAnotherServerRemovesCredentialsFromLaterPages() async throws {
        try await checkPagesAfterRedirect(linking: "/items?page=2", to: "https://cdn.example/items?page=2")
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer stack-secret", nil, nil])
    }

    /// The target server of a redirect must not control the requests that the app sends to the first server.
    @Test func linkOfAnotherServerBackToTheFirstOneGetsNoCredentialsOfTheApp() async throws {
        let account = "https://api.example.com/account"
        try await checkPagesAfterRedirect(linking: account, to: account)
    }

    @Test func linkOfAnotherServerDoesNotSendABodyToTheFirstOne() async throws {
        transport.enqueue(
            .redirect(to: "https://cdn.example/items", status: .temporaryRedirect),
            try page([1], "<https://api.example.com/account>; rel=next")
        )

        let error = await #expect(throws: NetworkingError.self) {
            try await read(HTTPRequestData(method: .post, path: "items", body: .json(["q": "text"])))
        }

        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.count == 2)
    }

    @Test func urlInAPageIsFollowedLikeALink() async throws {
        struct Items: Codable, Sendable {
            let items: [Int]
            let next: String?
        }
        transport.enqueue(
            .json(Items(items: [1], next: "/items?page=2")),
            .json(Items(items: [2], next: "https://cdn.example/items?page=3")),
            .json(Items(items: [3], next: nil))
        )
        let request = HTTPRequestData(path: "items").with { $0.headerFields["X-Auth-Token"] = "app-secret" }
        var items: [[Int]] = []

        for try await page in network.pages(Request<Items>(request), next: .url { $0.next }) {
            items.append(page.items)
        }

        #expect(items == [[1], [2], [3]])
        #expect(
            urls == [
                "https://api.example.com/items", "https://api.example.com/items?page=2",
                "https://cdn.example/items?page=3",
            ]
        )
        #expect(transport.requests.map { $0.headerFields["X-Auth-Token"] } == ["app-secret", "app-secret", nil])
        #expect(
            transport.requests.map { $0.headerFields[.authorization] }
                == ["Bearer stack-secret", "Bearer stack-secret", nil]
        )
    }

    @Test func bodyIsNotSentToAnotherServer() async throws {
        transport.enqueue(try page([1], "<https://cdn.example/items>; rel=next"))

        let error = await #expect(throws: NetworkingError.self) {
            try await read(HTTPRequestData(method: .post, path: "items", body: .json(["q": "secret"])))
        }

        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.count == 1)
    }

    @Test func plainHTTPNeedsThePermissionOfTheRequest() async throws {
        let link = "<http://cdn.example/items>; rel=next"
        transport.enqueue(try page([1], link), try page([2], link), try page([3]))

        let error = await #expect(throws: NetworkingError.self) { try await read() }
        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.count == 1)

        let request = HTTPRequestData(path: "items").with { $0.redirects = .follow.allowingDowngrade() }
        #expect(try await read(request) == [[2], [3]])
        #expect(urls.last == "http://cdn.example/items")
    }

    // MARK: Invalid links

    @Test(arguments: ["ftp://api.example.com/items", "mailto:a@b.example", "https:///items", "http://", "javascript:x"])
    func targetThatIsNoHTTPURLIsAnError(target: String) async throws {
        transport.enqueue(try page([1], "<\(target)>; rel=next"))
        var iterator = network.pages(Request<[Int]>.get("items"), next: .link).makeAsyncIterator()

        // The page itself is complete.
        #expect(try await iterator.next() == [1])
        let error = await #expect(throws: NetworkingError.self) { try await iterator.next() }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.response?.status == .ok)
        #expect(try await iterator.next() == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func credentialsInATargetAreNotSent() async throws {
        transport.enqueue(try page([1], "<https://user:t0ps3cret@api.example.com/2>; rel=next"), try page([2]))
        #expect(try await read() == [[1], [2]])
        #expect(urls.last == "https://api.example.com/2")

        transport.enqueue(try page([1], "<https://user:t0ps3cret@cdn.example/2>; rel=next"))
        let error = try #require(await #expect(throws: NetworkingError.self) { try await read() })
        #expect(error.kind == .invalidRequest)
        #expect(!everyPrint(of: error).contains("t0ps3cret"))
        #expect(transport.requests.count == 3)
    }

    @Test func fieldsThatAreTooLongAreAnError() async throws {
        transport.enqueue(try page([1], "<\(String(repeating: "x", count: 70_000))>; rel=next"))

        let error = await #expect(throws: NetworkingError.self) { try await read() }

        #expect(error?.kind == .invalidResponse)
    }

    // MARK: Loops

    @Test(arguments: ["/items", "", "#top", "https://api.example.com/items", "https://API.example.com:443/items"])
    func pageThatLinksToItselfIsAnError(target: String) async throws {
        let response = try page([1], "<\(target)>; rel=next")
        transport.on(.any, response)
        var iterator = network.pages(Request<[Int]>.get("items"), next: .link).makeAsyncIterator()

        #expect(try await iterator.next() == [1])
        let error = await #expect(throws: NetworkingError.self) { try await iterator.next() }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.reason.contains("Page 1 ") == true)
        #expect(try await iterator.next() == nil)
        #expect(transport.requests.count == 1)
    }

    @Test func pageThatLinksToAnEarlierPageIsAnError() async throws {
        transport.on(.get, "/items", try page([1], "</2>; rel=next"))
        transport.on(.get, "/2", try page([2], "</3>; rel=next"))
        transport.on(.get, "/3", try page([3], "</2>; rel=next"))

        let error = await #expect(throws: NetworkingError.self) { try await read() }

        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.map(\.path) == ["/items", "/2", "/3"])
    }

    @Test func linkToTheTargetOfARedirectIsALoop() async throws {
        let response = try page([1], "</items?page=1>; rel=next")
        transport.on(.any) { request in
            request.query["page"] == nil ? .redirect(to: "/items?page=1") : response
        }

        let error = await #expect(throws: NetworkingError.self) { try await read() }

        #expect(error?.kind == .invalidResponse)
        #expect(transport.requests.map(\.path) == ["/items", "/items"])
    }
}
