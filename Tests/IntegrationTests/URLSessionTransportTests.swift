#if TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import Testing

/// What the URLSession transport does on real sockets, as a component and with a session of its own.
@Suite(.timeLimit(.minutes(3)))
struct URLSessionTransportTests {
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case sharedSession
        case ownSession

        var transport: any NetworkingComponent {
            switch self {
            case .sharedSession: URLSession.shared
            case .ownSession: URLSessionTransport(configuration: .ephemeral)
            }
        }

        var testDescription: String {
            rawValue
        }
    }

    // MARK: Messages

    @Test(arguments: Kind.allCases)
    func bringsTheResponse(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/hello") { _ in
                TestResponse(
                    headerFields: [.contentType: "text/plain", .eTag: "\"1\""],
                    body: .data(Data("Hello".utf8))
                )
            }
            let network = kind.transport.server(baseURL: server.url)
            let response = try await network.data(HTTPRequestData(path: "hello"))
            #expect(response.status == .ok)
            #expect(response.status.reasonPhrase == "OK")
            #expect(response.headerFields[.eTag] == "\"1\"")
            #expect(response.data == Data("Hello".utf8))
            #expect(response.url == server.url.appending(path: "hello"))
        }
    }

    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], Kind.allCases)
    func sendsTheMethodAsItIs(method: String, kind: Kind) async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            let network = kind.transport.server(baseURL: server.url)
            let method = try #require(HTTPRequest.Method(method))
            try await network.data(HTTPRequestData(method: method))
            #expect(server.requests.map(\.method) == [method])
        }
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"], Kind.allCases)
    func sendsTheBody(method: String, kind: Kind) async throws {
        try await withTestServer { server in
            server.route("/") { request in .text("\(request.body.count)") }
            let network = kind.transport.server(baseURL: server.url)
            let request = HTTPRequestData(
                method: try #require(HTTPRequest.Method(method)),
                body: .json(["name": "Emily"])
            )
            let response = try await network.data(request)
            #expect(response.data == Data("16".utf8))
            #expect(server.requests.map(\.body) == [Data("{\"name\":\"Emily\"}".utf8)])
            #expect(server.requests.map { $0.headerFields[.contentType] } == ["application/json"])
        }
    }

    @Test(arguments: [
        "/a//b/", "/users/?", "/?a&b=&b=2&&", "/caf%C3%A9?q=a+b%20c", "/x?redirect=https://y/", "/a%2Fb;v=1",
        "/~user!$'()*",
    ])
    func sendsTheTargetAsItWasGiven(target: String) async throws {
        try await withTestServer { server in
            server.route("/*") { _ in .ok }
            let network = URLSession.shared.server(baseURL: server.url)
            try await network.data(HTTPRequestData(path: target))
            let arrived = try #require(server.requests.first)
            #expect(arrived.path + (arrived.query.map { "?\($0)" } ?? "") == target)
        }
    }

    @Test(arguments: Kind.allCases)
    func sendsHeaderFields(kind: Kind) async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            let network = kind.transport.server(userAgent: "Shop/2.1").server(baseURL: server.url)
            var request = HTTPRequestData(headerFields: [.accept: "text/plain", .cacheControl: "no-cache"])
            request.headerFields[.acceptLanguage] = "de"
            try await network.data(request)
            let fields = try #require(server.requests.first).headerFields
            #expect(fields[.accept] == "text/plain")
            #expect(fields[.cacheControl] == "no-cache")
            #expect(fields[.acceptLanguage] == "de")
            #expect(fields[.userAgent] == "Shop/2.1")
        }
    }

    @Test(arguments: [200, 201, 204, 206, 299, 304, 400, 404, 418, 429, 500, 503, 599], Kind.allCases)
    func bringsEveryStatus(code: Int, kind: Kind) async throws {
        try await withTestServer { server in
            server.enqueue(.status(HTTPResponse.Status(code: code)))
            let network = kind.transport.server(baseURL: server.url)
            let response = try await network.data(HTTPRequestData())
            #expect(response.status.code == code)
            #expect(response.data.isEmpty)
        }
    }

    /// Without a delegate this waits for ever on Linux.
    @Test(
        arguments: ["Basic realm=\"users\"", "Bearer", "Digest realm=\"x\", nonce=\"y\"", "Bearer, Basic realm=\"x\""],
        Kind.allCases
    )
    func bringsUnauthorizedWithItsBody(challenge: String, kind: Kind) async throws {
        try await withTestServer { server in
            server.route("/") { _ in
                TestResponse(
                    status: .unauthorized,
                    headerFields: [.wwwAuthenticate: challenge],
                    body: .data(Data("who are you?".utf8))
                )
            }
            let network = kind.transport.timeout(.seconds(60)).server(baseURL: server.url)
            for _ in 1...3 {
                let response = try await network.data(HTTPRequestData())
                #expect(response.status == .unauthorized)
                #expect(response.headerFields[.wwwAuthenticate] == challenge)
                #expect(response.data == Data("who are you?".utf8))
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func bringsLargeBodies(kind: Kind) async throws {
        let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await withTestServer { server in
            server.route(.get, "/sized") { _ in TestResponse(body: .data(body)) }
            server.route(.get, "/chunked") { _ in
                TestResponse(
                    body: .chunks([
                        .init(body.prefix(10)), .init(body.dropFirst(10).prefix(1_000_000)),
                        .init(body.dropFirst(1_000_010)),
                    ])
                )
            }
            let network = kind.transport.server(baseURL: server.url)
            let sized = try await network.data(HTTPRequestData(path: "sized"))
            let chunked = try await network.data(HTTPRequestData(path: "chunked"))
            #expect(sized.data == body)
            #expect(chunked.data == body)
        }
    }

    @Test(arguments: Kind.allCases)
    func bringsBackWhatWasSent(kind: Kind) async throws {
        let body = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try await withTestServer { server in
            server.route(.post, "/echo") { request in TestResponse(body: .data(request.body)) }
            let network = kind.transport.server(baseURL: server.url)
            let response = try await network.data(HTTPRequestData(method: .post, path: "echo", body: .data(body)))
            #expect(response.data == body)
        }
    }

    // MARK: Redirects

    @Test(arguments: [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")], Kind.allCases)
    func followsRedirects(of status: (code: Int, method: String), kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.post, "/old") { _ in .redirect(to: "/new", status: HTTPResponse.Status(code: status.code)) }
            server.route("/new") { request in .text("\(request.method) \(request.body.count)") }
            let network = kind.transport.server(baseURL: server.url)
            let response = try await network.data(
                HTTPRequestData(method: .post, path: "old", body: .data(Data("body".utf8)))
            )
            #expect(response.data == Data((status.method == "POST" ? "POST 4" : "GET 0").utf8))
            #expect(response.redirects.map(\.response.status.code) == [status.code])
            #expect(response.url?.path() == "/new")
        }
    }

    @Test(arguments: Kind.allCases)
    func keepsCredentialsFromAnotherOrigin(kind: Kind) async throws {
        try await withTestServer { server in
            let elsewhere = "http://localhost:\(server.port)/elsewhere"
            server.route(.get, "/start") { _ in .redirect(to: elsewhere) }
            server.route(.get, "/elsewhere") { _ in .redirect(to: "\(server.url)/back") }
            server.route(.get, "/back") { _ in .ok }
            let network = kind.transport.server(baseURL: server.url)
            var request = HTTPRequestData(path: "start")
            request.headerFields[.authorization] = "Bearer token-1"
            request.headerFields[.cookie] = "session=1"
            let response = try await network.data(request)
            #expect(response.redirects.count == 2)
            #expect(server.requests.map { $0.headerFields[.authorization] } == ["Bearer token-1", nil, nil])
            #expect(server.requests.map { $0.headerFields[.cookie] } == ["session=1", nil, nil])
        }
    }

    @Test(arguments: Kind.allCases)
    func returnsARedirectThatIsNotToBeFollowed(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/old") { _ in .redirect(to: "/new") }
            let network = kind.transport.server(baseURL: server.url)
            var request = HTTPRequestData(path: "old")
            request.redirects = .never
            let response = try await network.data(request)
            #expect(response.status == .found)
            #expect(response.headerFields[.location] == "/new")
            #expect(server.requests.count == 1)
        }
    }

    @Test func keepsTheCookiesOfItsConfiguration() async throws {
        try await withTestServer { server in
            server.route(.get, "/login") { _ in
                TestResponse(
                    status: .found,
                    headerFields: [
                        .location: "/home", .setCookie: "id=1; Path=/; Expires=Wed, 09 Jun 2100 10:18:14 GMT",
                    ]
                )
            }
            server.route(.get, "/home") { _ in .ok }
            let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
            try await network.data(HTTPRequestData(path: "login"))
            try await network.data(HTTPRequestData(path: "home", headerFields: [.cookie: "own=2"]))
            try await network.data(HTTPRequestData(path: "home"))
            #expect(server.requests.map { $0.headerFields[.cookie] } == [nil, "id=1", "own=2", "id=1"])
        }
    }

    @Test func keepsNoCookiesWhereItsConfigurationSaysSo() async throws {
        try await withTestServer { server in
            server.route(.get, "/") { _ in TestResponse(headerFields: [.setCookie: "id=1; Path=/"]) }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieAcceptPolicy = .never
            let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
            try await network.data(HTTPRequestData())
            try await network.data(HTTPRequestData())
            #expect(server.requests.map { $0.headerFields[.cookie] } == [nil, nil])
        }
    }

    // MARK: Failures

    @Test(arguments: Kind.allCases)
    func refusesBodiesOverTheLimit(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/sized") { _ in TestResponse(body: .data(Data(count: 100_000))) }
            server.route(.get, "/chunked") { _ in TestResponse(body: .chunks([.init(Data(count: 100_000))])) }
            let network = kind.transport.server(baseURL: server.url)
            for path in ["sized", "chunked"] {
                let tight = network.server(mutate: \.maximumResponseBytes) { _ in 99_999 }
                let error = await #expect(throws: NetworkingError.self) {
                    try await tight.data(HTTPRequestData(path: path))
                }
                #expect(error?.kind == .tooLarge)
                let roomy = network.server(mutate: \.maximumResponseBytes) { _ in 100_000 }
                let response = try await roomy.data(HTTPRequestData(path: path))
                #expect(response.data.count == 100_000)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func tellsOfATruncatedBody(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/") { _ in
                TestResponse(headerFields: [.contentLength: "100"], body: .data(Data("only these".utf8)))
            }
            let network = kind.transport.server(baseURL: server.url)
            let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
            #expect(error?.kind == .truncated)
            #expect(error?.response?.status == .ok)
            #expect(error?.reason.contains("10 of 100") == true)
        }
    }

    @Test(arguments: Kind.allCases)
    func tellsWhenNobodyListens(kind: Kind) async throws {
        // Port 1 is reserved and has no server.
        let network = kind.transport.server(baseURL: try #require(URL(string: "http://127.0.0.1:1")))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "x")) }
        #expect(error?.kind == .connection)
        #expect(error?.underlying is URLError)
        #expect(error?.request.url == URL(string: "http://127.0.0.1:1/x"))
    }

    @Test(arguments: Kind.allCases)
    func tellsWhenTheServerHangsUp(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/") { _ in .hangUp }
            let network = kind.transport.server(baseURL: server.url)
            let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
            #expect(error?.kind == .invalidResponse || error?.kind == .connectionLost)
        }
    }

    #if canImport(FoundationNetworking)
    @Test func refusesASessionWithADelegateOfItsOwn() async throws {
        final class Delegate: NSObject, URLSessionDelegate {}
        let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let network = session.server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("URLSessionTransport") == true)
    }
    #endif

    // MARK: Cancellation and time

    @Test(arguments: Kind.allCases)
    func aCancelledCallerLeavesAtOnceAndTheServerSeesItGo(kind: Kind) async throws {
        try await withTestServer { server in
            let handlerWasCancelled = Gate()
            let gate = Gate()
            server.route(.get, "/held") { _ in
                do {
                    try await gate.wait()
                } catch {
                    handlerWasCancelled.open()
                    throw error
                }
                return .ok
            }
            let network = kind.transport.server(baseURL: server.url)
            let call = Task { try await network.data(HTTPRequestData(path: "held")) }
            _ = try await server.waitForRequests(1)
            call.cancel()
            let result = await call.result
            #expect(throws: CancellationError.self) { try result.get() }
            try await handlerWasCancelled.wait()
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: Kind.allCases)
    func aCallerThatIsCancelledInTheBodyLeavesAtOnce(kind: Kind) async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.route(.get, "/slow") { _ in TestResponse(body: .sized(["first", .init("second", gate: gate)])) }
            let network = kind.transport.server(baseURL: server.url)
            let began = Gate()
            let call = Task {
                try await network.data(HTTPRequestData(path: "slow")) { progress in
                    if progress.received.count > 0 {
                        began.open()
                    }
                }
            }
            try await began.wait()
            call.cancel()
            let result = await call.result
            #expect(throws: CancellationError.self) { try result.get() }
            gate.open()
        }
    }

    @Test(arguments: Kind.allCases)
    func aTimeoutEndsTheTransfer(kind: Kind) async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.route(.get, "/held") { _ in
                try await gate.wait()
                return .ok
            }
            let clock = ManualClock()
            let network = kind.transport.timeout(.seconds(10)).server(baseURL: server.url)
                .environment(\.clock, .manual(clock))
            let call = Task { try await network.data(HTTPRequestData(path: "held")) }
            _ = try await server.waitForRequests(1)
            clock.advance(by: .seconds(10))
            let result = await call.result
            let error = #expect(throws: NetworkingError.self) { try result.get() }
            #expect(error?.kind == .timeout)
        }
    }

    @Test(arguments: Kind.allCases)
    func manyRequestsAtOnceAllFinish(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/users/:id") { request in .text(request.parameters["id"] ?? "") }
            let network = kind.transport.server(baseURL: server.url)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for id in 0..<200 {
                    group.addTask {
                        try await network.data(HTTPRequestData(path: "users/\(id)")).data == Data("\(id)".utf8)
                    }
                }
                for try await isRight in group {
                    #expect(isRight)
                }
            }
            #expect(server.requests.count == 200)
        }
    }

    // MARK: Progress and sinks

    @Test(arguments: Kind.allCases)
    func progressGoesFromNothingToEverything(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.post, "/echo") { request in TestResponse(body: .data(request.body)) }
            let network = kind.transport.server(baseURL: server.url)
            let heard = Mutex<[TransferProgress]>([])
            let body = Data(count: 500_000)
            try await network.data(HTTPRequestData(method: .post, path: "echo", body: .data(body))) { progress in
                heard.withLock { $0.append(progress) }
            }
            let progress = heard.withLock { $0 }
            let received = progress.map(\.received.count)
            let sent = progress.map(\.sent.count)
            #expect(received == received.sorted())
            #expect(sent == sent.sorted())
            #expect(progress.last?.received == BytesReceived(count: 500_000, expected: 500_000))
            #expect(progress.last?.sent.count == 500_000)
            #expect(progress.last?.received.fractionCompleted == 1)
        }
    }

    @Test(arguments: Kind.allCases)
    func aSinkGetsTheBodyInChunks(kind: Kind) async throws {
        let body = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
        try await withTestServer { server in
            server.route(.get, "/") { _ in TestResponse(body: .data(body)) }
            let network = kind.transport.server(baseURL: server.url)
            let sink = CollectingSink()
            var request = HTTPRequestData()
            request.sink = sink
            request.maximumResponseBytes = 10
            let response = try await network.data(request)
            #expect(response.body == .delivered(byteCount: 2_000_000))
            #expect(sink.data == body)
            #expect(sink.finished == 1)
            #expect(sink.heads.map(\.status) == [.ok])
        }
    }

    @Test(arguments: Kind.allCases)
    func aSinkNeverGetsAnErrorPageOrARedirect(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/old") { _ in
                TestResponse(status: .found, headerFields: [.location: "/gone"], body: .data(Data("moved".utf8)))
            }
            server.route(.get, "/gone") { _ in .text("not here", status: .notFound) }
            let network = kind.transport.server(baseURL: server.url)
            let sink = CollectingSink()
            var request = HTTPRequestData(path: "old")
            request.sink = sink
            let response = try await network.data(request)
            #expect(response.status == .notFound)
            #expect(response.data == Data("not here".utf8))
            #expect(sink.heads.map(\.status) == [.notFound])
            #expect(sink.chunks.isEmpty)
        }
    }

    @Test(arguments: Kind.allCases)
    func aSinkThatFailsEndsTheTransfer(kind: Kind) async throws {
        struct Full: Error {}
        final class FullSink: ResponseSink {
            func receive(_ chunk: Data) async throws {
                throw Full()
            }
        }
        try await withTestServer { server in
            let gate = Gate()
            server.route(.get, "/") { _ in TestResponse(body: .sized(["first", .init("second", gate: gate)])) }
            let network = kind.transport.server(baseURL: server.url)
            let filling = network.server(mutateRequest: { $0.sink = FullSink() })
            await #expect(throws: Full.self) { try await filling.data(HTTPRequestData()) }
            gate.open()
        }
    }

    @Test(arguments: Kind.allCases)
    func keepsTheLaws(kind: Kind) async throws {
        try await withTestServer { server in
            server.route(.get, "/") { _ in .ok }
            let network = kind.transport.server(baseURL: server.url)
            let request = HTTPRequestData()
            let response = try await network.data(request)
            #expect(response.request == request)
            #expect(response.sentRequest.url == server.url.appending(path: "/"))
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await network.data(request)
            }
            let result = await cancelled.result
            #expect(throws: CancellationError.self) { try result.get() }
            #expect(server.requests.count == 1)
        }
    }
}
#endif
