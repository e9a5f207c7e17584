#if AsyncHTTPClient && SecureTestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import NIOSSL
import TestSupport
import Testing

extension Loopback {
    /// The scripted server with TLS, over HTTP/2 and HTTP/1.1.
    @Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
    struct SecureTestServerTests {
        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases)
        func servesRoutesOverTheNegotiatedProtocol(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await Self.withServer(.loopback(version)) { server, network in
                server.route(.post, "/users/:id") { .text("\($0.parameters["id"] ?? "") \($0.body.count)") }
                let request = HTTPRequestData(.post, "users/7", body: .data(Data("hello".utf8)))
                #expect(try await network.data(request).text == "7 5")
                let recorded = try #require(server.requests.first)
                #expect(server.url.scheme == "https")
                #expect(recorded.httpVersion == (version == .http2 ? "HTTP/2" : "HTTP/1.1"))
                #expect(recorded.bodyByteCount == 5)
            }
        }

        @Test func prefersHTTP2() async throws {
            try await Self.withServer(.loopback) { server, network in
                server.route("/") { _ in .ok }
                try await network.data(.get("/"))
                #expect(server.requests.map(\.httpVersion) == ["HTTP/2"])
            }
        }

        @Test func concurrentRequestsShareAConnectionOverHTTP2() async throws {
            try await Self.withServer(.loopback(.http2)) { server, network in
                let gate = Gate()
                server.route("/first") { _ in .ok }
                server.route("/held") { _ in
                    try await gate.wait()
                    return .ok
                }
                try await network.data(.get("first"))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...4 {
                        group.addTask { try await network.data(.get("held")) }
                    }
                    try await server.waitForRequests(5)
                    gate.open()
                    try await group.waitForAll()
                }
                #expect(server.acceptedConnections == 1)
                #expect(server.requests.map(\.numberOnConnection).sorted() == [1, 2, 3, 4, 5])
                #expect(server.peakActiveRequests == 4)
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases)
        func trailersArrive(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await Self.withServer(.loopback(version)) { server, network in
                server.enqueue(.text("body").trailers([.contentLanguage: "de"]))
                let data = try await network.data(.get("/")).data
                #expect(data == Data("body".utf8))
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases)
        func longBodiesArriveInBothDirections(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await Self.withServer(.loopback(version)) { server, network in
                server.route(.post, "/") { TestResponse(body: .data($0.body)) }
                let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
                let data = try await network.data(HTTPRequestData(.post, "/", body: .data(body))).data
                #expect(data == body)
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases, [ResumableUpload.ietf, .tus])
        func uploadResumesAfterALostConnection(
            version: TestServer.TLS.ApplicationProtocol,
            resumable: ResumableUpload
        ) async throws {
            try await withTemporaryDirectory { directory in
                try await Self.withServer(.loopback(version)) { server, network in
                    let uploads = server.routeUploads("/films", options: TestUploads.Options(directory: directory))
                    uploads.enqueue(.disconnect(.reset, after: .bytes(150_000)), at: .completion)
                    let body = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
                    let request = HTTPRequestData(method: .post, path: "films")
                    try await network.upload(.data(body), to: request, resumable: resumable)
                    let arrived = try #require(uploads.all.first)
                    #expect(uploads.all.count == 1 && arrived.isComplete)
                    #expect(try Data(contentsOf: #require(arrived.file)) == body)
                    #expect(server.requests.map(\.method) == [.post, .patch, .head, .patch])
                    let expected = version == .http2 ? "HTTP/2" : "HTTP/1.1"
                    #expect(server.requests.allSatisfy { $0.httpVersion == expected })
                }
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases, TestResponse.SocketEffect.ends)
        func responseThatEndsEarlyFails(
            version: TestServer.TLS.ApplicationProtocol,
            effect: TestResponse.SocketEffect
        ) async throws {
            try await Self.withServer(.loopback(version)) { server, network in
                server.route("/") { _ in .text("incomplete").disconnecting(effect, at: .responseBody(after: 4)) }
                let error = await #expect(throws: NetworkingError.self) { try await network.data(.get("/")) }
                #expect([.truncated, .connectionLost].contains(error?.kind))
            }
        }

        @Test(arguments: [TestServer.ConnectionEffect.close, .reset, .halfClose, .failHandshake])
        func connectionThatEndsBeforeTheHandshakeFails(effect: TestServer.ConnectionEffect) async throws {
            try await Self.withServer(.loopback) { server, network in
                server.enqueueConnections(effect, effect, effect, effect, effect)
                await #expect(throws: NetworkingError.self) { try await network.data(.get("/")) }
                #expect(server.requests.isEmpty)
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases)
        func clientThatCancelsEndsTheHandler(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await Self.withServer(.loopback(version)) { server, network in
                let cancelled = Gate()
                server.route("/") { _ in
                    defer { cancelled.open() }
                    try await Gate().wait()
                    return .ok
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await network.data(.get("/")) }
                    try await server.waitForRequests(1)
                    group.cancelAll()
                    try await cancelled.wait()
                    await #expect(throws: CancellationError.self) { try await group.waitForAll() }
                }
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases)
        func restartedServerTakesNewConnections(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await Self.withRestart(.loopback(version)) { server, network, restart in
                try await network.data(.get("/"))
                try await restart()
                try await network.data(.get("/"))
                #expect(server.acceptedConnections == 2)
                #expect(server.requests.map(\.numberOnConnection) == [1, 1])
            }
        }

        /// The side that closes a connection first keeps its port for some time.
        @Test func restartsAfterItClosedAConnectionFirst() async throws {
            try await Self.withRestart(.loopback) { server, network, restart in
                server.enqueueConnections(.halfClose)
                try await network.data(.get("/"))
                try await restart()
                try await network.data(.get("/"))
                #expect(server.acceptedConnections == 3)
            }
        }

        /// Runs a scenario that restarts a server; again if the system has assigned the port to another one meanwhile.
        private static func withRestart(
            _ tls: TestServer.TLS,
            _ body: (TestServer, any NetworkingComponent, _ restart: () async throws -> Void) async throws -> Void
        ) async throws {
            let isPortTaken = { (error: any Error) in (error as? TestServerError)?.kind == .portTaken }
            try await retrying(after: isPortTaken) {
                try await withServer(tls) { server, network in
                    server.route("/") { _ in .ok }
                    // The client may not have noticed yet that the server has closed its connection.
                    try await body(server, network.retry(.immediate())) { try await server.restart() }
                }
            }
        }

        @Test(arguments: TestServer.TLS.ApplicationProtocol.allCases)
        func clientThatDisconnectsClosesItsConnection(version: TestServer.TLS.ApplicationProtocol) async throws {
            try await withTestServer(tls: .loopback(version)) { server in
                server.route("/") { _ in .ok }
                try await Self.withTransport { transport in
                    try await transport.server(baseURL: server.url).data(.get("/"))
                    #expect(server.openConnections == 1)
                }
                try await server.waitForOpenConnections()
            }
        }

        @Test func stopsWhileAClientReadsNothing() async throws {
            let server = try await TestServer.start(tls: .loopback(.http1))
            server.route("/") { _ in TestResponse(body: .data(Data(count: 64 << 20))) }
            try await Self.withTransport { transport in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    let network = transport.server(baseURL: server.url)
                    group.addTask { try await network.stream(.get("/")) { _, _ in try await Gate().wait() } }
                    try await server.waitForRequests(1)
                    await server.stop()
                    group.cancelAll()
                    try? await group.waitForAll()
                }
            }
            #expect(server.openConnections == 0)
        }

        @Test func serverWithoutAUsableKeyDoesNotStart() async throws {
            let tls = TestServer.TLS(certificateChain: TestServer.TLS.loopbackAuthority, privateKey: "no key")
            let error = await #expect(throws: TestServerError.self) { try await TestServer.start(tls: tls) }
            #expect(error?.kind == .unusableCertificate)
        }

        @Test func clientWithoutACertificateIsRefused() async throws {
            let loopback = TestServer.TLS.loopback
            let tls = TestServer.TLS(
                certificateChain: loopback.certificateChain,
                privateKey: loopback.privateKey,
                protocols: [.http1],
                clientAuthority: TestServer.TLS.loopbackAuthority
            )
            try await Self.withServer(tls) { server, network in
                await #expect(throws: NetworkingError.self) { try await network.data(.get("/")) }
                #expect(server.requests.isEmpty)
            }
        }

        // MARK: Conformance

        /// The checks that redirect to a plain server or start one.
        static let needPlainServers: Set = ["credentials stay at their origin", "no TLS"]

        /// The checks that look at the wire, and apply to HTTP/2.
        static let wireOfAnyVersion: Set = [
            "URL parameters", "Host", "empty header value", "header values in UTF-8",
            "repeated headers in any spelling",
        ]

        /// The checks that send requests without TLS, which a transport refuses to send to a host with pins.
        static let needPlainRequests: Set = ["cancel while connecting", "refused connection"]

        static let checksOverTLS = TransportCheck.all.filter { !needPlainServers.contains($0.name) }

        @Test(
            arguments: checksOverTLS.map { ($0, false) }
                + checksOverTLS.filter { !needPlainRequests.contains($0.name) }.map { ($0, true) }
        )
        func asyncHTTPClientConformsOverTLS(check: TransportCheck, isPinned: Bool) async throws {
            try await Self.withTransport(isPinned: isPinned) { try await check.run(on: $0, tls: .loopback(.http1)) }
        }

        @Test(
            arguments: TransportCheck.all.filter {
                (!$0.needsSockets || wireOfAnyVersion.contains($0.name)) && !needPlainServers.contains($0.name)
            },
            [false, true]
        )
        func asyncHTTPClientConformsOverHTTP2(check: TransportCheck, isPinned: Bool) async throws {
            try await Self.withTransport(isPinned: isPinned) { try await check.run(on: $0, tls: .loopback(.http2)) }
        }

        @Test func clientWithTheRequiredCertificateIsAccepted() async throws {
            for version in TestServer.TLS.ApplicationProtocol.allCases {
                let tls = try TestCertificates.tls("trusted", version, clientAuthority: "authority")
                try await withTestServer(tls: tls) { server in
                    server.route("/") { .text($0.httpVersion) }
                    let identity = ClientIdentity(
                        pkcs12: try TestCertificates.data("client.p12"),
                        password: "password",
                        for: "127.0.0.1"
                    )
                    let trust = ServerTrust(
                        roots: .only([try TestCertificates.certificate("authority")]),
                        clientIdentities: [identity]
                    )
                    let transport = try AsyncHTTPClientTransport(trust: trust)
                    try await transport.untilShutDown {
                        let text = try await transport.server(baseURL: server.url).data(.get("/")).text
                        #expect(text == (version == .http2 ? "HTTP/2" : "HTTP/1.1"))
                    }
                }
            }
        }

        // MARK: Helpers

        private static func withServer(
            _ tls: TestServer.TLS,
            _ body: nonisolated(nonsending) (TestServer, AnyNetworkingComponent) async throws -> Void
        ) async throws {
            try await withTransport { transport in
                try await withTestServer(tls: tls) { server in
                    try await body(server, AnyNetworkingComponent(transport.server(baseURL: server.url)))
                }
            }
        }

        /// Runs a closure with a transport that trusts the authority of the test server, and that can also compare the
        /// server's key with pins, one of which matches.
        private static func withTransport(
            isPinned: Bool = false,
            _ body: nonisolated(nonsending) (AsyncHTTPClientTransport) async throws -> Void
        ) async throws {
            guard !isPinned else {
                let server = try Certificate.pem(TestServer.TLS.loopback.certificateChain)
                let authority = try Certificate.pem(TestServer.TLS.loopbackAuthority)
                let hosts: [HostPattern] = ["127.0.0.1", "localhost"]
                let pins = hosts.map { HostPins($0, certificates: server + authority) }
                let trust = ServerTrust(roots: .only(authority), pins: pins)
                let transport = try AsyncHTTPClientTransport(trust: trust)
                return try await transport.untilShutDown { try await body(transport) }
            }
            var configuration = HTTPClient.Configuration.networking
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(Array(TestServer.TLS.loopbackAuthority.utf8))
            )
            configuration.tlsConfiguration = tls
            let transport = AsyncHTTPClientTransport(configuration: configuration)
            try await transport.untilShutDown { try await body(transport) }
        }
    }
}

extension TestResponse.SocketEffect {
    fileprivate static let ends: [Self] = [.close, .reset]
}
#endif
