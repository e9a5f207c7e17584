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
    /// ``ServerTrust`` over AsyncHTTPClient, with real handshakes.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct PinnedTransportTests {
        static let versions = TestServer.TLS.ApplicationProtocol.allCases
        static let unknownPin: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

        /// Runs a server and a stack with a transport that has a trust.
        private func run(
            pins: [HostPins] = [],
            andAuthoritiesOfTheSystem: Bool = false,
            identities: [ClientIdentity] = [],
            protocols: ServerTrust.ApplicationProtocols = .automatic,
            configuration: HTTPClient.Configuration = .networking,
            at host: String = "127.0.0.1",
            presenting certificate: String = "trusted",
            inOrder order: [Int]? = nil,
            speaking versions: [TestServer.TLS.ApplicationProtocol] = [.http2, .http1],
            requiringIdentity: Bool = false,
            redirectingTo target: String = "",
            _ body: nonisolated(nonsending) (AnyNetworkingComponent, TestServer) async throws -> Void
        ) async throws {
            var tls = try TestCertificates.tls(certificate)
            tls.protocols = versions
            tls.clientAuthority = requiringIdentity ? try TestCertificates.text("authority.pem") : nil
            if let order {
                tls.certificateChain = try TestCertificates.chain(certificate, inOrder: order)
            }
            try await withTestServer(tls: tls) { server in
                server.route("/version") { .text($0.httpVersion) }
                server.route(.post, "/echo") { TestResponse(body: .data($0.body)) }
                server.route("/redirect") { _ in
                    var response = TestResponse.redirect(to: target)
                    response.headerFields[.setCookie] = "id=secret; Path=/"
                    return response
                }
                let authority = [try TestCertificates.certificate("authority")]
                let trust = ServerTrust(
                    roots: andAuthoritiesOfTheSystem ? .systemAnd(authority) : .only(authority),
                    pins: pins,
                    clientIdentities: identities,
                    applicationProtocols: protocols
                )
                var configuration = configuration
                if host != "127.0.0.1" {
                    configuration.dnsOverride[host] = "127.0.0.1"
                }
                let transport = try AsyncHTTPClientTransport(configuration: configuration, trust: trust)
                let url = try #require(URL(string: "https://\(host):\(server.port)"))
                try await transport.untilShutDown {
                    try await body(AnyNetworkingComponent(transport.server(baseURL: url)), server)
                }
            }
        }

        private func encryptedIdentity(password: String?) throws -> ClientIdentity {
            ClientIdentity(
                pemChain: try TestCertificates.text("client.pem"),
                key: try TestCertificates.text("client.encrypted.key"),
                password: password,
                for: "a.test"
            )
        }

        private func pin(_ name: String) throws -> CertificatePin {
            try TestCertificates.certificate(name).publicKeyPin
        }

        // MARK: Pins

        @Test(arguments: versions)
        func pinnedKeyIsAccepted(version: TestServer.TLS.ApplicationProtocol) async throws {
            let certificate = try TestCertificates.certificate("trusted")
            for pin in [certificate.publicKeyPin, certificate.certificatePin] {
                let events = EventRecorder()
                let pins = HostPins("127.0.0.1", pins: [Self.unknownPin, pin])
                try await run(pins: [pins], speaking: [version]) { network, server in
                    for _ in 1...3 {
                        try await network.observed(by: events).data(HTTPRequestData(path: "version"))
                    }
                    #expect(server.requests.count == 3)
                    #expect(server.acceptedConnections == 1)
                }
                #expect(events.events.compactMap { $0 as? TrustEvent }.isEmpty)
            }
        }

        /// With retries of AsyncHTTPClient too, which would connect again and again.
        @Test(arguments: versions, [true, false])
        func otherKeyIsRefusedBeforeTheRequestIsSent(
            version: TestServer.TLS.ApplicationProtocol,
            reconnects: Bool
        ) async throws {
            let events = EventRecorder()
            let expected = try pin("rotated")
            let presented = try pin("trusted")
            var configuration = HTTPClient.Configuration.networking
            configuration.connectionPool.retryConnectionEstablishment = reconnects
            try await run(
                pins: [HostPins("127.0.0.1", pins: [expected, Self.unknownPin])],
                configuration: configuration,
                speaking: [version]
            ) { network, server in
                for count in 1...3 {
                    let error = await #expect(throws: NetworkingError.self) {
                        let body = RequestBody.data(Data("secret".utf8))
                        let request = HTTPRequestData(method: .post, path: "echo", body: body)
                        try await network.observed(by: events).data(request)
                    }
                    #expect(error?.kind == .tls, "\(String(reflecting: error))")
                    #expect(error?.pinMismatch?.host == "127.0.0.1")
                    #expect(error?.pinMismatch?.presented == [presented])
                    #expect(error?.pinMismatch.map { Set($0.expected) } == [expected, Self.unknownPin])
                    #expect(error?.reason.contains("\(expected)") == true)
                    #expect(server.acceptedConnections == count)
                }
                #expect(server.requests.isEmpty)
            }
            let refused = events.events.compactMap { $0 as? TrustEvent }.map { "\($0)" }
            #expect(refused == Array(repeating: "pinMismatchRefused(127.0.0.1)", count: 3))
        }

        @Test func manyRequestsAtOnceToAServerWithAnotherKeyAllFail() async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("rotated"), Self.unknownPin])
            try await run(pins: [pins], speaking: [.http1]) { network, server in
                let kinds = await withTaskGroup(of: NetworkingError.Kind?.self) { group in
                    for _ in 0..<50 {
                        group.addTask {
                            do {
                                try await network.data(HTTPRequestData(path: "version"))
                                return nil
                            } catch {
                                return (error as? NetworkingError)?.kind
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(kinds == Array(repeating: .tls, count: 50))
                #expect(server.requests.isEmpty)
            }
        }

        @Test func serverThatRotatesToTheBackupKeyIsAccepted() async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("trusted"), try pin("rotated")])
            for certificate in ["trusted", "rotated"] {
                try await run(pins: [pins], presenting: certificate) { network, _ in
                    let response = try await network.data(HTTPRequestData(path: "version"))
                    #expect(response.status == .ok)
                }
            }
        }

        @Test(arguments: versions)
        func mismatchThatIsOnlyReportedLetsTheRequestContinue(version: TestServer.TLS.ApplicationProtocol) async throws
        {
            let events = EventRecorder()
            let pins = HostPins("127.0.0.1", pins: [Self.unknownPin], mode: .reportOnly)
            try await run(pins: [pins], speaking: [version]) { network, server in
                for _ in 1...3 {
                    try await network.observed(by: events).data(HTTPRequestData(path: "version"))
                }
                #expect(server.requests.count == 3)
            }
            let presented = try pin("trusted")
            let mismatch = PinMismatch(host: "127.0.0.1", presented: [presented], expected: [Self.unknownPin])
            let reported = events.events.compactMap { event in
                if case TrustEvent.mismatchReported(let mismatch) = event { mismatch } else { nil }
            }
            #expect(reported == [mismatch])
        }

        @Test func pinsAreNotEnforcedAfterTheirExpiration() async throws {
            let clock = ManualClock(start: Date(timeIntervalSince1970: 1_000))
            let events = EventRecorder()
            let expiration = Date(timeIntervalSince1970: 1_060)
            let pins = HostPins("127.0.0.1", pins: [Self.unknownPin], expires: expiration)
            try await run(pins: [pins]) { network, server in
                let network = network.environment(\.clock, .manual(clock)).observed(by: events)
                await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "version")) }
                clock.advance(by: .seconds(60))
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
                #expect(server.requests.count == 1)
            }
            let names = events.events.compactMap { $0 as? TrustEvent }.map { "\($0)" }
            #expect(names == ["pinMismatchRefused(127.0.0.1)", "pinsExpired(127.0.0.1)"])
        }

        @Test func pinsOfOtherHostsDoNotApply() async throws {
            let pins = [
                HostPins("localhost", pins: [Self.unknownPin]),
                HostPins("*.0.0.1", pins: [Self.unknownPin], except: ["127.0.0.1"]),
            ]
            try await run(pins: pins) { network, _ in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
            }
        }

        @Test(arguments: versions)
        func pinsOfAPatternApplyToTheNamesBelowIt(version: TestServer.TLS.ApplicationProtocol) async throws {
            for (name, isAccepted) in [("named", true), ("trusted", false)] {
                let pins = HostPins("*.shop.example", pins: [try pin(name), Self.unknownPin])
                try await run(
                    pins: [pins],
                    at: "api.shop.example",
                    presenting: "named",
                    speaking: [version]
                ) { network, server in
                    let request = HTTPRequestData(path: "version")
                    if isAccepted {
                        let response = try await network.data(request)
                        #expect(response.status == .ok)
                    } else {
                        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
                        #expect(error?.pinMismatch?.host == "api.shop.example")
                        #expect(server.requests.isEmpty)
                    }
                }
            }
        }

        // MARK: Validation

        @Test func authorityBesidesThoseOfTheSystemIsTrusted() async throws {
            try await run(andAuthoritiesOfTheSystem: true) { network, _ in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
            }
            try await run(andAuthoritiesOfTheSystem: true, presenting: "unknown") { network, server in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(error?.kind == .tls, "\(String(reflecting: error))")
                #expect(server.requests.isEmpty)
            }
        }

        /// A pin that matches does not replace the platform's validation.
        @Test(arguments: ["expired", "elsewhere", "selfsigned", "unknown", "early"])
        func pinnedCertificateThatIsNotTrustedIsRefused(name: String) async throws {
            let pins = HostPins("127.0.0.1", certificates: [try TestCertificates.certificate(name)])
            try await run(pins: [pins], presenting: name) { network, server in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(error?.kind == .tls, "\(String(reflecting: error))")
                #expect(error?.pinMismatch == nil)
                #expect(server.requests.isEmpty)
            }
        }

        @Test func configurationCannotSwitchTheValidationOff() async throws {
            var configuration = HTTPClient.Configuration.networking
            configuration.tlsConfiguration = .makeClientConfiguration()
            configuration.tlsConfiguration?.certificateVerification = .none
            try await run(configuration: configuration, presenting: "unknown") { network, server in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(error?.kind == .tls)
                #expect(server.requests.isEmpty)
            }
        }

        /// The file has the server's certificate, the intermediate one and the root.
        @Test(arguments: [[0, 1], [0, 2, 1], [0, 2], [0]])
        func intermediateIsNeededInAnyOrder(order: [Int]) async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("chained"), Self.unknownPin])
            try await run(pins: [pins], presenting: "chained", inOrder: order) { network, server in
                if order.contains(1) {
                    let response = try await network.data(HTTPRequestData(path: "version"))
                    #expect(response.status == .ok)
                } else {
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "version"))
                    }
                    #expect(error?.kind == .tls, "\(String(reflecting: error))")
                    #expect(server.requests.isEmpty)
                }
            }
        }

        /// Sends a request for a path, and returns the kind of its failure, or `nil` if there is a response.
        private static func failure(
            of path: String,
            over network: some NetworkingComponent
        ) async throws -> NetworkingError.Kind? {
            do {
                try await network.data(HTTPRequestData(path: path))
                return nil
            } catch let error as NetworkingError {
                return error.kind
            }
        }

        // MARK: Versions

        /// The test server has no old versions.
        @Test func oldVersionsOfTLSAreRefused() async throws {
            let cases: [(String, ServerTrust.TLSVersion, Bool)] = [
                ("1.1", .v12, false), ("1.2", .v13, false), ("1.2", .v12, true),
            ]
            for (maximum, minimum, isAccepted) in cases {
                let options = SecureOrigin.Options(maximumVersion: maximum)
                try await SecureOrigin.run(with: .trusted, options: options) { server in
                    let roots = ServerTrust.Roots.only([try TestCertificates.certificate("authority")])
                    let trust = ServerTrust(roots: roots, minimumTLSVersion: minimum)
                    let transport = try AsyncHTTPClientTransport(trust: trust)
                    let network = transport.server(authority: "127.0.0.1:\(server.port)")
                    let kind = try await Self.failure(of: "version", over: network)
                    #expect(kind == (isAccepted ? nil : .tls))
                    #expect(server.requests.isEmpty != isAccepted)
                    try await transport.shutdown()
                }
            }
        }

        @Test func offersOnlyHTTP1IfAsked() async throws {
            try await run(protocols: .http1) { network, _ in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.text == "HTTP/1.1")
            }
        }

        // MARK: Identities

        @Test(arguments: ["pkcs12", "pem", "encrypted pem"], versions)
        func identityIsPresentedToItsHost(format: String, version: TestServer.TLS.ApplicationProtocol) async throws {
            let isEncrypted = format == "encrypted pem"
            let identity =
                format != "pkcs12"
                ? ClientIdentity(
                    pemChain: try TestCertificates.text("client.pem"),
                    key: try TestCertificates.text(isEncrypted ? "client.encrypted.key" : "client.key"),
                    password: isEncrypted ? "password" : nil,
                    for: "127.0.0.1"
                )
                : ClientIdentity(
                    pkcs12: try TestCertificates.data("client.p12"),
                    password: "password",
                    for: "127.0.0.1"
                )
            try await run(
                identities: [identity],
                speaking: [version],
                requiringIdentity: true
            ) { network, server in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
                #expect(server.requests.count == 1)
            }
        }

        @Test(arguments: versions)
        func requestWithoutTheRequiredIdentityFails(version: TestServer.TLS.ApplicationProtocol) async throws {
            let data = try TestCertificates.data("client.p12")
            for identities in [[], [ClientIdentity(pkcs12: data, password: "password", for: "api.example.com")]] {
                try await run(
                    identities: identities,
                    speaking: [version],
                    requiringIdentity: true
                ) { network, server in
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "version"))
                    }
                    #expect(error?.kind == .tls || error?.kind == .connectionLost, "\(String(reflecting: error))")
                    #expect(server.requests.isEmpty)
                }
            }
        }

        // MARK: Mistakes

        @Test func transportRefusesWhatItCannotEnforce() throws {
            let chain = HostPins("api.example.com", pins: [Self.unknownPin], scope: .validatedChain)
            let data = try TestCertificates.data("client.p12")
            let mistakes: [(ServerTrust, String)] = [
                (ServerTrust(pins: [chain]), "validatedChain"),
                (
                    ServerTrust(clientIdentities: [ClientIdentity(pkcs12: data, password: "wrong", for: "a.test")]),
                    "cannot be read"
                ),
                (
                    ServerTrust(clientIdentities: [ClientIdentity(pemChain: "", key: "", for: "a.test")]),
                    "cannot be read"
                ),
                (ServerTrust(clientIdentities: [try encryptedIdentity(password: "wrong")]), "cannot be read"),
                (ServerTrust(clientIdentities: [try encryptedIdentity(password: nil)]), "cannot be read"),
            ]
            for (trust, words) in mistakes {
                let error = #expect(throws: ServerTrustError.self) { try AsyncHTTPClientTransport(trust: trust) }
                #expect(error?.reason.contains(words) == true, "\(String(describing: error))")
                #expect(error?.reason.contains("wrong") != true)
            }
        }

        @Test func diagnosticsNameASinglePin() async throws {
            let pins = HostPins("127.0.0.1", pins: [Self.unknownPin])
            try await run(pins: [pins]) { network, _ in
                #expect(network.retry().diagnostics.map(\.modifier) == ["AsyncHTTPClientTransport"])
            }
        }

        // MARK: Redirects

        /// Another server, first with a certificate for another name, and then with one for its own.
        @Test func redirectToAnotherHostSendsNoCredentials() async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("trusted"), Self.unknownPin])
            for (certificate, isValid) in [("elsewhere", false), ("rotated", true)] {
                try await withTestServer(tls: try TestCertificates.tls(certificate)) { other in
                    other.route("/version") { .text($0.httpVersion) }
                    let target = "https://localhost:\(other.port)/version"
                    try await run(pins: [pins], redirectingTo: target) { network, server in
                        let network = network.authenticated(with: BearerCredentials(token: "token-1"))
                            .cookies(in: CookieJar())
                        let kind = try await Self.failure(of: "redirect", over: network)
                        #expect(kind == (isValid ? nil : .tls))
                        #expect(server.requests.map(\.path) == ["/redirect"])
                        #expect(server.requests.first?.headerFields[.authorization] == "Bearer token-1")
                        #expect(other.requests.map(\.path) == (isValid ? ["/version"] : []))
                        #expect(other.requests.first?.headerFields[.authorization] == nil)
                        #expect(other.requests.first?.headerFields[.cookie] == nil)
                    }
                }
            }
        }
    }
}
#endif
