#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Proofs in stacks that send a request several times, to several servers or for several users (RFC 9449).
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DPoPStackTests {
    private let provider = DPoPProvider()
    private let client = OAuthClient(DPoPProvider.system())
    private let transport: MockTransport

    init() {
        transport = provider.transport
    }

    private func onClock(_ network: some NetworkingComponent) -> AnyNetworkingComponent {
        AnyNetworkingComponent(network.environment(\.clock, .manual(provider.clock)))
    }

    private func get(
        _ path: String = "orders",
        over network: AnyNetworkingComponent
    ) async throws -> HTTPResponse.Status {
        try await network.data(HTTPRequestData(path: RequestPath(path))).status
    }

    /// The proofs of the API's requests.
    private var proofs: [Proof] {
        zip(transport.requests, transport.proofs).filter { $0.0.path != "/token" }.compactMap(\.1)
    }

    /// Checks that the provider has seen no invalid and no repeated proof.
    private func expectFreshProofs(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(provider.get(\.complaints).isEmpty, sourceLocation: sourceLocation)
        #expect(proofs.count == count, sourceLocation: sourceLocation)
        #expect(Set(proofs.compactMap { $0.claim("jti") }).count == count, sourceLocation: sourceLocation)
    }

    // MARK: Several attempts

    @Test func hedgedAttemptsHaveProofsOfTheirOwn() async throws {
        let network = onClock(
            transport.authenticated(oauth: client).hedged(.after(.milliseconds(100), extraLoad: 1), budget: .unlimited)
                .server(authority: "api.example.com")
        )
        try await network.oauth(client).signIn(with: provider.user)
        let held = HeldResponse()
        provider.set(\.scripted, [.held(by: held)])
        async let status = get(over: network)
        try await held.waitForRequests()
        try await eventually("the second attempt is due") { provider.clock.nextDeadline != nil }
        provider.clock.advance(by: .milliseconds(100))
        #expect(try await status == .ok)
        expectFreshProofs(2)
    }

    @Test func deduplicatedRequestsShareOneProof() async throws {
        let inFlight = InFlightRequests()
        let network = onClock(
            transport.authenticated(oauth: client).deduplicated(sharing: inFlight).server(authority: "api.example.com")
        )
        try await network.oauth(client).signIn(with: provider.user)
        let held = HeldResponse()
        provider.set(\.scripted, [.held(by: held)])
        let calls = (0..<5).map { _ in Task { try await get(over: network) } }
        try await eventually("all calls wait") { inFlight.waiting == 5 }
        held.respond(with: .text("hello"))
        for call in calls { #expect(try await call.value == .ok) }
        expectFreshProofs(1)
    }

    /// The repetition with a nonce is not an attempt of `retry`, and each attempt may need one.
    @Test func retriedRequestIsRepeatedWithANonceOnce() async throws {
        let network = onClock(
            transport.authenticated(oauth: client).retry(.immediate(maximumRetries: 1), budget: .unlimited)
                .server(authority: "api.example.com")
        )
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["api.example.com": "n-1"])
        provider.set(\.scripted, [.status(.serviceUnavailable)])
        #expect(try await get(over: network) == .ok)
        #expect(proofs.map { $0.claim("nonce") } == [nil, "n-1", "n-1"])
        expectFreshProofs(3)
    }

    @Test func eachHopOfARedirectHasAProofWithTheNonceOfTheHopBefore() async throws {
        let network = provider.network(client, over: transport)
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["api.example.com": "n-1"])
        provider.set(\.scripted, [.redirect(to: "/archive?year=1#top", status: .temporaryRedirect)])
        #expect(try await get("orders?page=2", over: network) == .ok)
        let urls = ["orders", "orders", "archive"].map { "https://api.example.com/\($0)" }
        #expect(proofs.map { $0.claim("htu") } == urls)
        #expect(proofs.map { $0.claim("nonce") } == [nil, "n-1", "n-1"])
        expectFreshProofs(3)
    }

    /// A transport whose first exchange fails because a kept connection was closed.
    private struct ClosingTransport: NetworkingTransport {
        let server: MockTransport

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            let response = try await server.send(request)
            guard server.requests.count > 1 else {
                var error = NetworkingError(.connectionLost, request: request)
                error.noResponseAfter = .seconds(1)
                throw error
            }
            return response
        }
    }

    /// The server has seen the proof of an exchange whose response was lost.
    @Test func requestThatATransportHasRepeatedIsSentOnceMoreWithANewProof() async throws {
        let session = Session(accessToken: "token", refreshToken: "refresh").bound(to: DPoPKey())
        let client = OAuthClient(DPoPProvider.system(), session: session)
        let seen = Mutex<Set<String>>([])
        func server(accepting count: Int) -> MockTransport {
            MockTransport { request in
                let proof = request.headerFields[HTTPField.Name("DPoP")!] ?? ""
                let isAccepted = seen.withLock { $0.insert(proof).inserted && $0.count <= count }
                guard !isAccepted else { return .text("hello") }
                return .status(
                    .unauthorized,
                    headerFields: [.wwwAuthenticate: #"DPoP error="invalid_dpop_proof""#]
                )
            }
        }
        let transport = server(accepting: 10)
        let network = ClosingTransport(server: transport).authenticated(oauth: client)
            .server(authority: "api.example.com")
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
        #expect(transport.requests.count == 3)
        #expect(seen.withLock { $0.count } == 2)
        // Otherwise, a new proof would be refused for the same reason.
        let strict = server(accepting: 0)
        let other = strict.authenticated(oauth: client).server(authority: "api.example.com")
        #expect(try await other.data(HTTPRequestData(path: "orders")).status == .unauthorized)
        #expect(strict.requests.count == 1)
    }

    @Test func diagnosticsReportPartsThatSendARequestWithTheProofOfAnother() {
        let endpoints = ServerEndpoints("api.example.com", endpoints: ["eu.example.com", "us.example.com"])
        func messages(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message).filter { $0.contains("proof") }
        }
        let wrong: [(String, any NetworkingComponent)] = [
            ("retry(", transport.retry()),
            ("hedged(", transport.hedged()),
            ("fallbackToPost(", transport.fallbackToPost()),
            ("compressedBodies(", transport.compressedBodies()),
            ("server(endpoints:", transport.server(endpoints: endpoints)),
            ("retry(", transport.standard(.app)),
        ]
        for (name, network) in wrong {
            let found = messages(AnyNetworkingComponent(network).authenticated(oauth: client))
            #expect(found.count == 1 && found[0].contains("outside \(name)"), "\(name): \(found)")
            let bearer = AnyNetworkingComponent(network)
                .authenticated(oauth: OAuthClient(DPoPProvider.system(.disabled)))
            #expect(messages(bearer).isEmpty)
        }
        let right = transport.authenticated(oauth: client).server(endpoints: endpoints).hedged().retry()
            .fallbackToPost().compressedBodies().cached()
        #expect(messages(right).isEmpty)
    }

    // MARK: Several servers

    @Test func proofIsForTheEndpointThatTheAttemptIsSentTo() async throws {
        let endpoints = ServerEndpoints("api.example.com", endpoints: ["eu.example.com", "us.example.com"])
        let network = onClock(
            transport.authenticated(oauth: client).server(endpoints: endpoints)
                .retry(.immediate(maximumRetries: 1), budget: .unlimited).environment(\.random, .seeded(7))
        )
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["eu.example.com": "eu-1", "us.example.com": "us-1"])
        provider.set(\.scripted, [.status(.serviceUnavailable)])
        #expect(try await get(over: network) == .ok)
        #expect(
            Set(proofs.map { $0.claim("htu") }) == ["https://eu.example.com/orders", "https://us.example.com/orders"]
        )
        // Each endpoint has asked for its own nonce, and has received no other one.
        for proof in proofs {
            guard let nonce = proof.claim("nonce") else { continue }
            #expect(proof.claim("htu") == "https://\(nonce.prefix(2)).example.com/orders")
        }
        expectFreshProofs(4)
    }

    @Test func nonceOfAServerIsNotSentToAnother() async throws {
        let network = onClock(
            transport.authenticated(oauth: client, at: ["files.example.com"]).server(authority: "api.example.com")
        )
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["api.example.com": "api-1"])
        #expect(try await get(over: network) == .ok)
        for url in ["https://files.example.com/a", "https://api.example.com/a"] {
            _ = try await network.data(HTTPRequestData(method: .get, url: URL(string: url)!))
        }
        #expect(proofs.map { $0.claim("nonce") } == [nil, "api-1", nil, "api-1"])
        expectFreshProofs(4)
    }

    /// A server that the token is not for must not choose a part of the proofs.
    @Test func nonceOfAForeignServerIsIgnored() async throws {
        let network = provider.network(client, over: transport)
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["evil.example": "evil"])
        provider.set(\.scripted, [.redirect(to: "https://evil.example/a", status: .temporaryRedirect)])
        for _ in 0..<2 { #expect(try await get(over: network) == .ok) }
        #expect(transport.destinations.contains("evil.example/a"))
        #expect(proofs.allSatisfy { $0.claim("nonce") == nil })
        expectFreshProofs(2)
    }

    @Test func noncesOf64ServersAreKept() async throws {
        let hosts = (0...64).map { "h\($0).example.com" }
        let network = onClock(
            transport.authenticated(oauth: client, at: hosts).server(authority: "api.example.com")
        )
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, Dictionary(uniqueKeysWithValues: hosts.map { ($0, "n-\($0)") }))
        func requests(for host: String) async throws -> Int {
            let before = transport.requests.count
            let request = HTTPRequestData(method: .get, url: URL(string: "https://\(host)/a")!)
            #expect(try await network.data(request).status == .ok)
            return transport.requests.count - before
        }
        for host in hosts { #expect(try await requests(for: host) == 2) }
        for host in [hosts[64], hosts[1], hosts[32]] { #expect(try await requests(for: host) == 1) }
        // The oldest nonce has been removed.
        #expect(try await requests(for: hosts[0]) == 2)
        #expect(try await requests(for: hosts[1]) == 1)
        #expect(provider.get(\.complaints).isEmpty)
    }

    // MARK: Several users

    /// A nonce may be a mark by which a server recognizes a user.
    @Test func nonceOfAUserIsNotSentForTheNextOne() async throws {
        let network = provider.network(client, over: transport)
        provider.set(\.nonces, ["api.example.com": "emily-1", "login.example.com": "emily-2"])
        try await network.oauth(client).signIn(with: provider.user)
        #expect(try await get(over: network) == .ok)
        client.remove()
        let before = transport.requests.count
        provider.set(\.nonces, ["api.example.com": "james-1", "login.example.com": "james-2"])
        try await network.oauth(client).signIn(with: provider.user)
        #expect(try await get(over: network) == .ok)
        let nonces = transport.proofs.dropFirst(before).map { $0?.claim("nonce") }
        #expect(nonces == [nil, "james-2", nil, "james-1"])
        #expect(provider.get(\.complaints).isEmpty)
    }

    // MARK: Secrets

    @Test func dumpsOfAStackContainNoSecrets() async throws {
        let network = provider.network(client, over: transport)
        let session = try await network.oauth(client).signIn(with: provider.user)
        let key = try #require(session.dpopKey)
        #expect(try await get(over: network) == .ok)
        var text = "\(network) \(network.outline) \(client) \(network.oauth(client))"
        dump(network, to: &text)
        dump(network.modifiers, to: &text)
        dump(client, to: &text)
        dump(network.oauth(client), to: &text)
        dump(client.system, to: &text)
        let raw = key.rawRepresentation
        let secrets = [
            raw.base64EncodedString(), Base64URL.encode(raw), "\(Array(raw))", session.accessToken,
            try #require(session.refreshToken),
        ]
        for secret in secrets { #expect(!text.contains(secret)) }
    }

    /// An app that sends a session to its own server logs no key.
    @Test func encodedSessionIsRedactedInBodies() throws {
        let session = Session(accessToken: "access-token", refreshToken: "refresh-token").bound(to: DPoPKey())
        let body = try JSONEncoder().encode(session)
        let redacted = try #require(Redaction.standard.body(body, contentType: "application/json"))
        let text = String(decoding: redacted, as: UTF8.self)
        let key = try #require(session.dpopKey).rawRepresentation.base64EncodedString()
        for secret in [key, "access-token", "refresh-token"] {
            #expect(!text.contains(secret))
            #expect(!text.contains(secret.replacing("/", with: "\\/")))
        }
    }
}
#endif
