import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SwitchableServerTests {
    private let transport = MockTransport { _ in .ok() }
    private let server: SwitchableServer
    private let serverA: URL
    private let serverB: URL

    init() throws {
        serverA = try #require(URL(string: "https://a.example/v1"))
        serverB = try #require(URL(string: "https://b.example/v2"))
        server = SwitchableServer(serverA)
    }

    private func authorizations() -> [String?] {
        transport.requests.map { $0.headerFields[.authorization] }
    }

    // MARK: Servers of requests

    @Test func laterCallsAreSentToTheNewServer() async throws {
        let network = transport.server(baseURL: server)
        #expect(server.baseURL == serverA)

        try await network.data(HTTPRequestData(path: "users"))
        try server.change(to: serverB)
        try await network.data(HTTPRequestData(path: "users?page=2"))

        #expect(server.baseURL == serverB)
        #expect(network.authority == "b.example")
        #expect(
            transport.requests.map(\.url?.absoluteString)
                == ["https://a.example/v1/users", "https://b.example/v2/users?page=2"]
        )
    }

    @Test func callInProgressStaysAtItsServer() async throws {
        let held = HeldResponse()
        let transport = MockTransport { request in request.path == "/v1/slow" ? .held(by: held) : .ok() }
        let network = transport.server(baseURL: server)

        async let slow = network.data(HTTPRequestData(path: "slow"))
        try await transport.waitForRequests(1)
        try server.change(to: serverB)
        try await network.data(HTTPRequestData(path: "fast"))
        held.respond()

        #expect(try await slow.url?.absoluteString == "https://a.example/v1/slow")
        #expect(transport.requests.map(\.authority) == ["a.example", "b.example"])
    }

    @Test func retriesOfACallStayAtItsServer() async throws {
        let transport = MockTransport()
        transport.on(.get, "/v1/users", uses: .once) { [server, serverB] _ in
            try server.change(to: serverB)
            return .status(.serviceUnavailable)
        }
        transport.on(.any, .ok())
        let network = transport.retry().environment(\.clock, .immediate()).server(baseURL: server)

        try await network.data(HTTPRequestData(path: "users"))
        try await network.data(HTTPRequestData(path: "users"))

        #expect(transport.requests.map(\.authority) == ["a.example", "a.example", "b.example"])
    }

    @Test func absoluteRequestKeepsItsServer() async throws {
        let network = transport.server(baseURL: server)
        let link = try #require(URL(string: "https://cdn.example/image.png?size=2"))

        #expect(network.resolved(HTTPRequestData(url: link)).url == link)
    }

    @Test func requestThatDisablesServerMutationsIsUnchanged() {
        let request = HTTPRequestData(path: "users").with { $0.serverMutations = .disabled }

        #expect(transport.server(baseURL: server).resolved(request).authority == nil)
    }

    @Test func concurrentCallsNeverMixTwoServers() async throws {
        let network = transport.server(baseURL: server)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<300 {
                group.addTask { [server, serverA, serverB] in
                    if index.isMultiple(of: 3) {
                        try server.change(to: index.isMultiple(of: 2) ? serverA : serverB)
                    }
                    try await network.data(HTTPRequestData(path: "users"))
                }
            }
            try await group.waitForAll()
        }

        let urls = Set(transport.requests.map(\.url?.absoluteString))
        #expect(urls.isSubset(of: ["https://a.example/v1/users", "https://b.example/v2/users"]))
    }

    // MARK: Lists, streams and transfers

    /// Work that sends several requests, or waits before it sends one, and changes the server meanwhile.
    struct Work: Sendable, CustomTestStringConvertible {
        typealias Run =
            @Sendable (AnyNetworkingComponent, _ changeServer: @Sendable () throws -> Void) async throws -> Void

        let testDescription: String
        let paths: [String]
        let run: Run

        init(_ name: String, _ paths: [String], _ run: @escaping Run) {
            testDescription = name
            self.paths = paths
            self.run = run
        }

        private static let items = HTTPRequestData(path: "items")

        private static func pages(_ name: String, _ rule: PageRule<[Int]>) -> Work {
            Work("pages(_:), \(name)", ["/v1/items", "/v1/items?page=2"]) { network, changeServer in
                let pages = network.pages(Request<[Int]>(items), next: rule)
                for try await page in pages.responses {
                    guard page.number == 1 else { break }
                    try changeServer()
                }
            }
        }

        static let all = [
            pages("of a changed request", .number { $0.isEmpty }),
            pages("of a new request", .custom { _, _, _ in HTTPRequestData(path: "items?page=2") }),
            pages("of a link", .link),
            pages("of a relative URL", .url { _ in "?page=2" }),
            Work("elements(_:)", ["/v1/items", "/v1/items?page=2"]) { network, changeServer in
                let pages = network.pages(Request<[Int]>(items), next: .number { $0.isEmpty })
                var isFirst = true
                for try await _ in pages.elements({ $0 }) {
                    guard isFirst else { break }
                    isFirst = false
                    try changeServer()
                }
            },
            Work("events(_:)", ["/v1/events", "/v1/events"]) { network, changeServer in
                for try await _ in try await network.events(HTTPRequestData(path: "events")) {
                    try changeServer()
                }
            },
            Work("storedThenFresh(_:)", ["/v1/items", "/v1/items"]) { network, changeServer in
                try await network.data(items)
                for try await response in network.storedThenFresh(items) where response.isCached {
                    try changeServer()
                }
            },
            Work("storedThenFresh(_:), typed", ["/v1/items", "/v1/items"]) { network, changeServer in
                try await network.data(items)
                for try await (_, response) in network.storedThenFresh(Request<[Int]>(items)) where response.isCached {
                    try changeServer()
                }
            },
            Work("transfer(downloading:), after a pause", ["/v1/slow", "/v1/slow"]) { network, changeServer in
                try await withTemporaryDirectory { directory in
                    let file = directory.appending(path: "file")
                    let transfer = network.transfer(downloading: HTTPRequestData(path: "slow"), to: file)
                    // A pause before the transport has the request would cancel it unsent.
                    for await progress in transfer.progress where progress.received.count > 0 { break }
                    await transfer.pause()
                    try changeServer()
                    transfer.resume()
                    _ = try await transfer.value
                }
            },
            Work("a list of the app", ["/v1/items", "/v1/items/2"]) { network, changeServer in
                let first = network.notingUsers(of: items)
                try await network.data(first)
                try changeServer()
                try await network.data(HTTPRequestData(path: "items/2").keepingUsers(of: first))
            },
        ]

        /// Work that begins when it is created, and sends its request later.
        static let handles = [
            Work("prepare(_:)", ["/v1/items"]) { network, changeServer in
                let call = network.prepare(items)
                try changeServer()
                _ = try await call.value
            },
            Work("notingUsers(of:)", ["/v1/items"]) { network, changeServer in
                let request = network.notingUsers(of: items)
                try changeServer()
                try await network.data(request)
            },
        ]
    }

    /// The next page of the other server would be one of another list.
    @Test(arguments: Work.all + Work.handles)
    func workStaysAtTheServerWhereItBegan(work: Work) async throws {
        let countAtChange = Locked(0)
        let isHeld = Locked(true)
        let gate = MockGate()
        let transport = MockTransport { request in
            switch request.path {
            case "/v1/events": return countAtChange.value == 0 ? .events("id: 7\ndata: a\n\n") : .status(.noContent)
            case "/v1/slow":
                let isFirst = isHeld.withLock { isHeld in
                    defer { isHeld = false }
                    return isHeld
                }
                return isFirst ? .chunks(["01234", .wait(for: gate), "56789"]) : .ok(Data("0123456789".utf8))
            default:
                return .json(text: "[1]")
                    .headerFields([
                        .cacheControl: "max-age=60", .init("Link")!: #"<?page=2>; rel="next""#,
                    ])
            }
        }
        let network = AnyNetworkingComponent(
            transport.authenticated(with: BearerCredentials(token: "secret")).cached()
                .environment(\.clock, .immediate()).server(baseURL: server)
        )
        try await work.run(network) { [server, serverB] in
            countAtChange.withLock { $0 = transport.requests.count }
            try server.change(to: serverB)
        }
        gate.open()
        #expect(Set(transport.requests.map(\.authority)) == ["a.example"])
        #expect(transport.requests.map { $0.target?.replacing("?page=1", with: "") } == work.paths)
        // The credentials may be those of the new server by now.
        let isAuthorized = transport.requests.map { $0.headerFields[.authorization] != nil }
        #expect(isAuthorized == work.paths.indices.map { $0 < countAtChange.value })

        try await network.data(HTTPRequestData(path: "later"))
        #expect(transport.requests.last?.url?.absoluteString == "https://b.example/v2/later")
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer secret")
    }

    // MARK: Credentials

    @Test func tokenIsSentToTheCurrentServerOnly() async throws {
        let events = EventRecorder()
        let network = transport.authenticated(with: BearerCredentials(token: "secret")).server(baseURL: server)
        let toA = HTTPRequestData(url: serverA).with { $0.addObserver(events) }

        try await network.data(HTTPRequestData(path: "me"))
        try server.change(to: serverB)
        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(toA)
        try await network.data(HTTPRequestData(url: serverB))

        #expect(transport.requests.map(\.authority) == ["a.example", "b.example", "a.example", "b.example"])
        #expect(authorizations() == ["Bearer secret", "Bearer secret", nil, "Bearer secret"])
        #expect(events.names.contains("credentialsWithheld"))
    }

    @Test func headerFieldIsSentToTheCurrentServerOnly() async throws {
        let network = transport.server(headerField: .authorization, "Bearer secret").server(baseURL: server)

        try server.change(to: serverB)
        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(HTTPRequestData(url: serverA))

        #expect(authorizations() == ["Bearer secret", nil])
    }

    @Test func serverWithItsDefaultPortIsTheSameServer() async throws {
        let network = transport.authenticated(with: BearerCredentials(token: "secret")).server(baseURL: server)
        let resolved = network.resolved(HTTPRequestData(path: "me"))

        try server.change(to: #require(URL(string: "https://A.example:443/v2")))
        try await network.data(resolved)

        #expect(authorizations() == ["Bearer secret"])
    }

    @Test func requestThatWasResolvedBeforeAChangeGetsNoToken() async throws {
        let network = transport.authenticated(with: BearerCredentials(token: "secret")).server(baseURL: server)
        let resolved = network.resolved(HTTPRequestData(path: "me"))

        try server.change(to: serverB)
        try await network.data(resolved)

        #expect(transport.requests.map(\.authority) == ["a.example"])
        #expect(authorizations() == [nil])
    }

    /// Responds to the first request with a status after an action, and to all others with 200.
    private func mock(
        firstStatus: HTTPResponse.Status,
        action: @escaping @Sendable () throws -> Void
    ) -> MockTransport {
        let transport = MockTransport()
        transport.on(.get, "/v1/me", uses: .once) { _ in
            try action()
            return .status(firstStatus)
        }
        transport.on(.any, .ok())
        return transport
    }

    @Test func retryAfterAChangeDoesNotSendTheNewServersToken() async throws {
        let store = TokenStore(BearerCredentials(token: "token-a"))
        let transport = mock(firstStatus: .serviceUnavailable) { [server, serverB] in
            try server.change(to: serverB)
            store.update(BearerCredentials(token: "token-b"))
        }
        let network = transport.authenticated(with: store)
            .retry()
            .environment(\.clock, .immediate())
            .server(baseURL: server)

        // The retry would be sent for no user, so there is none.
        #expect(try await network.data(HTTPRequestData(path: "me")).status == .serviceUnavailable)
        try await network.data(HTTPRequestData(path: "me"))

        #expect(transport.requests.map(\.authority) == ["a.example", "b.example"])
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer token-a", "Bearer token-b"])
    }

    @Test func attemptThatIsNotARetryIsSentWithoutTheNewServersToken() async throws {
        let store = TokenStore(BearerCredentials(token: "token-a"))
        let events = EventRecorder()
        let transport = mock(firstStatus: .serviceUnavailable) { [server, serverB] in
            try server.change(to: serverB)
            store.set(BearerCredentials(token: "token-b"))
        }
        let network = transport.authenticated(with: store).modified(Twice()).server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me").with { $0.addObserver(events) })

        #expect(transport.requests.map(\.authority) == ["a.example", "a.example"])
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer token-a", nil])
        #expect(events.names.contains("credentialsWithheld"))
    }

    /// Sends each request twice without regard to its user, as a modifier of an app might.
    private struct Twice: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            _ = try await upstream.send(request)
            return try await upstream.send(request)
        }
    }

    @Test func changingTheServerBackDoesNotRestoreTheTokenOfARunningCall() async throws {
        let transport = mock(firstStatus: .serviceUnavailable) { [server, serverA, serverB] in
            try server.change(to: serverB)
            try server.change(to: serverA)
        }
        let network = transport.authenticated(with: BearerCredentials(token: "secret"))
            .modified(Twice())
            .server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(HTTPRequestData(path: "me"))

        let authorizations = transport.requests.map { $0.headerFields[.authorization] }
        #expect(authorizations == ["Bearer secret", nil, "Bearer secret", "Bearer secret"])
    }

    @Test func tokenThatArrivesAfterAChangeIsNotSent() async throws {
        let network =
            transport
            .authenticated(withBearer: { [server, serverB] in
                try server.change(to: serverB)
                return "token-b"
            })
            .server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me"))

        #expect(transport.requests.map(\.authority) == ["a.example"])
        #expect(authorizations() == [nil])
    }

    @Test func fieldThatIsSetAfterAChangeIsNotSent() async throws {
        let network =
            transport
            .server(mutateRequest: { [server, serverB] request in
                try? server.change(to: serverB)
                request.headerFields[.authorization] = "Bearer token-b"
            })
            .server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me"))

        #expect(transport.requests.map(\.authority) == ["a.example"])
        #expect(authorizations() == [nil])
    }

    @Test func refusalByTheFormerServerDoesNotRenewTheToken() async throws {
        let fetched = Locked(0)
        let transport = mock(firstStatus: .unauthorized) { [server, serverB] in
            try server.change(to: serverB)
        }
        let network =
            transport
            .authenticated(withBearer: {
                fetched.withLock { $0 += 1 }
                return "token"
            })
            .server(baseURL: server)

        #expect(try await network.data(HTTPRequestData(path: "me")).status == .unauthorized)

        #expect(transport.requests.count == 1)
        #expect(fetched.value == 1)
    }

    @Test func anotherPathOfTheServerKeepsTheToken() async throws {
        let other = try #require(URL(string: "https://A.example/v3"))
        let transport = mock(firstStatus: .serviceUnavailable) { [server] in try server.change(to: other) }
        let network = transport.authenticated(with: BearerCredentials(token: "secret"))
            .retry()
            .environment(\.clock, .immediate())
            .server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me"))

        #expect(transport.requests.map(\.path) == ["/v1/me", "/v1/me"])
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] == "Bearer secret" })
    }

    @Test func changeOfAServerAffectsTheCredentialsNextToIt() async throws {
        let transport = mock(firstStatus: .serviceUnavailable) { [server, serverB] in
            try server.change(to: serverB)
        }
        let network = transport.authenticated(with: BearerCredentials(token: "secret"))
            .server(authority: "a.example")
            .retry()
            .environment(\.clock, .immediate())
            .server(baseURL: server)

        try await network.data(HTTPRequestData(path: "me"))

        // The token belongs to the fixed server, which the change does not concern.
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer secret", "Bearer secret"])
    }

    @Test func diagnosticsReportASecondServer() {
        let network = transport.authenticated(with: BearerCredentials(token: "secret")).server(baseURL: server)
        #expect(network.diagnostics.isEmpty)
        #expect(network.server(authority: "b.example").diagnostics.count == 1)
    }

    // MARK: Invalid URLs

    @Test(
        arguments: [
            "users", "/users", "//a.example/v1", "https:///v1", "ftp://a.example", "file:///tmp/a",
            "mailto:a@b.example",
            "https://user:t0ps3cret@a.example",
        ]
    )
    func refusesAURLThatIsNoBaseURL(text: String) throws {
        let url = try #require(URL(string: text))

        let error = try #require(#expect(throws: NetworkingError.self) { try server.change(to: url) })

        #expect(error.kind == .invalidRequest)
        #expect(!everyPrint(of: error).contains("t0ps3cret"))
        #expect(server.baseURL == serverA)
    }

    @Test func descriptionHasNoQuery() throws {
        let server = SwitchableServer(try #require(URL(string: "https://a.example/v1?key=t0ps3cret#top")))

        #expect("\(server)" == "https://a.example/v1")
        #expect(!everyPrint(of: server).contains("t0ps3cret"))
        let outline = transport.server(baseURL: server).outline
        #expect(outline == "server(baseURL: \"https://a.example/v1\", switchable)\nMockTransport")
    }

    @Test func changeThrowsATypedError() throws {
        let url = try #require(URL(string: "ftp://a.example"))
        do {
            try server.change(to: url)
            Issue.record("The server has changed.")
        } catch {
            // The type of the error is known without a cast.
            #expect(error.kind == .invalidRequest)
        }
    }
}
