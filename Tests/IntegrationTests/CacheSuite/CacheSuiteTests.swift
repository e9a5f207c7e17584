import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

#if SQLite
import NetworkingSQLite
#endif

#if TestServer
import NetworkingTestServer
#endif

#if Valkey && Crypto
import Crypto
import NetworkingValkey
#endif

/// The public cache tests, with an origin in process and over sockets, on a clock that the tests control.
@Suite(.timeLimit(.minutes(20)))
struct CacheSuiteTests {
    /// An origin in process.
    ///
    /// All its responses reach the cache, including responses that a transport would drop.
    private struct Origin: NetworkingComponent {
        let run: CacheTestRun

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            guard let reply = run.reply(to: request.method, request.headerFields.httpFields) else {
                throw NetworkingError(.connectionLost, request: request)
            }
            for interim in reply.interim {
                let status = HTTPResponse.Status(code: interim.status)
                request.emit(ExchangeEvent.headReceived(HTTPResponse(status: status, headerFields: interim.fields)))
            }
            let response = MockResponse(
                status: HTTPResponse.Status(code: reply.status),
                data: reply.body,
                headerFields: reply.fields
            )
            return try await MockTransport { _ in response }.send(request)
        }
    }

    private static func inProcess(_ run: CacheTestRun) async throws {
        try await run.play(over: Origin(run: run))
    }

    @Test(.requires(.cacheTests)) func failuresOfAPrivateCacheAreKnown() async throws {
        let outcomes = try await CacheSuite.play(CacheSuite.libraryProfile, named: "private") {
            try await Self.inProcess(CacheTestRun($0))
        }
        outcomes.expect(.privateCache)
    }

    @Test(.requires(.cacheTests)) func failuresOfASharedCacheAreKnown() async throws {
        let outcomes = try await CacheSuite.play(CacheSuite.all, named: "shared") {
            try await Self.inProcess(CacheTestRun($0, isShared: true))
        }
        outcomes.expect(.sharedCache)
    }

    #if SQLite
    @Test(.requires(.cacheTests)) func failuresOverSQLiteAreKnown() async throws {
        try await withTemporaryDirectory { directory in
            let store = SQLiteCacheStore(file: directory.appending(path: "cache"))
            let outcomes = try await CacheSuite.play(CacheSuite.libraryProfile, named: "sqlite") {
                try await Self.inProcess(CacheTestRun($0, store: store))
            }
            outcomes.expect(.privateCache)
        }
    }
    #endif

    #if Valkey && Crypto && (os(Linux) || os(macOS))
    @Test(.requires(.cacheTests), .requires(.valkey)) func failuresOverValkeyAreKnown() async throws {
        try await withValkeyServer { server in
            let client = ValkeyClient(
                .host("127.0.0.1", port: server.port),
                configuration: ValkeyConfiguration(timeout: .seconds(10), connectTimeout: .seconds(10))
            )
            let key = SymmetricKey(data: Array(repeating: 1, count: 32))
            let store = ValkeyCacheStore(client, namespace: "suite", key: key, timeout: .seconds(10))
            let outcomes = try await CacheSuite.play(CacheSuite.libraryProfile, named: "valkey") {
                try await Self.inProcess(CacheTestRun($0, store: store))
            }
            outcomes.expect(.privateCache)
            await client.shutdown()
        }
    }
    #endif
}

#if TestServer && URLSession
extension Loopback {
    @Suite(.timeLimit(.minutes(20)))
    struct CacheSuiteTests {
        private static func overSockets(
            _ name: String,
            _ transport: some NetworkingComponent,
            reportsInterim: Bool
        ) async throws -> CacheSuite.Outcomes {
            try await withTestServer { server in
                try await CacheSuite.play(CacheSuite.libraryProfile, named: name) { test in
                    let run = CacheTestRun(
                        test,
                        scheme: "http",
                        authority: server.authority,
                        reportsInterim: reportsInterim
                    )
                    for path in ["/test/\(run.token)", "/test/\(run.token)/*"] {
                        server.route(path) { request in
                            run.reply(to: request.method, request.headerFields)?.onTheWire
                                ?? TestResponse(body: .hangUp)
                        }
                    }
                    try await run.play(over: transport)
                }
            }
        }

        @Test(.requires(.cacheTests)) func failuresOverURLSessionAreKnown() async throws {
            let transport = URLSessionTransport(configuration: .ephemeral)
            let outcomes = try await Self.overSockets("urlsession", transport, reportsInterim: true)
            outcomes.expect(.urlSession)
        }

        #if AsyncHTTPClient
        @Test(.requires(.cacheTests)) func failuresOverAsyncHTTPClientAreKnown() async throws {
            let transport = AsyncHTTPClientTransport()
            let outcomes = try await Self.overSockets("asynchttpclient", transport, reportsInterim: false)
            try await transport.shutdown()
            outcomes.expect(.asyncHTTPClient)
        }
        #endif

        /// AsyncHTTPClient drops interim responses, so over that transport these tests check the final responses only.
        @Test(.requires(.cacheTests)) func testsOfInterimResponsesAreKnown() throws {
            let ids = try CacheSuite.libraryProfile.filter(\.expectsInterim).map(\.id)
            #expect(Set(ids) == ["interim-102", "interim-no-header-reuse", "interim-not-cached"])
        }
    }
}

extension CacheTestRun.Reply {
    /// The reply, framed by the server, or as raw bytes if there are interim responses.
    fileprivate var onTheWire: TestResponse {
        var fields = fields
        if fields[.contentLength] != "\(body.count)", self.status != 304 {
            fields[.contentLength] = nil
        }
        fields[.transferEncoding] = nil
        // Without this, the server sends a length of zero.
        if let headLength { fields[.contentLength] = "\(headLength)" }
        let status = HTTPResponse.Status(code: status)
        guard !interim.isEmpty else { return TestResponse(status: status, headerFields: fields, body: .data(body)) }
        func head(_ status: Int, _ fields: HTTPFields) -> String {
            "HTTP/1.1 \(status) -\r\n" + fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined() + "\r\n"
        }
        fields[.contentLength] = "\(body.count)"
        let heads = interim.map { head($0.status, $0.fields) }.joined() + head(self.status, fields)
        return .raw(.bytes(Data(heads.utf8) + body))
    }
}
#endif
