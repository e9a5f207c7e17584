#if TestServer && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif
#if Crypto
import Crypto
import NetworkingSigning
#endif

extension Loopback {
    /// Separation of users' connections.
    ///
    /// libcurl takes any bytes on a kept connection for a response (L37), and over
    /// AsyncHTTPClient, bytes that arrive after the next request was written look like its response.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct ConnectionReuseTests {
        /// A response, followed by a second one that no request asked for.
        private static let twoResponses = TestResponse.raw(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst",
            .delay(.milliseconds(2)),
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret",
            .keepAlive
        )

        private static func request(_ path: String, token: String? = nil) -> HTTPRequestData {
            var request = HTTPRequestData(path: path)
            if let token {
                request.setCredential("Bearer \(token)", for: .authorization)
            }
            return request
        }

        /// Sends a request that gets two responses, then another request, and returns the bodies of the second
        /// request's responses.
        private func bodies(
            over transport: some NetworkingComponent,
            first: String?,
            second: String?
        ) async throws -> Set<String> {
            try await withTestServer { server in
                server.route("/two") { _ in Self.twoResponses }
                server.route("/one") { _ in .text("own") }
                let network = transport.server(baseURL: server.url)
                var bodies: Set<String> = []
                for _ in 0..<20 {
                    // An unexpected response on the connection may make the first request fail.
                    _ = try? await network.data(Self.request("two", token: first))
                    let response = try await network.data(Self.request("one", token: second))
                    bodies.insert(String(decoding: response.data, as: UTF8.self))
                }
                return bodies
            }
        }

        @Test(arguments: [("emily", "emil"), ("emily", nil), (nil, "emil")] as [(String?, String?)])
        func anotherUserNeverGetsTheExtraResponse(first: String?, second: String?) async throws {
            let transport = URLSessionTransport(configuration: .ephemeral)
            #expect(try await bodies(over: transport, first: first, second: second) == ["own"])
        }

        #if AsyncHTTPClient
        @Test(arguments: [("emily", "emil"), ("emily", nil), (nil, "emil")] as [(String?, String?)])
        func anotherUserNeverGetsTheExtraResponseOverAsyncHTTPClient(first: String?, second: String?) async throws {
            let transport = AsyncHTTPClientTransport()
            #expect(try await bodies(over: transport, first: first, second: second) == ["own"])
            try await transport.shutdown()
        }

        @Test func noRequestGetsTheExtraResponseOfAsyncHTTPClientWithoutReuse() async throws {
            let transport = AsyncHTTPClientTransport(connectionReuse: .never)
            #expect(try await bodies(over: transport, first: nil, second: nil) == ["own"])
            try await transport.shutdown()
        }
        #endif

        @Test func anotherUserOfASessionNeverGetsTheExtraResponse() async throws {
            let session = URLSession(configuration: .ephemeral)
            #expect(try await bodies(over: session, first: "emily", second: "emil") == ["own"])
        }

        @Test func noRequestGetsTheExtraResponseWithoutReuse() async throws {
            let transport = URLSessionTransport(configuration: .ephemeral, connectionReuse: .never)
            #expect(try await bodies(over: transport, first: nil, second: nil) == ["own"])
        }

        /// A user keeps one connection, and without restrictions one connection serves every user.
        @Test(arguments: [(false, 3), (true, 1)])
        func connectionsAreKeptForTheirUsers(isUnrestricted: Bool, connections: Int) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = URLSessionTransport(
                    configuration: .ephemeral,
                    connectionReuse: isUnrestricted ? .always : .standard
                )
                let network = transport.server(baseURL: server.url)
                for token in ["emily", "emil", nil, "emily", "emil", nil] {
                    try await network.data(Self.request("/", token: token))
                }
                #expect(server.acceptedConnections == connections)
            }
        }

        /// A token that differs in each request must not open a connection for each of them.
        private func connectionsOfRenewedTokens(over transport: some NetworkingComponent) async throws -> Int {
            try await withTestServer { server in
                let tokens = SingleUseTokens()
                server.route("/") { request in
                    tokens.use(request.headerFields[.authorization] ?? "") ? .ok : .status(.unauthorized)
                }
                let network = transport.authenticated(withBearer: { tokens.issue() }).server(baseURL: server.url)
                for _ in 0..<20 {
                    let response = try await network.data(.get("/"))
                    #expect(response.status == .ok)
                }
                #expect(tokens.count == 20)
                return server.acceptedConnections
            }
        }

        @Test func renewedTokenKeepsTheConnection() async throws {
            #expect(try await connectionsOfRenewedTokens(over: URLSessionTransport(configuration: .ephemeral)) == 1)
        }

        #if AsyncHTTPClient
        @Test func renewedTokenKeepsTheConnectionOfAsyncHTTPClient() async throws {
            let transport = AsyncHTTPClientTransport()
            #expect(try await connectionsOfRenewedTokens(over: transport) == 1)
            try await transport.shutdown()
        }

        @Test(arguments: [(ConnectionReuse.sameCredentials, 3), (.always, 1), (.never, 6)])
        func connectionsOfAsyncHTTPClientAreKeptForTheirUsers(reuse: ConnectionReuse, connections: Int) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = AsyncHTTPClientTransport(connectionReuse: reuse)
                let network = transport.server(baseURL: server.url)
                for token in ["emily", "emil", nil, "emily", "emil", nil] {
                    try await network.data(Self.request("/", token: token))
                }
                #expect(server.acceptedConnections == connections)
                try await transport.shutdown()
                try await server.waitForOpenConnections(0)
            }
        }

        @Test func clientsOfInactiveUsersAreClosed() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = AsyncHTTPClientTransport()
                let network = transport.server(baseURL: server.url)
                for user in 0..<80 {
                    try await network.data(Self.request("/", token: "user-\(user)"))
                }
                try await server.waitForOpenConnections(64)
                try await transport.shutdown()
            }
        }
        #endif

        @Test func noConnectionIsKeptWithoutReuse() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = URLSessionTransport(configuration: .ephemeral, connectionReuse: .never)
                let network = transport.server(baseURL: server.url)
                for _ in 0..<3 {
                    try await network.data(Self.request("/"))
                }
                #expect(server.acceptedConnections == 3)
                try await server.waitForOpenConnections(0)
            }
        }

        // MARK: Repetitions by libcurl

        /// Sends a request on a kept connection, which the server resets.
        private func requestsAfterAReset(
            _ request: HTTPRequestData
        ) async throws -> (kind: NetworkingError.Kind?, count: Int) {
            try await withTestServer { server in
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                server.enqueue(.text("first"), .raw(.reset), .text("again"))
                try await network.data(Self.request("/"))
                do {
                    try await network.data(request)
                    return (nil, server.requests.count - 1)
                } catch let error as NetworkingError {
                    return (error.kind, server.requests.count - 1)
                }
            }
        }

        @Test func requestThatMustNotBeRepeatedIsSentOnceAfterAReset() async throws {
            let post = try await requestsAfterAReset(HTTPRequestData(method: .post, path: "/"))
            #expect(post.kind == .connectionLost)
            #expect(post.count == 1)
            let get = try await requestsAfterAReset(Self.request("/").with { $0.retryPolicy = .never })
            #expect(get.kind == .connectionLost)
            #expect(get.count == 1)
        }

        /// Shows that libcurl repeats requests that may be repeated.
        ///
        /// Otherwise the previous test would prove nothing.
        @Test func requestThatMayBeRepeatedIsSentTwiceAfterAReset() async throws {
            let get = try await requestsAfterAReset(Self.request("/"))
            #expect(get.kind == nil)
            #expect(get.count == 2)
        }

        @Test func repeatedBodyIsReportedAsAnAttempt() async throws {
            let events = EventRecorder()
            var put = HTTPRequestData(method: .put, path: "/", body: .data(Data("body".utf8)))
            put.addObserver(events)
            let outcome = try await requestsAfterAReset(put)
            #expect(outcome.kind == nil)
            #expect(
                events.names.filter { $0.hasPrefix("exchange") } == [
                    "exchangeStarted", "exchangeFailed", "exchangeStarted", "exchangeEnded",
                ]
            )
        }

        @Test func closesTheConnectionsOfInactiveUsers() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                for user in 0..<80 {
                    try await network.data(Self.request("/", token: "user-\(user)"))
                }
                try await server.waitForOpenConnections(64)
                try await network.data(Self.request("/", token: "user-79"))
                #expect(server.acceptedConnections == 80)
            }
        }

        @Test func everyConcurrentUserGetsTheirOwnResponse() async throws {
            try await withTestServer { server in
                server.route("/") { request in .text(request.headerFields[.authorization] ?? "") }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for call in 0..<400 {
                        group.addTask {
                            let response = try await network.data(Self.request("/", token: "user-\(call % 100)"))
                            #expect(String(decoding: response.data, as: UTF8.self) == "Bearer user-\(call % 100)")
                        }
                    }
                    try await group.waitForAll()
                }
                // Each user had up to four requests at the same time.
                try await server.waitForOpenConnections(64)
            }
        }

        /// The session of a cancelled exchange is invalidated while its task is still ending.
        @Test(arguments: [URLSessionTransport.ConnectionReuse.never, .sameCredentials])
        func cancelledRequestsLeaveNoConnection(reuse: URLSessionTransport.ConnectionReuse) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .raw(.stall) }
                do {
                    let transport = URLSessionTransport(configuration: .ephemeral, connectionReuse: reuse)
                    let network = transport.server(baseURL: server.url)
                    for round in 0..<100 {
                        let call = Task { try await network.data(Self.request("/", token: "user-\(round)")) }
                        for _ in 0..<(round * 20) {
                            await Task.yield()
                        }
                        call.cancel()
                        let result = await call.result
                        #expect(throws: CancellationError.self) { try result.get() }
                    }
                }
                try await server.waitForOpenConnections(0)
            }
        }

        #if Crypto
        /// The signatures differ, but all belong to one user.
        @Test func oneSignerKeepsOneConnection() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let transport = URLSessionTransport(configuration: .ephemeral)
                let key = SymmetricKey(data: Data("secret".utf8))
                for keyID in ["emily", "emil"] {
                    let signer = HMACSigner(
                        keyID: keyID,
                        key: key,
                        signing: [.target],
                        into: .authorization("HMAC-SHA256") { "keyId=\"\($0.keyID)\", signature=\"\($0.base64)\"" }
                    )
                    let network = transport.signed(with: signer).server(baseURL: server.url)
                    for page in 1...3 {
                        var request = HTTPRequestData(path: "/")
                        request.query["page"] = "\(page)"
                        try await network.data(request)
                    }
                }
                #expect(Set(server.requests.map { $0.headerFields[.authorization] }).count == 6)
                #expect(server.acceptedConnections == 2)
            }
        }
        #endif
    }
}

/// Tokens that are valid for one request each.
private final class SingleUseTokens: Sendable {
    private let state = Mutex<(issued: Int, used: Set<String>)>((0, []))

    /// The number of tokens that were used.
    var count: Int {
        state.withLock { $0.used.count }
    }

    func issue() -> String {
        state.withLock { state in
            state.issued += 1
            return "token-\(state.issued)"
        }
    }

    /// Returns whether the token was not used before.
    func use(_ token: String) -> Bool {
        state.withLock { $0.used.insert(token).inserted }
    }
}
#endif
