#if AsyncHTTPClient && TestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTesting
import NIOHTTP1
import NIOPosix
import NIOSSL
import TestSupport
import Testing

extension Loopback {
    /// ``ServerTrust`` over AsyncHTTPClient, with real handshakes.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
    struct PinnedTransportTests {
        static let versions = ["h2", "http/1.1"]
        static let unknownPin: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

        /// Runs a server and a stack with a transport that has a trust.
        private func run(
            pins: [HostPins] = [],
            roots: [String] = ["authority"],
            identities: [ClientIdentity] = [],
            minimum: ServerTrust.TLSVersion = .v12,
            protocols: ServerTrust.ApplicationProtocols = .automatic,
            configuration: HTTPClient.Configuration = .networking,
            presenting identity: TestCertificates.Identity = .trusted,
            speaking versions: [String] = ["h2", "http/1.1"],
            options: SecureOrigin.Options = SecureOrigin.Options(),
            _ body: nonisolated(nonsending) (AnyNetworkingComponent, SecureOrigin) async throws -> Void
        ) async throws {
            try await SecureOrigin.run(with: identity, speaking: versions, options: options) { origin in
                let trust = ServerTrust(
                    roots: .only(try roots.map { try TestCertificates.certificate($0) }),
                    pins: pins,
                    clientIdentities: identities,
                    minimumTLSVersion: minimum,
                    applicationProtocols: protocols
                )
                let transport = try AsyncHTTPClientTransport(configuration: configuration, trust: trust)
                let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)"))
                try await transport.untilShutDown {
                    try await body(AnyNetworkingComponent(transport.server(baseURL: url)), origin)
                }
            }
        }

        private func pin(_ name: String) throws -> CertificatePin {
            try TestCertificates.certificate(name).publicKeyPin
        }

        // MARK: Pins

        @Test(arguments: versions)
        func pinnedKeyIsAccepted(version: String) async throws {
            let certificate = try TestCertificates.certificate("trusted")
            for pin in [certificate.publicKeyPin, certificate.certificatePin] {
                let events = EventRecorder()
                let pins = HostPins("127.0.0.1", pins: [Self.unknownPin, pin])
                try await run(pins: [pins], speaking: [version]) { network, origin in
                    for _ in 1...3 {
                        try await network.observed(by: events).data(HTTPRequestData(path: "version"))
                    }
                    #expect(origin.requests.count == 3)
                    #expect(origin.connections == 1)
                }
                #expect(events.events.compactMap { $0 as? TrustEvent }.isEmpty)
            }
        }

        /// With retries of AsyncHTTPClient too, which would connect again and again.
        @Test(arguments: versions, [true, false])
        func otherKeyIsRefusedBeforeTheRequestIsSent(version: String, reconnects: Bool) async throws {
            let events = EventRecorder()
            let expected = try pin("rotated")
            let presented = try pin("trusted")
            var configuration = HTTPClient.Configuration.networking
            configuration.connectionPool.retryConnectionEstablishment = reconnects
            try await run(
                pins: [HostPins("127.0.0.1", pins: [expected, Self.unknownPin])],
                configuration: configuration,
                speaking: [version]
            ) { network, origin in
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
                    #expect(origin.connections == count)
                }
                #expect(origin.requests.isEmpty)
            }
            let refused = events.events.compactMap { $0 as? TrustEvent }.map { "\($0)" }
            #expect(refused == Array(repeating: "pinMismatchRefused(127.0.0.1)", count: 3))
        }

        @Test func manyRequestsAtOnceToAServerWithAnotherKeyAllFail() async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("rotated"), Self.unknownPin])
            try await run(pins: [pins], speaking: ["http/1.1"]) { network, origin in
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
                #expect(origin.requests.isEmpty)
            }
        }

        @Test func serverThatRotatesToTheBackupKeyIsAccepted() async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("trusted"), try pin("rotated")])
            for identity in [TestCertificates.Identity.trusted, .rotated] {
                try await run(pins: [pins], presenting: identity) { network, _ in
                    let response = try await network.data(HTTPRequestData(path: "version"))
                    #expect(response.status == .ok)
                }
            }
        }

        @Test(arguments: versions)
        func mismatchThatIsOnlyReportedLetsTheRequestContinue(version: String) async throws {
            let events = EventRecorder()
            let pins = HostPins("127.0.0.1", pins: [Self.unknownPin], mode: .reportOnly)
            try await run(pins: [pins], speaking: [version]) { network, origin in
                for _ in 1...3 {
                    try await network.observed(by: events).data(HTTPRequestData(path: "version"))
                }
                #expect(origin.requests.count == 3)
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
            try await run(pins: [pins]) { network, origin in
                let network = network.environment(\.clock, .manual(clock)).observed(by: events)
                await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "version")) }
                clock.advance(by: .seconds(60))
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
                #expect(origin.requests.count == 1)
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

        // MARK: Validation

        /// A pin that matches does not replace the platform's validation.
        @Test(arguments: ["expired", "elsewhere", "selfsigned", "unknown", "early"])
        func pinnedCertificateThatIsNotTrustedIsRefused(name: String) async throws {
            let pins = HostPins("127.0.0.1", certificates: [try TestCertificates.certificate(name)])
            try await run(pins: [pins], presenting: .named(name)) { network, origin in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(error?.kind == .tls, "\(String(reflecting: error))")
                #expect(error?.pinMismatch == nil)
                #expect(origin.requests.isEmpty)
            }
        }

        @Test func configurationCannotSwitchTheValidationOff() async throws {
            var configuration = HTTPClient.Configuration.networking
            configuration.tlsConfiguration = .makeClientConfiguration()
            configuration.tlsConfiguration?.certificateVerification = .none
            try await run(configuration: configuration, presenting: .unknown) { network, origin in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: "version"))
                }
                #expect(error?.kind == .tls)
                #expect(origin.requests.isEmpty)
            }
        }

        /// The file has the server's certificate, the intermediate one and the root.
        @Test(arguments: [[0, 1], [0, 2, 1], [0, 2], [0]])
        func intermediateIsNeededInAnyOrder(order: [Int]) async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("chained"), Self.unknownPin])
            let options = SecureOrigin.Options(orderOfChain: order)
            try await run(pins: [pins], presenting: .named("chained"), options: options) { network, origin in
                if order.contains(1) {
                    let response = try await network.data(HTTPRequestData(path: "version"))
                    #expect(response.status == .ok)
                } else {
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "version"))
                    }
                    #expect(error?.kind == .tls, "\(String(reflecting: error))")
                    #expect(origin.requests.isEmpty)
                }
            }
        }

        // MARK: Versions

        @Test func oldVersionsOfTLSAreRefused() async throws {
            for (maximum, minimum) in [("1.1", ServerTrust.TLSVersion.v12), ("1.2", .v13)] {
                let options = SecureOrigin.Options(maximumVersion: maximum)
                try await run(minimum: minimum, options: options) { network, origin in
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "version"))
                    }
                    #expect(error?.kind == .tls, "\(String(reflecting: error))")
                    #expect(origin.requests.isEmpty)
                }
            }
            try await run(options: SecureOrigin.Options(maximumVersion: "1.2")) { network, _ in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
            }
        }

        @Test func offersOnlyHTTP1IfAsked() async throws {
            try await run(protocols: .http1) { network, _ in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(String(decoding: response.data, as: UTF8.self) == "http/1.1")
            }
        }

        // MARK: Identities

        @Test(arguments: ["pkcs12", "pem"], versions)
        func identityIsPresentedToItsHost(format: String, version: String) async throws {
            let identity =
                format == "pem"
                ? ClientIdentity(
                    pemChain: try TestCertificates.text("client.pem"),
                    key: try TestCertificates.text("client.key"),
                    for: "127.0.0.1"
                )
                : ClientIdentity(
                    pkcs12: try TestCertificates.data("client.p12"),
                    password: "password",
                    for: "127.0.0.1"
                )
            let options = SecureOrigin.Options(requiresClientCertificate: true)
            try await run(identities: [identity], speaking: [version], options: options) { network, origin in
                let response = try await network.data(HTTPRequestData(path: "version"))
                #expect(response.status == .ok)
                #expect(origin.requests.count == 1)
            }
        }

        @Test(arguments: versions)
        func requestWithoutTheRequiredIdentityFails(version: String) async throws {
            let data = try TestCertificates.data("client.p12")
            let options = SecureOrigin.Options(requiresClientCertificate: true)
            for identities in [[], [ClientIdentity(pkcs12: data, password: "password", for: "api.example.com")]] {
                try await run(identities: identities, speaking: [version], options: options) { network, origin in
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "version"))
                    }
                    #expect(error?.kind == .tls || error?.kind == .connectionLost, "\(String(reflecting: error))")
                    #expect(origin.requests.isEmpty)
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

        /// Another server has a valid certificate for another name.
        @Test func redirectToAnotherHostSendsNoCredentials() async throws {
            let pins = HostPins("127.0.0.1", pins: [try pin("trusted"), Self.unknownPin])
            try await SecureOrigin.run(with: .elsewhere) { other in
                let options = SecureOrigin.Options(redirectTarget: "https://localhost:\(other.port)/version")
                try await run(pins: [pins], options: options) { network, origin in
                    let network = network.authenticated(with: BearerCredentials(token: "token-1"))
                        .cookies(in: CookieJar())
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(HTTPRequestData(path: "redirect"))
                    }
                    #expect(error?.kind == .tls, "\(String(reflecting: error))")
                    #expect(origin.requests == ["GET /redirect"])
                    #expect(other.requests.isEmpty)
                }
            }
            // A valid certificate of the other host: it receives the request without credentials.
            try await SecureOrigin.run(with: .rotated) { other in
                let options = SecureOrigin.Options(redirectTarget: "https://localhost:\(other.port)/version")
                try await run(pins: [pins], options: options) { network, origin in
                    let network = network.authenticated(with: BearerCredentials(token: "token-1"))
                        .cookies(in: CookieJar())
                    let response = try await network.data(HTTPRequestData(path: "redirect"))
                    #expect(response.status == .ok)
                    #expect(origin.fields.first?["authorization"].first?.contains("token-1") == true)
                    #expect(other.requests == ["GET /version"])
                    #expect(other.fields.first?["authorization"] == [])
                    #expect(other.fields.first?["cookie"] == [])
                }
            }
        }
    }
}
#endif
