#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Providers that deviate from the protocol.
@Suite(.timeLimit(.minutes(20)))
struct OwnSystemTests {
    private struct Envelope: Decodable {
        struct Content: Decodable {
            let token: String?
            let renewal: String?
            let minutes: Int?
            let problem: String?
        }

        let result: Content
    }

    private struct Refused: Error {}

    private static func system() -> OAuthSystem {
        var system = ScriptedProvider.system(.body(secret: "client-secret"))
        system.prepareRequest = { original in
            var request = original.request
            let fields = original.fields.map { ($0.name, $0.value ?? "") }
            request.body = .json(Dictionary(fields) { first, _ in first })
            request.headerFields[HTTPField.Name("X-Purpose")!] = "\(original.purpose)"
            return request
        }
        system.readFields = { response in
            guard let content = try? JSONDecoder().decode(Envelope.self, from: response.data).result else { return nil }
            var fields = OAuthTokenFields()
            fields.accessToken = content.token
            fields.refreshToken = content.renewal
            fields.lifetime = content.minutes.map { .seconds(60) * $0 }
            fields.error = content.problem
            fields.errorDescription = content.problem.map { "The cause is \($0)." }
            return fields
        }
        return system
    }

    private let provider = ScriptedProvider()
    private let clock = ManualClock()

    private func account(
        _ system: OAuthSystem = Self.system(),
        over transport: MockTransport
    ) -> (OAuthClient, AnyNetworkingComponent) {
        let client = OAuthClient(system)
        return (client, provider.network(client, over: transport, clock))
    }

    @Test func requestsAndFieldsAreReplaced() async throws {
        let transport = MockTransport { request in
            guard request.authority == "login.example.com" else { return .text("hello") }
            let body = try JSONDecoder().decode([String: String].self, from: request.body?.data ?? Data())
            #expect(body["client_secret"] == "client-secret")
            #expect(request.headerFields[.contentType]?.hasPrefix("application/json") == true)
            switch body["grant_type"] {
            case "client_credentials": return .json(text: #"{"result": {"token": "a", "renewal": "r", "minutes": 5}}"#)
            case "refresh_token":
                #expect(body["refresh_token"] == "r")
                return .json(text: #"{"result": {"token": "b"}}"#)
            default: return .ok()
            }
        }
        let (client, network) = account(over: transport)
        let session = try await network.oauth(client).signIn(with: .clientCredentials)
        #expect(session.accessToken == "a")
        #expect(session.refreshToken == "r")
        #expect(session.expirationDate == clock.date.addingTimeInterval(300))
        clock.advance(by: .seconds(300))
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
        #expect(client.session?.accessToken == "b")
        #expect(client.session?.refreshToken == "r")
        try await network.oauth(client).signOut()
        let purposes = transport.requests.compactMap { $0.headerFields[HTTPField.Name("X-Purpose")!] }
        #expect(purposes == ["token", "token", "revocation", "revocation"])
    }

    @Test func refusalsOfOwnFieldsEndTheSession() async {
        let transport = MockTransport { _ in .json(text: #"{"result": {"problem": "invalid_client"}}"#) }
        let (client, network) = account(over: transport)
        let error = await #expect(throws: OAuthError.self) {
            try await network.oauth(client).signIn(with: .clientCredentials)
        }
        #expect(error?.kind == .tokenRefused)
        #expect(error?.code == "invalid_client")
        #expect(error?.reason.contains("The cause is invalid_client.") == true)
    }

    @Test func standardResponsesAreReadAsSuch() async throws {
        let transport = MockTransport { _ in .json(text: #"{"access_token": "a", "expires_in": "60"}"#) }
        let (client, network) = account(over: transport)
        let session = try await network.oauth(client).signIn(with: .clientCredentials)
        #expect(session.accessToken == "a")
        #expect(session.expirationDate == clock.date.addingTimeInterval(60))
    }

    /// The fields of the app are checked like those of a provider.
    @Test(arguments: ["", "a\nb", "é"])
    func unusableTokenIsRefused(token: String) async {
        var system = Self.system()
        system.readFields = { _ in
            var fields = OAuthTokenFields()
            fields.accessToken = token
            fields.lifetime = .seconds(-1)
            return fields
        }
        let (client, network) = account(system, over: MockTransport { _ in .ok() })
        let error = await #expect(throws: OAuthError.self) {
            try await network.oauth(client).signIn(with: .clientCredentials)
        }
        #expect(error?.kind == .invalidResponse)
    }

    @Test(arguments: [Duration.seconds(-1), .seconds(Int64.max)])
    func impossibleLifetimeIsIgnored(lifetime: Duration) async throws {
        var system = Self.system()
        system.readFields = { _ in
            var fields = OAuthTokenFields()
            fields.accessToken = "a"
            fields.lifetime = lifetime
            return fields
        }
        let (client, network) = account(system, over: MockTransport { _ in .ok() })
        #expect(try await network.oauth(client).signIn(with: .clientCredentials).expirationDate == nil)
    }

    @Test func errorsOfTheAppFailTheSignIn() async {
        let transport = MockTransport { _ in .ok() }
        var system = Self.system()
        system.prepareRequest = { _ in throw Refused() }
        var (client, network) = account(system, over: transport)
        await #expect(throws: Refused.self) { try await network.oauth(client).signIn(with: .clientCredentials) }
        #expect(transport.requests.isEmpty)
        system = Self.system()
        system.readFields = { _ in throw Refused() }
        (client, network) = account(system, over: transport)
        await #expect(throws: Refused.self) { try await network.oauth(client).signIn(with: .clientCredentials) }
        #expect(client.session == nil)
    }

    @Test func replacedRequestIsProtectedAndSentOnce() async {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        var system = Self.system()
        system.prepareRequest = { original in
            HTTPRequestData(method: .put, url: URL(string: "http://login.example.com/t")!, body: original.request.body)
        }
        var (client, network) = account(system, over: transport)
        let error = await #expect(throws: OAuthError.self) {
            try await network.oauth(client).signIn(with: .clientCredentials)
        }
        #expect(error?.kind == .misconfigured)
        #expect(transport.requests.isEmpty)
        system.prepareRequest = { original in
            HTTPRequestData(method: .put, url: URL(string: "https://login.example.com/t")!, body: original.request.body)
        }
        (client, network) = account(system, over: transport)
        let retrying = network.retry(.immediate())
        await #expect(throws: NetworkingError.self) {
            try await retrying.oauth(client).signIn(with: .clientCredentials)
        }
        #expect(transport.requests.count == 1)
        // The secrets are redacted in the replaced request, too.
        #expect(!"\(transport.requests)".contains("client-secret"))
    }

    @Test func replacedRequestHasAProof() async throws {
        let transport = MockTransport { _ in .json(text: #"{"access_token": "a", "token_type": "DPoP"}"#) }
        var system = Self.system()
        system.dpop = .required
        system.prepareRequest = { original in
            HTTPRequestData(method: .put, url: URL(string: "https://login.example.com/t")!, body: original.request.body)
        }
        let (client, network) = account(system, over: transport)
        try await network.oauth(client).signIn(with: .clientCredentials)
        let proof = try #require(transport.proofs[0])
        #expect(proof.claim("htu") == "https://login.example.com/t")
        #expect(proof.claim("htm") == "PUT")
    }

    @Test func descriptionsRedactTheFields() async throws {
        let texts = Mutex<[String]>([])
        var system = Self.system()
        system.prepareRequest = { original in
            texts.withLock { $0.append("\(original) \(String(reflecting: original))") }
            return original.request
        }
        let (client, network) = account(
            system,
            over: MockTransport { _ in .json(text: #"{"access_token": "access-secret"}"#) }
        )
        try await network.oauth(client).signIn(with: .clientCredentials)
        #expect(texts.withLock { $0.count } == 1)
        #expect(!texts.withLock { $0[0] }.contains("client-secret"))
        var fields = OAuthTokenFields()
        fields.accessToken = "access-secret"
        #expect(!"\(fields) \(String(reflecting: fields))".contains("access-secret"))
    }
}
#endif
