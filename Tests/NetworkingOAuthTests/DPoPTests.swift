#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Tokens that are bound to a key, and the proofs of the key (RFC 9449).
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DPoPTests {
    private let provider = DPoPProvider()
    private let client = OAuthClient(DPoPProvider.system())
    private let transport: MockTransport
    private let network: AnyNetworkingComponent

    init() {
        transport = provider.transport
        network = provider.network(client, over: transport)
    }

    private func get(
        _ path: String = "orders",
        over other: AnyNetworkingComponent? = nil
    ) async throws -> HTTPResponseData {
        try await (other ?? network).data(HTTPRequestData(path: RequestPath(path)))
    }

    private var count: Int { transport.requests.count }

    // MARK: Proofs

    @Test func eachRequestHasAProofOfItsOwn() async throws {
        let session = try await network.oauth(client).signIn(with: provider.user)
        let key = try #require(session.dpopKey)
        #expect(session.accessToken == "access-2")
        for _ in 0..<3 { #expect(try await get("orders?page=1").status == .ok) }
        #expect(transport.destinations.first == "login.example.com/token")
        #expect(transport.requests.dropFirst().allSatisfy { $0.headerFields[.authorization] == "DPoP access-2" })
        #expect(transport.requests[0].headerFields[.authorization] == nil)
        let proofs = transport.proofs.compactMap(\.self)
        #expect(proofs.count == 4)
        #expect(proofs.allSatisfy { $0.thumbprint == key.thumbprint })
        #expect(Set(proofs.compactMap { $0.claim("jti") }).count == 4)
        #expect(provider.get(\.complaints).isEmpty)
    }

    @Test func retriedRequestHasANewProof() async throws {
        let network = AnyNetworkingComponent(
            transport.authenticated(oauth: client).retry(.immediate()).server(authority: "api.example.com")
                .environment(\.clock, .manual(provider.clock))
        )
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.scripted, [.status(.serviceUnavailable)])
        #expect(try await get(over: network).status == .ok)
        #expect(count == 3)
        #expect(provider.get(\.complaints).isEmpty)
    }

    @Test func diagnosticsReportProofsThatAreRepeated() {
        let wrong = transport.retry().authenticated(oauth: client).server(authority: "api.example.com")
        #expect(wrong.diagnostics.contains { "\($0)".contains("outside retry") })
        let right = transport.authenticated(oauth: client).retry().server(authority: "api.example.com")
        #expect(!right.diagnostics.contains { "\($0)".contains("proof") })
    }

    // MARK: Nonces

    @Test func tokenRequestIsRepeatedWithTheNonceOfTheProvider() async throws {
        provider.set(\.nonces, ["login.example.com": "n-1"])
        try await network.oauth(client).signIn(with: provider.user)
        #expect(transport.destinations == ["login.example.com/token", "login.example.com/token"])
        #expect(transport.proofs.map { $0?.claim("nonce") } == [nil, "n-1"])
        // The nonce is used for the next token request, and not for the API.
        provider.expireTokens()
        #expect(try await get().status == .ok)
        #expect(transport.proofs.dropFirst(2).map { $0?.claim("nonce") } == [nil, "n-1", nil])
    }

    @Test func tokenRequestIsRepeatedOnce() async throws {
        let transport = MockTransport { _ in
            ScriptedProvider.refusal("use_dpop_nonce").headerFields([HTTPField.Name("DPoP-Nonce")!: "again"])
        }
        let account = provider.network(client, over: transport).oauth(client)
        let error = await #expect(throws: OAuthError.self) { try await account.signIn(with: provider.user) }
        #expect(error?.code == "use_dpop_nonce")
        #expect(transport.requests.count == 2)
    }

    @Test func requestIsRepeatedWithTheNonceOfTheServer() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["api.example.com": "n-1"])
        #expect(try await get().status == .ok)
        #expect(count == 3)
        // Each response may have the next nonce.
        for number in 2...4 {
            provider.set(\.nextNonce, "n-\(number)")
            #expect(try await get().status == .ok)
        }
        #expect(count == 6)
        #expect(
            transport.proofs.dropFirst().map { $0?.claim("nonce") } == [nil, "n-1", "n-1", "n-2", "n-3"]
        )
        // The token has not been refreshed.
        #expect(transport.destinations.count { $0 == "login.example.com/token" } == 1)
    }

    @Test func requestIsRepeatedOnceAndTheTokenIsNotRefreshed() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        let number = Mutex(0)
        let transport = MockTransport { _ in
            let number = number.withLock { number in
                number += 1
                return number
            }
            return .status(
                .unauthorized,
                headerFields: [
                    .wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, HTTPField.Name("DPoP-Nonce")!: "n-\(number)",
                ]
            )
        }
        #expect(try await get(over: provider.network(client, over: transport)).status == .unauthorized)
        #expect(transport.destinations == ["api.example.com/orders", "api.example.com/orders"])
    }

    @Test(arguments: [
        "", " ", "a b", #"a"b"#, #"a\b"#, "é", String(repeating: "n", count: 1_025),
    ])
    func invalidNonceIsIgnored(nonce: String) async throws {
        try await network.oauth(client).signIn(with: provider.user)
        let transport = MockTransport { _ in
            .status(
                .unauthorized,
                headerFields: [
                    .wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, HTTPField.Name("DPoP-Nonce")!: nonce,
                ]
            )
        }
        let network = provider.network(client, over: transport)
        #expect(try await get(over: network).status == .unauthorized)
        #expect(transport.requests.count == 1)
        #expect(try await get(over: network).status == .unauthorized)
        #expect(transport.proofs.allSatisfy { $0?.claims["nonce"] == nil })
    }

    @Test func bodyThatCanBeReadOnceIsNotRepeated() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.nonces, ["api.example.com": "n-1"])
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("a".utf8))
            continuation.finish()
        }
        let request = HTTPRequestData(method: .post, path: "orders", body: .stream(chunks))
        #expect(try await network.data(request).status == .unauthorized)
        #expect(count == 2)
        // The next request has the nonce.
        #expect(try await get().status == .ok)
        #expect(count == 3)
    }

    // MARK: Keys

    @Test func keyIsKeptByARefreshAndReplacedByASignIn() async throws {
        let first = try await network.oauth(client).signIn(with: provider.user)
        for _ in 0..<2 {
            provider.expireTokens()
            #expect(try await get().status == .ok)
            #expect(client.session?.dpopKey == first.dpopKey)
        }
        #expect(client.session?.accessToken == "access-4")
        let second = try await network.oauth(client).signIn(with: provider.user)
        #expect(second.dpopKey != nil)
        #expect(second.dpopKey != first.dpopKey)
        #expect(try await get().status == .ok)
        #expect(provider.get(\.complaints).isEmpty)
    }

    @Test func concurrentRequestsShareOneRefresh() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        provider.expireTokens()
        try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
            for _ in 0..<20 { group.addTask { try await get().status } }
            for try await status in group { #expect(status == .ok) }
        }
        #expect(transport.destinations.count { $0 == "login.example.com/token" } == 2)
        #expect(provider.get(\.complaints).isEmpty)
    }

    @Test func anotherProcessUsesTheKeyOfTheStoredSession() async throws {
        try await withTemporaryDirectory { directory in
            let first = OAuthClient(DPoPProvider.system(), in: FileSessionStorage(directory: directory))
            let network = provider.network(first, over: transport)
            try await network.oauth(first).signIn(with: provider.user)
            let storage = FileSessionStorage(directory: directory)
            let second = OAuthClient(DPoPProvider.system(), session: try storage.session(for: ""), in: storage)
            let otherNetwork = provider.network(second, over: transport)
            for _ in 0..<2 {
                provider.expireTokens()
                for network in [otherNetwork, network] { #expect(try await get(over: network).status == .ok) }
                #expect(first.session == second.session)
            }
            #expect(second.session?.dpopKey == first.session?.dpopKey)
            #expect(transport.destinations.count { $0 == "login.example.com/token" } == 3)
            #expect(provider.get(\.complaints).isEmpty)
        }
    }

    @Test(arguments: ["", "AAAA", "?"])
    func damagedKeyNeedsANewSignIn(key: String) async throws {
        let text = #"{"accessToken": "a", "refreshToken": "r", "networkingPrivateKey": "\#(key)"}"#
        let session = try JSONDecoder().decode(Session.self, from: Data(text.utf8))
        client.set(session)
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.kind == .unauthorized)
        #expect(oauthError(error)?.kind == .signInRequired)
        #expect(client.needsSignIn)
        #expect(transport.requests.isEmpty)
        try await network.oauth(client).signIn(with: provider.user)
        #expect(try await get().status == .ok)
    }

    @Test func tokensOfTheAppAreBound() async throws {
        let session = try await network.oauth(client).signIn(with: .clientCredentials)
        #expect(session.isBoundToKey)
        #expect(try await get().status == .ok)
        #expect(provider.get(\.complaints).isEmpty)
    }

    // MARK: Bearer tokens

    @Test func bearerTokenIsRefusedIfAKeyIsRequired() async {
        provider.set(\.tokenType, "Bearer")
        let error = await #expect(throws: OAuthError.self) {
            try await network.oauth(client).signIn(with: provider.user)
        }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.reason.contains("bearer token") == true)
        #expect(client.session == nil)
    }

    @Test func bearerTokenIsUsedIfAKeyIsPreferred() async throws {
        provider.set(\.tokenType, "Bearer")
        let client = OAuthClient(DPoPProvider.system(.preferred))
        let network = provider.network(client, over: transport)
        #expect(try await network.oauth(client).signIn(with: provider.user).dpopKey == nil)
        #expect(try await get(over: network).status == .ok)
        #expect(transport.requests[1].headerFields[.authorization] == "Bearer bearer")
        #expect(transport.requests[1].headerFields[HTTPField.Name("DPoP")!] == nil)
    }

    /// Otherwise, an attacker between the app and the provider could remove the protection.
    @Test func boundSessionIsNotRenewedWithABearerToken() async throws {
        let client = OAuthClient(DPoPProvider.system(.preferred))
        let network = provider.network(client, over: transport)
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.tokenType, "Bearer")
        provider.expireTokens()
        await #expect(throws: NetworkingError.self) { try await get(over: network) }
        #expect(client.session?.isBoundToKey == true)
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] != "Bearer bearer" })
    }

    @Test func tokenThatIsBoundToNoKeyOfTheClientIsRefused() async {
        let transport = MockTransport { _ in .text(#"{"access_token": "a", "token_type": "DPoP"}"#) }
        let client = OAuthClient(DPoPProvider.system(.disabled))
        let account = provider.network(client, over: transport).oauth(client)
        let error = await #expect(throws: OAuthError.self) { try await account.signIn(with: .clientCredentials) }
        #expect(error?.kind == .invalidResponse)
        #expect(transport.proofs.compactMap(\.self).isEmpty)
    }

    @Test(arguments: [OAuthDPoP.preferred, .required])
    func providerWithOtherAlgorithms(dpop: OAuthDPoP) async throws {
        provider.set(\.tokenType, "Bearer")
        var server = ScriptedProvider.server
        server.dpopAlgorithms = ["RS256"]
        var system = OAuthSystem(server: server, clientID: "shop")
        system.dpop = dpop
        let client = OAuthClient(system)
        let account = provider.network(client, over: transport).oauth(client)
        if dpop == .preferred {
            try await account.signIn(with: .clientCredentials)
            #expect(transport.proofs.compactMap(\.self).isEmpty)
        } else {
            let error = await #expect(throws: OAuthError.self) { try await account.signIn(with: .clientCredentials) }
            #expect(error?.kind == .discovery)
            #expect(transport.requests.isEmpty)
        }
    }

    // MARK: Other servers and other users

    @Test func redirectOnTheSameServerHasAProofForItsURL() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.scripted, [.redirect(to: "/archive?year=1", status: .temporaryRedirect)])
        let response = try await get()
        #expect(response.status == .ok)
        #expect(response.data == Data("hello".utf8))
        #expect(response.redirects.count == 1)
        #expect(transport.proofs[2]?.claim("htu") == "https://api.example.com/archive")
        #expect(provider.get(\.complaints).isEmpty)
    }

    @Test func redirectToAnotherServerHasNeitherTokenNorProof() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        provider.set(\.scripted, [.redirect(to: "https://evil.example/orders", status: .temporaryRedirect)])
        #expect(try await get().data == Data("public".utf8))
        let last = try #require(transport.requests.last)
        #expect(last.authority == "evil.example")
        #expect(last.headerFields[.authorization] == nil)
        #expect(last.headerFields[HTTPField.Name("DPoP")!] == nil)
    }

    @Test func otherServersGetNeitherTokenNorProof() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        _ = try await network.data(HTTPRequestData(method: .get, url: URL(string: "https://evil.example/a")!))
        let last = try #require(transport.requests.last)
        #expect(last.headerFields[.authorization] == nil)
        #expect(last.headerFields[HTTPField.Name("DPoP")!] == nil)
    }

    @Test(arguments: ["Authorization", "DPoP", "Authorization, DPoP"])
    func cachedResponseBelongsToTheUser(vary: String) async throws {
        let network = AnyNetworkingComponent(
            transport.authenticated(oauth: client).cached().server(authority: "api.example.com")
                .environment(\.clock, .manual(provider.clock))
        )
        provider.set(\.fieldsOfResponses, [.cacheControl: "private, max-age=60", .vary: vary])
        try await network.oauth(client).signIn(with: provider.user)
        for _ in 0..<3 { #expect(try await get(over: network).status == .ok) }
        #expect(count == 2)
        // A new token of the same session is that of the same user.
        provider.expireTokens()
        #expect(try await get("other", over: network).status == .ok)
        let before = count
        #expect(try await get(over: network).status == .ok)
        #expect(count == before)
        try await network.oauth(client).signIn(with: provider.user)
        #expect(try await get(over: network).status == .ok)
        #expect(count == before + 2)
    }

    @Test func errorsAndLogsContainNoProof() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        let proof = try #require(transport.requests[0].headerFields[HTTPField.Name("DPoP")!])
        let response = try await get()
        let text = "\(transport.requests[0]) \(response) \(String(reflecting: response.sentRequest))"
        #expect(!text.contains(proof))
        #expect(!text.contains("access-2"))
    }
}
#endif
