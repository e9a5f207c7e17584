import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

#if TestServer
import NetworkingTestServer
#endif

/// The public cache tests, with an origin in process and over sockets, on a clock that stands still.
@Suite(.timeLimit(.minutes(5)))
struct CacheSuiteTests {
    private static let isThere = ConditionTrait.enabled(
        if: FileManager.default.fileExists(atPath: CacheSuite.file.path),
        "NETWORKING_VECTORS names the folder with cache-tests.json"
    )

    /// Whatever the origin sends reaches the cache.
    private static func inProcess(_ run: CacheTestRun) async throws {
        let origin = MockTransport { request in
            guard let reply = run.reply(to: request.method, request.headerFields.httpFields) else {
                throw NetworkingError(.connectionLost, request: request)
            }
            return MockResponse(
                status: HTTPResponse.Status(code: reply.status),
                data: reply.body,
                headerFields: reply.fields
            )
        }
        try await run.play(over: origin)
    }

    @Test(isThere) func everyRequiredTestOfALibraryPasses() async throws {
        let outcomes = try await CacheSuite.play(CacheSuite.libraryProfile, named: "private") {
            try await Self.inProcess(CacheTestRun($0))
        }
        #expect(outcomes.failures(.required).isEmpty)
        #expect(outcomes.rate(.optimal) >= 0.92)
    }

    @Test(isThere) func everyRequiredTestOfASharedCachePasses() async throws {
        // Only a private cache passes the first. The second wants a Set-Cookie stored that nothing marks as meant for all users.
        let left: Set = ["freshness-max-age-s-maxage-private", "headers-store-Set-Cookie"]
        let outcomes = try await CacheSuite.play(CacheSuite.all.filter { !left.contains($0.id) }, named: "shared") {
            try await Self.inProcess(CacheTestRun($0, isShared: true))
        }
        #expect(outcomes.failures(.required).isEmpty)
        #expect(outcomes.rate(.optimal) >= 0.92)
    }
}

#if TestServer && URLSession
extension Loopback {
    @Suite(.timeLimit(.minutes(5)))
    struct CacheSuiteTests {
        private static let isThere = ConditionTrait.enabled(
            if: FileManager.default.fileExists(atPath: CacheSuite.file.path),
            "NETWORKING_VECTORS names the folder with cache-tests.json"
        )

        private static func overSockets(
            _ name: String,
            _ transport: some NetworkingComponent
        ) async throws -> CacheSuite.Outcomes {
            try await withTestServer { server in
                try await CacheSuite.play(CacheSuite.libraryProfile, named: name) { test in
                    let run = CacheTestRun(test, scheme: "http", authority: server.authority)
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

        /// What cannot pass over a socket: a length that is not the body's.
        private static let impossible: Set = ["headers-store-Content-Length"]
        /// URLSession on Linux drops the body of a redirect without a Location (L33).
        #if canImport(FoundationNetworking)
        private static let bodylessRedirects: Set = [
            "status-301-stale", "status-303-stale", "status-307-stale", "status-308-stale",
        ]
        /// URLSession on Linux refuses a coding that libcurl does not know.
        private static let unknownCodings: Set = ["headers-store-Content-Encoding"]
        #else
        private static let bodylessRedirects: Set<String> = []
        private static let unknownCodings: Set<String> = []
        #endif

        @Test(isThere) func overURLSession() async throws {
            let outcomes = try await Self.overSockets("urlsession", URLSessionTransport(configuration: .ephemeral))
            #expect(
                Set(outcomes.failures(.required))
                    == Self.impossible.union(Self.bodylessRedirects).union(Self.unknownCodings)
            )
            #expect(outcomes.rate(.optimal) >= (Self.bodylessRedirects.isEmpty ? 0.92 : 0.87))
        }

        #if AsyncHTTPClient
        @Test(isThere) func overAsyncHTTPClient() async throws {
            let transport = AsyncHTTPClientTransport()
            let outcomes = try await Self.overSockets("asynchttpclient", transport)
            try await transport.shutdown()
            #expect(Set(outcomes.failures(.required)) == Self.impossible)
            #expect(outcomes.rate(.optimal) >= 0.92)
        }
        #endif
    }
}

extension CacheTestRun.Reply {
    /// The reply, framed by the server; with interim heads before it, byte by byte.
    fileprivate var onTheWire: TestResponse {
        var fields = fields
        if fields[.contentLength] != "\(body.count)", self.status != 304 {
            fields[.contentLength] = nil
        }
        fields[.transferEncoding] = nil
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
