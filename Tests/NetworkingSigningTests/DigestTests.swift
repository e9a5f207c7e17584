#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingSigning

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DigestTests {
    private let host = "cameras.example"
    private let signer = DigestSigner(user: "emily", password: "secret-1")

    private func stack(
        _ transport: some NetworkingComponent,
        _ signer: DigestSigner? = nil
    ) -> AnyNetworkingComponent {
        AnyNetworkingComponent(transport.signed(with: signer ?? self.signer).server(authority: host))
    }

    private static func challenge(_ values: String...) -> MockResponse {
        .status(
            .unauthorized,
            headerFields: HTTPFields(values.map { HTTPField(name: .wwwAuthenticate, value: $0) })
        )
    }

    /// The parameters of an Authorization field.
    private static func parameters(_ field: String?) -> [String: String] {
        field.flatMap { AuthenticationChallenge.challenges(in: $0).first }?.parameters ?? [:]
    }

    /// An environment with random bytes that give that client nonce.
    private static func environment(clientNonce: String) throws -> NetworkEnvironment {
        let bytes = Array(try #require(Data(base64Encoded: clientNonce)))
        var environment = NetworkEnvironment()
        environment.secureRandom = SecureRandomSource { _ in bytes }
        return environment
    }

    // MARK: Examples of the specifications

    private static let mufasa = """
        realm="http-auth@example.org", qop="auth, auth-int", algorithm=ALGORITHM, \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """

    /// RFC 7616 section 3.9.1.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func matchesTheExampleOfRFC7616(algorithm: String, response: String) async throws {
        let environment = try Self.environment(clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        let field = Self.mufasa.replacingOccurrences(of: "ALGORITHM", with: algorithm)
        let transport = MockTransport([Self.challenge("Digest \(field)"), .ok()])
        let network = transport.signed(with: DigestSigner(user: "Mufasa", password: "Circle of Life"))
            .server(authority: "www.example.org")
        try await withEnvironment(environment) {
            try await network.data(HTTPRequestData(path: "dir/index.html"))
        }
        #expect(
            transport.authorizations == [
                nil,
                """
                Digest username="Mufasa", realm="http-auth@example.org", \
                nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", uri="/dir/index.html", response="\(response)", \
                algorithm=\(algorithm), opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", qop=auth, nc=00000001, \
                cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
                """,
            ]
        )
    }

    /// RFC 7616 section 3.9.2, corrected by erratum 4897.
    @Test func matchesTheExampleWithAHashedUser() async throws {
        let environment = try Self.environment(clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        let challenge = """
            Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
            nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
            opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true
            """
        let transport = MockTransport([Self.challenge(challenge), .ok()])
        let network = transport.signed(with: DigestSigner(user: "Jäsøn Doe", password: "Secret, or not?"))
            .server(authority: "api.example.org")
        try await withEnvironment(environment) {
            try await network.data(HTTPRequestData(path: "doe.json"))
        }
        let field = try #require(transport.authorizations.last ?? nil)
        let parameters = Self.parameters(field)
        #expect(parameters["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
        #expect(parameters["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
        #expect(parameters["opaque"] == "HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS")
        #expect(field.contains("userhash=true"))
        #expect(!field.contains("username*"))
    }

    /// RFC 2617 section 3.5.
    ///
    /// Its client nonce is shorter than the library's.
    @Test func matchesTheExampleOfRFC2617() throws {
        let sent = """
            Digest username="Mufasa", realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
            uri="/dir/index.html", qop=auth, nc=00000001, cnonce="0a4f113b", response="?"
            """
        let authorization = try #require(DigestAuthorization(in: HTTPRequestData(headerFields: [.authorization: sent])))
        let digest = authorization.digest(user: "Mufasa", password: "Circle Of Life", method: "GET", body: nil)
        #expect(digest == "6629fae49393a05397450978507c4ef1")
    }

    // MARK: Algorithms and qualities

    private static let algorithms = [
        nil, "MD5", "md5-sess", "SHA-256", "SHA-256-sess", "SHA-512-256", "SHA-512-256-sess", "SHA-512",
    ]

    @Test(arguments: algorithms, [nil, "auth", "auth-int", "auth-int,auth"])
    func authenticatesWithEveryAlgorithmAndQuality(algorithm: String?, quality: String?) async throws {
        let server = DigestServer {
            ($0.algorithm, $0.quality) = (algorithm, quality)
            if quality != nil { $0.info = #"qop=\#(quality == "auth-int" ? "auth-int" : "auth"), rspauth="{proof}""# }
        }
        let transport = server.transport
        let network = stack(transport)
        for _ in 1...3 {
            let request = HTTPRequestData(method: .post, path: "a%20b?c=d&e", body: .data(Data("body".utf8)))
            #expect(try await network.data(request).status == .ok)
        }
        #expect(transport.requests.count == 4)
        let sent = transport.authorizations.map { Self.parameters($0) }
        #expect(sent.map { $0["uri"] } == [nil] + Array(repeating: "/a%20b?c=d&e", count: 3))
        #expect(sent.map { $0["algorithm"] } == [nil] + Array(repeating: algorithm, count: 3))
        let isSession = algorithm?.hasSuffix("-sess") == true
        #expect(sent.last?["qop"] == (quality == "auth-int,auth" ? "auth" : quality))
        #expect(
            sent.map { $0["nc"] } == [nil] + (quality == nil ? [nil, nil, nil] : ["00000001", "00000002", "00000003"])
        )
        let clientNonces = Set(sent.compactMap { $0["cnonce"] })
        #expect(clientNonces.count == (isSession ? 1 : quality == nil ? 0 : 3))
    }

    /// A query with a custom encoding can hold characters that transports have to percent-encode.
    @Test func signsTheTargetAsSent() async throws {
        let transport = MockTransport([Self.challenge(#"Digest realm="a", nonce="1", qop="auth""#), .ok()])
        let network = stack(transport).server(queryEncoding: .allowing("filterxbc[]|"))
        try await network.data(HTTPRequestData(path: "a?filter[x]=b|c"))
        #expect(Self.parameters(transport.authorizations[1])["uri"] == "/a?filter%5Bx%5D=b%7Cc")
    }

    @Test func usesTheStrongestChallenge() async throws {
        let transport = MockTransport([
            Self.challenge(
                #"Digest realm="a", nonce="1", qop="auth", algorithm=MD5, Digest realm="a", nonce="2", algorithm=X-NEW"#,
                #"Basic realm="a""#,
                #"Digest realm="a", nonce="3", qop="auth", algorithm=SHA-256"#,
                #"Digest realm="a", nonce="4", qop="auth", algorithm=SHA-256-sess"#
            ),
            .ok(),
        ])
        try await stack(transport).data(HTTPRequestData())
        #expect(Self.parameters(transport.authorizations[1])["nonce"] == "3")
    }

    private let covering = DigestSigner(user: "emily", password: "secret-1", coversBody: true)

    @Test func coversBodiesIfAskedTo() async throws {
        let transport = DigestServer().transport
        let network = stack(transport, covering)
        try await network.data(HTTPRequestData())
        try await network.data(HTTPRequestData(method: .put, body: .data(Data("a".utf8))))
        let qualities = transport.authorizations.dropFirst().map { Self.parameters($0)["qop"] }
        #expect(qualities == ["auth-int", "auth-int"])
        #expect(transport.requests.map { $0.headerFields[.acceptEncoding] } == [nil, "identity", "identity"])
    }

    /// An attacker on the path could have removed auth-int from the challenge.
    @Test(arguments: ["auth", nil], ["GET", "PUT"])
    func refusesAChallengeThatLeavesTheBodyUncovered(quality: String?, method: String) async throws {
        let transport = DigestServer { $0.quality = quality }.transport
        let network = stack(transport, covering)
        let method = try #require(HTTPRequest.Method(method))
        let request = HTTPRequestData(method: method, body: method == .get ? nil : .data(Data("a".utf8)))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .unauthorized)
        #expect(error?.reason.contains("auth-int") == true)
        #expect(error?.reason.contains("coversBody") == true)
        #expect(transport.authorizations == [nil])
    }

    @Test func refusesALaterChallengeThatLeavesTheBodyUncovered() async throws {
        let transport = MockTransport([
            Self.challenge(#"Digest realm="a", nonce="1", qop="auth,auth-int", algorithm=SHA-256"#), .ok(),
            Self.challenge(#"Digest realm="a", nonce="2", qop="auth", algorithm=SHA-256, stale=true"#), .ok(),
        ])
        let network = stack(transport, covering)
        try await network.data(HTTPRequestData())
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
        #expect(error?.kind == .unauthorized)
        #expect(transport.requests.count == 3)
    }

    @Test func prefersAChallengeThatCoversTheBodyToAStrongerOne() async throws {
        let challenges = Self.challenge(
            #"Digest realm="a", nonce="1", qop="auth", algorithm=SHA-512-256"#,
            #"Digest realm="a", nonce="2", qop="auth-int", algorithm=MD5"#,
            #"Digest realm="a", nonce="3", qop="auth-int", algorithm=SHA-256"#
        )
        let transport = MockTransport([challenges, .ok(), challenges, .ok()])
        try await stack(transport, covering).data(HTTPRequestData())
        try await stack(transport).data(HTTPRequestData())
        #expect(transport.authorizations.map { Self.parameters($0)["nonce"] } == [nil, "3", nil, "1"])
    }

    /// A challenge that leaves the body uncovered must not lead to a plain-text password.
    @Test(arguments: [0, 1])
    func sendsNoPasswordAfterAChallengeThatLeavesTheBodyUncovered(order: Int) async throws {
        let transport = MockTransport([Self.both, .ok(), .ok()])
        let network = stacks(transport, covering)[order]
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
        #expect(error?.kind == .unauthorized)
        #expect(schemes(transport) == [nil])
    }

    private func expectRefusalOfABodyReadOnce(
        by network: some NetworkingComponent,
        over transport: MockTransport
    ) async throws {
        try await network.data(HTTPRequestData())
        let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(method: .put, body: once))
        }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(transport.requests.count == 2)
    }

    @Test func refusesABodyThatCannotBeCovered() async throws {
        let transport = DigestServer().transport
        let network = stack(transport, covering)
        try await expectRefusalOfABodyReadOnce(by: network, over: transport)
    }

    /// The transport decompresses the body, but the server's proof covers the compressed bytes.
    @Test func requestsNoCompressionIfTheBodyIsCovered() async throws {
        let transport = DigestServer { $0.quality = "auth-int" }.transport
        try await stack(transport).data(HTTPRequestData(headerFields: [.acceptEncoding: "gzip"]))
        #expect(transport.requests.map { $0.headerFields[.acceptEncoding] } == ["gzip", "identity"])
    }

    @Test func throwsIfTheServerRequiresCoverOfAStreamReadOnce() async throws {
        let server = DigestServer { $0.quality = "auth-int" }
        let transport = server.transport
        let network = stack(transport)
        try await expectRefusalOfABodyReadOnce(by: network, over: transport)
    }

    // MARK: Users and realms

    @Test(arguments: ["Jäsøn Doe", "a\"b\\c", "Emily (\u{30}\u{301})", "\"\u{301}"])
    func encodesAnyUserAndRealm(user: String) async throws {
        for isRedacted in [false, true] where !isRedacted || user == "Jäsøn Doe" {
            let server = DigestServer {
                $0.realm = #"the \"inner\" realm"#
                $0.more = isRedacted ? ", userhash=true, charset=UTF-8" : ""
            }
            let transport = server.transport
            let network = stack(transport, DigestSigner(user: user, password: "secret-1"))
            #expect(try await network.data(HTTPRequestData()).status == .ok)
            let field = try #require(transport.authorizations[1])
            #expect(field.utf8.allSatisfy { $0 < 127 })
            #expect(field.contains(#"realm="the \"inner\" realm""#))
            #expect(field.contains("username*=UTF-8''") == (!isRedacted && !user.utf8.allSatisfy { $0 < 127 }))
        }
    }

    /// A quotation mark with a combining accent is one `Character`, but still ends the quoted string.
    @Test func quotationMarksAreEscapedWhateverFollowsThem() async throws {
        let transport = MockTransport([
            Self.challenge("Digest realm=\"a\\\"\u{301}b\", nonce=\"1\", qop=\"auth\""), .ok(),
        ])
        #expect(try await stack(transport).data(HTTPRequestData()).status == .ok)
        let field = try #require(transport.authorizations[1])
        #expect(field.utf8.firstRange(of: "realm=\"a\\\"\u{301}b\", nonce=\"1\"".utf8) != nil)
    }

    // MARK: Nonces

    @Test func concurrentRequestsUseEachNonceCountOnce() async throws {
        let server = DigestServer()
        let network = stack(server.transport)
        try await network.data(HTTPRequestData())
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { try await network.data(HTTPRequestData()).status }
            }
            for try await status in group {
                #expect(status == .ok)
            }
        }
        #expect(server.counts["nonce-1"]?.sorted() == Array(1...51))
    }

    @Test(arguments: [true, false])
    func replacesAnExpiredNonce(reportsStale: Bool) async throws {
        let server = DigestServer {
            $0.uses = 2
            $0.reportsStale = reportsStale
        }
        let transport = server.transport
        let network = stack(transport)
        for _ in 1...5 {
            #expect(try await network.data(HTTPRequestData()).status == .ok)
        }
        #expect(transport.requests.count == 1 + 5 + 2)
    }

    /// A challenge with `stale=true` says nothing about the password, even after one use of the nonce.
    @Test func replacesAStaleNonceOncePerRequest() async throws {
        let transport = MockTransport([
            Self.challenge(#"Digest realm="a", nonce="1", qop="auth""#),
            Self.challenge(#"Digest realm="a", nonce="2", qop="auth", stale=true"#),
            Self.challenge(#"Digest realm="a", nonce="3", qop="auth", stale=true"#),
            .ok(),
        ])
        let network = stack(transport)
        #expect(try await network.data(HTTPRequestData()).status == .unauthorized)
        #expect(transport.authorizations.map { Self.parameters($0)["nonce"] } == [nil, "1", "2"])
        // The next request uses the nonce of the last challenge.
        #expect(try await network.data(HTTPRequestData()).status == .ok)
        #expect(Self.parameters(transport.authorizations.last ?? nil)["nonce"] == "3")
    }

    /// The nonce expires while two requests use it.
    ///
    /// Their responses can arrive in either order.
    @Test(arguments: [true, false])
    func concurrentRequestsReplaceAnExpiredNonce(isInOrder: Bool) async throws {
        let gates = ["/first": Suspension<Void>(), "/second": Suspension<Void>()]
        let arrivals = ["/first": Suspension<Void>(), "/second": Suspension<Void>()]
        let transport = MockTransport { request in
            guard let path = request.path, let field = request.headerFields[.authorization] else {
                return Self.challenge(#"Digest realm="a", nonce="1", qop="auth""#)
            }
            guard Self.parameters(field)["nonce"] == "1" else { return .ok() }
            arrivals[path]?.resume()
            try await gates[path]?.value()
            return Self.challenge(#"Digest realm="a", nonce="2", qop="auth""#)
        }
        let network = stack(transport)
        async let first = network.data(HTTPRequestData(path: "first"))
        try await arrivals["/first"]?.value()
        async let second = network.data(HTTPRequestData(path: "second"))
        try await arrivals["/second"]?.value()
        if isInOrder {
            gates["/first"]?.resume()
            #expect(try await first.status == .ok)
            gates["/second"]?.resume()
        } else {
            gates["/second"]?.resume()
            #expect(try await second.status == .ok)
            gates["/first"]?.resume()
        }
        #expect(try await first.status == .ok)
        #expect(try await second.status == .ok)
    }

    @Test func triesAWrongPasswordOnce() async throws {
        let server = DigestServer { $0.password = "another" }
        let transport = server.transport
        let network = stack(transport)
        for _ in 1...2 {
            let response = try await network.data(HTTPRequestData())
            #expect(response.status == .unauthorized)
        }
        #expect(transport.authorizations.map { $0 != nil } == [false, true, false, true])
    }

    /// A new nonce does not make a wrong password right.
    @Test func triesAWrongPasswordOnceEvenIfEachRefusalHasANewNonce() async throws {
        let number = Atomic(0)
        let transport = MockTransport { _ in
            let nonce = number.add(1, ordering: .relaxed).newValue
            return Self.challenge(#"Digest realm="a", nonce="\#(nonce)", qop="auth""#)
        }
        #expect(try await stack(transport).data(HTTPRequestData()).status == .unauthorized)
        #expect(transport.authorizations.map { $0 != nil } == [false, true])
    }

    @Test func doesNotRetryWithTheSameStaleNonce() async throws {
        let challenge = Self.challenge(#"Digest realm="a", nonce="1", qop="auth", stale=true"#)
        let transport = MockTransport([challenge, challenge, challenge, challenge])
        #expect(try await stack(transport).data(HTTPRequestData()).status == .unauthorized)
        #expect(transport.requests.count == 2)
    }

    /// The other realm can follow a new nonce or one that was already used.
    @Test(arguments: [1, 2])
    func authenticatesAgainForAnotherRealm(uses: Int) async throws {
        let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let transport = MockTransport([
            Self.challenge(#"Digest realm="a", nonce="1", qop="auth""#),
            uses == 1 ? Self.challenge(#"Digest realm="b", nonce="2", qop="auth""#) : .ok(),
            uses == 1 ? .ok() : Self.challenge(#"Digest realm="b", nonce="2", qop="auth""#),
            .ok(),
        ])
        let network = stack(transport)
        try await network.data(HTTPRequestData(method: .put, path: "a", body: uses == 1 ? once : nil))
        #expect(try await network.data(HTTPRequestData(path: "b")).status == .ok)
        let realms = transport.authorizations.map { Self.parameters($0)["realm"] }
        #expect(realms == (uses == 1 ? [nil, "a", "b"] : [nil, "a", "a", "b"]))
    }

    // MARK: Protection spaces

    @Test func authenticatesInAdvanceWithinTheDomain() async throws {
        let transport = MockTransport { request in
            request.path == "/a/1" && request.headerFields[.authorization] == nil
                ? Self.challenge(
                    #"Digest realm="a", nonce="1", qop="auth", domain="/a /c https://files.example/d nonsense //x""#
                ) : .ok()
        }
        let network = transport.signed(with: signer, at: ["files.example"]).server(authority: host)
        for path in ["a/1", "a/2?b", "b", "c", "d"] {
            try await network.data(HTTPRequestData(path: path))
        }
        for url in ["https://files.example/d/e", "https://files.example/a"] {
            try await network.data(HTTPRequestData(url: try #require(URL(string: url))))
        }
        #expect(transport.authorizations.map { $0 != nil } == [false, true, true, false, true, false, true, false])
    }

    @Test func authenticatesAChallengedRequestOutsideTheDomain() async throws {
        let server = DigestServer { $0.more = #", domain="/elsewhere""# }
        let transport = server.transport
        #expect(try await stack(transport).data(HTTPRequestData(path: "here")).status == .ok)
        #expect(transport.requests.count == 2)
    }

    @Test func sendsNoCredentialsToOtherOrigins() async throws {
        let server = DigestServer()
        let transport = server.transport
        let network = stack(transport)
        try await network.data(HTTPRequestData())
        let elsewhere = HTTPRequestData(url: try #require(URL(string: "https://elsewhere.example/")))
        #expect(try await network.data(elsewhere).status == .unauthorized)
        #expect(transport.authorizations.map { $0 != nil } == [false, true, false])
    }

    @Test func limitsTheNumberOfRememberedChallenges() {
        let sessions = DigestSessions()
        let challenge = AuthenticationChallenge.challenges(in: #"Digest realm="a", nonce="1", qop="auth""#)
        let hosts = (0..<DigestSessions.capacity + 5).map { HTTPRequestData(authority: "host-\($0).example") }
        for request in hosts {
            sessions.begin(DigestChallenge.byStrength(challenge)[0], to: request)
        }
        #expect(hosts.count { sessions.next(for: $0) != nil } == DigestSessions.capacity)
        #expect(sessions.next(for: hosts[0]) == nil)
    }

    // MARK: The server's proof

    @Test(arguments: ["SHA-256", "MD5-sess"], ["auth", "auth-int"])
    func verifiesTheServersProof(algorithm: String, quality: String) async throws {
        for (proof, isGood) in [
            ("{proof}", true), ("", false), ("0123", false), (String(repeating: "0", count: 64), false),
        ] {
            let server = DigestServer {
                ($0.algorithm, $0.quality) = (algorithm, quality)
                $0.info = #"qop=\#(quality), rspauth="\#(proof)", cnonce="{cnonce}", nc={nc}"#
            }
            let network = stack(server.transport)
            if isGood {
                #expect(try await network.data(HTTPRequestData()).status == .ok)
                continue
            }
            let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
            #expect(error?.kind == .invalidResponse)
            #expect(error?.response == nil)
            #expect(error?.reason.contains("rspauth") == true)
            #expect(!everyPrint(of: error as Any).contains("secret-1"))
        }
    }

    @Test(arguments: [
        #"rspauth="{proof}", cnonce="other""#, #"rspauth="{proof}", nc=0000000f"#, #"rspauth="{proof}", nc=x"#,
    ])
    func rejectsAProofForAnotherRequest(info: String) async {
        let network = stack(DigestServer { $0.info = info }.transport)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
        #expect(error?.kind == .invalidResponse)
    }

    @Test func detectsAChangedResponseBody() async {
        let server = DigestServer {
            $0.quality = "auth-int"
            $0.info = #"qop=auth-int, rspauth="{proof}""#
        }
        let transport = MockTransport { request in
            let response = server.response(to: request)
            guard request.headerFields.contains(.authorization) else { return response }
            server.change { $0.body = "changed" }
            return response
        }
        server.change { $0.body = "hello" }
        let honest = stack(transport)
        await #expect(throws: Never.self) { try await honest.data(HTTPRequestData()) }
        let changing = Changing(body: Data("evil".utf8))
        let network = transport.modified(changing).signed(with: signer).server(authority: host)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
        #expect(error?.kind == .invalidResponse)
    }

    private struct Changing: NetworkingModifier {
        let body: Data

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            var response = try await upstream.send(request)
            if response.status == .ok { response.data = body }
            return response
        }
    }

    @Test func usesTheNextNonce() async throws {
        let server = DigestServer { $0.info = #"nextnonce="next-1""# }
        let transport = server.transport
        let network = stack(transport)
        for _ in 1...3 {
            #expect(try await network.data(HTTPRequestData()).status == .ok)
        }
        let sent = transport.authorizations.dropFirst().map { Self.parameters($0) }
        #expect(sent.map { $0["nonce"] } == ["nonce-1", "next-1", "next-1"])
        // A next nonce equal to the current one does not restart the count.
        #expect(sent.map { $0["nc"] } == ["00000001", "00000001", "00000002"])
    }

    // MARK: Unusable challenges

    @Test(arguments: [
        "", "Digest", #"Digest realm="a""#, #"Digest nonce="1""#, #"Digest realm="a", nonce="1", qop="token""#,
        #"Digest realm="a", nonce="1", algorithm=SHA-1"#,
        "Digest realm=\"a\", nonce=\"\(String(repeating: "x", count: 9_000))\"", #"Digest realm="a, nonce="#,
        "Basic realm=\"a\"", "Digest ,,,=,\"", "Digest dG9rZW4=",
    ])
    func returnsTheResponseToAnUnusableChallenge(challenge: String) async throws {
        let transport = MockTransport([Self.challenge(challenge)])
        let response = try await stack(transport).data(HTTPRequestData())
        #expect(response.status == .unauthorized)
        #expect(transport.requests.count == 1)
    }

    /// swift-http-types replaces these characters by spaces, but other sources do not.
    @Test(arguments: ["nonce=\"1\r\nX: 2\"", "nonce=\"\u{0}\"", "nonce=\"1\", opaque=\"\u{7f}\""])
    func ignoresAChallengeWithControlCharacters(parameters: String) {
        let challenges = AuthenticationChallenge.challenges(in: "Digest realm=\"a\", \(parameters)")
        #expect(challenges.count == 1)
        #expect(DigestChallenge.byStrength(challenges).isEmpty)
    }

    @Test func randomChallengesDoNotTrap() async throws {
        var random = RandomSource.seeded(7)
        let fragments = [
            "Digest", " ", ",", "=", "\"", "\\", "realm", "nonce", "qop", "auth", "domain", "/", "stale=true", "é",
            "opaque",
            "algorithm", "MD5-sess", "userhash=true", "%", "https://", ":", "[",
        ]
        for _ in 0..<500 {
            let length = Int.random(in: 0..<40, using: &random)
            let text = (0..<length).map { _ in fragments.randomElement(using: &random)! }
            let transport = MockTransport { request in
                request.headerFields.contains(.authorization) ? .ok() : Self.challenge(text.joined())
            }
            _ = try await stack(transport).data(HTTPRequestData())
        }
    }

    // MARK: Other credentials in the stack

    private static let both = challenge(#"Basic realm="a", Digest realm="a", nonce="1", qop="auth", algorithm=SHA-256"#)

    private func stacks(
        _ transport: some NetworkingComponent,
        _ signer: DigestSigner? = nil
    ) -> [AnyNetworkingComponent] {
        let basic = BasicCredentials(user: "emily", password: "secret-1")
        let signer = signer ?? self.signer
        return [
            AnyNetworkingComponent(
                transport.signed(with: signer).authenticated(with: basic, preemptive: false).server(authority: host)
            ),
            AnyNetworkingComponent(
                transport.authenticated(with: basic, preemptive: false).signed(with: signer).server(authority: host)
            ),
        ]
    }

    private func schemes(_ transport: MockTransport) -> [String?] {
        transport.authorizations.map { $0.map { String($0.prefix { $0 != " " }) } }
    }

    @Test(arguments: [0, 1])
    func prefersDigestToBasic(order: Int) async throws {
        let transport = MockTransport([Self.both, .ok(), .ok()])
        let network = stacks(transport)[order]
        #expect(try await network.data(HTTPRequestData()).status == .ok)
        #expect(try await network.data(HTTPRequestData()).status == .ok)
        #expect(schemes(transport) == [nil, "Digest", "Digest"])
    }

    @Test(arguments: [0, 1])
    func usesBasicIfTheServerOffersNothingElse(order: Int) async throws {
        let transport = MockTransport([Self.challenge(#"Basic realm="a""#), .ok()])
        #expect(try await stacks(transport)[order].data(HTTPRequestData()).status == .ok)
        #expect(schemes(transport) == [nil, "Basic"])
    }

    /// Digest was refused, so a plain-text password would reach a server that did not accept its proof.
    @Test(arguments: [0, 1], [both, challenge(#"Basic realm="a""#)])
    func doesNotFallBackToBasicAfterDigestWasRefused(order: Int, refusal: MockResponse) async throws {
        let transport = MockTransport([Self.both, refusal, .ok(), .ok()])
        let response = try await stacks(transport)[order].data(HTTPRequestData())
        #expect(response.status == .unauthorized)
        #expect(schemes(transport) == [nil, "Digest"])
    }

    /// The same holds if Digest was sent before a challenge.
    @Test(arguments: [0, 1])
    func doesNotFallBackToBasicAfterDigestInAdvanceWasRefused(order: Int) async throws {
        let transport = MockTransport([Self.both, .ok(), Self.challenge(#"Basic realm="a""#), .ok()])
        let network = stacks(transport)[order]
        try await network.data(HTTPRequestData())
        #expect(try await network.data(HTTPRequestData()).status == .unauthorized)
        #expect(schemes(transport) == [nil, "Digest", "Digest"])
    }

    @Test func prefersBearerToDigest() async throws {
        let challenge = Self.challenge(#"Bearer, Digest realm="a", nonce="1", qop="auth""#)
        let transport = MockTransport([challenge, .ok()])
        let network = transport.signed(with: signer)
            .authenticated(with: BearerCredentials(token: "token"), preemptive: false).server(authority: host)
        #expect(try await network.data(HTTPRequestData()).status == .ok)
        #expect(schemes(transport) == [nil, "Bearer"])
    }

    // MARK: In a stack

    @Test func authenticatesEachAttemptAndRedirect() async throws {
        let server = DigestServer()
        let failures = Mutex(1)
        let transport = MockTransport { request in
            guard request.headerFields.contains(.authorization) else { return server.response(to: request) }
            if request.path == "/a" { return .redirect(to: "/b") }
            return failures.withLock {
                $0 -= 1
                return $0
            } == 0 ? .status(.serviceUnavailable) : server.response(to: request)
        }
        let network = transport.signed(with: signer).retry(.immediate()).server(authority: host)
        #expect(try await network.data(HTTPRequestData(path: "a")).status == .ok)
        let sent = transport.authorizations.map { Self.parameters($0) }
        #expect(sent.map { $0["uri"] } == [nil, "/a", "/b", "/a", "/b"])
        #expect(sent.map { $0["nc"] } == [nil, "00000001", "00000002", "00000003", "00000004"])
    }

    @Test func readsTheChallengeOfAStatusError() async throws {
        let server = DigestServer()
        let network = server.transport.checkedStatusCode().signed(with: signer).server(authority: host)
        #expect(try await network.data(HTTPRequestData()).status == .ok)
    }

    @Test func returnsTheChallengeIfTheBodyCannotBeSentAgain() async throws {
        let server = DigestServer()
        let transport = server.transport
        let network = stack(transport)
        let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        #expect(try await network.data(HTTPRequestData(method: .put, body: once)).status == .unauthorized)
        // The next request authenticates without a challenge.
        #expect(try await network.data(HTTPRequestData()).status == .ok)
        #expect(transport.requests.count == 2)
    }

    @Test func responseBelongsToTheUser() async throws {
        let response = try await stack(DigestServer().transport).data(HTTPRequestData())
        #expect(response.principal == Principal(id: "emily"))
    }

    @Test func descriptionsRedactThePassword() async throws {
        let transport = DigestServer().transport
        let response = try await stack(transport).data(HTTPRequestData())
        let prints =
            everyPrint(of: signer) + everyPrint(of: response) + everyPrint(of: response.sentRequest)
            + everyPrint(of: stack(transport)) + stack(transport).outline
        #expect(!prints.contains("secret-1"))
        let proof = try #require(Self.parameters(response.sentRequest.headerFields[.authorization])["response"])
        #expect(!prints.contains(proof))
        #expect("\(signer)" == "DigestSigner(<redacted>)")
        #expect(signer.method == .digest)
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws {
            AnyNetworkingComponent($0.signed(with: DigestSigner(user: "emily", password: "p"), at: ["laws.example"]))
        }
    }
}
#endif
