#if Crypto
import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingOAuth

/// Keys and proofs (RFC 9449, RFC 7638).
@Suite(.timeLimit(.minutes(20)))
struct DPoPKeyTests {
    private let clock = ManualClock(start: Date(timeIntervalSince1970: 1_562_262_616))

    private func proof(
        for request: HTTPRequestData,
        by key: DPoPKey = DPoPKey(),
        accessToken: String? = nil,
        nonce: String? = nil
    ) async throws -> Proof {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        let text = try await withEnvironment(environment) {
            try key.proof(for: request, accessToken: accessToken, nonce: nonce)
        }
        return try Proof(text)
    }

    /// RFC 7638 section 3.1.
    @Test func thumbprintMatchesRFC7638() {
        let modulus = """
            0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3okn\
            jhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qM\
            QvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJz\
            KnqDKgw
            """
        let thumbprint = JSONWebKey.thumbprint(of: ["n": modulus, "e": "AQAB", "kty": "RSA"])
        #expect(thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    }

    /// RFC 9449 section 6.1.
    @Test func thumbprintMatchesRFC9449() {
        let thumbprint = JSONWebKey.thumbprint(of: [
            "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
        ])
        #expect(thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }

    /// RFC 9449 section 7.1.
    @Test func hashOfTheAccessTokenMatchesRFC9449() async throws {
        let request = HTTPRequestData(method: .get, url: URL(string: "https://resource.example.org/protectedresource")!)
        let proof = try await proof(for: request, accessToken: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
        #expect(proof.claim("ath") == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
        #expect(proof.claim("htu") == "https://resource.example.org/protectedresource")
        #expect(proof.claim("htm") == "GET")
        #expect(proof.claims["iat"] as? Int == 1_562_262_616)
    }

    @Test func proofHasTheFieldsOfTheStandard() async throws {
        let key = DPoPKey()
        let request = HTTPRequestData(method: .post, url: URL(string: "https://login.example.com/token")!)
        let proof = try await proof(for: request, by: key, nonce: "n-1")
        #expect(proof.field("typ") == "dpop+jwt")
        #expect(proof.field("alg") == "ES256")
        #expect(Set(proof.header.keys) == ["typ", "alg", "jwk"])
        #expect(proof.isSigned)
        #expect(proof.thumbprint == key.thumbprint)
        #expect(Set(proof.claims.keys) == ["htm", "htu", "iat", "jti", "nonce"])
        #expect(proof.claim("htm") == "POST")
        #expect(proof.claim("nonce") == "n-1")
        let other = try await self.proof(for: request, by: key)
        #expect(other.claim("jti") != proof.claim("jti"))
    }

    @Test(arguments: [
        ("https://api.example.com/a/b?x=1#y", "https://api.example.com/a/b"),
        ("https://API.example.com:443", "https://api.example.com/"),
        ("http://127.0.0.1:80/a%2Fb", "http://127.0.0.1/a%2Fb"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
    ])
    func proofNamesTheURLWithoutQuery(url: String, target: String) async throws {
        let proof = try await proof(for: HTTPRequestData(method: .get, url: URL(string: url)!))
        #expect(proof.claim("htu") == target)
    }

    @Test func relativeRequestHasNoProof() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await proof(for: HTTPRequestData(path: "orders"))
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func keyIsReadFromItsRepresentation() {
        let key = DPoPKey()
        #expect(DPoPKey(rawRepresentation: key.rawRepresentation) == key)
        #expect(DPoPKey() != key)
        for damaged in [Data(), Data(count: 32), Data(repeating: 0xFF, count: 32), key.rawRepresentation + [0]] {
            #expect(DPoPKey(rawRepresentation: damaged) == nil)
        }
    }

    @Test func sourceOfSecretsDeterminesTheKey() {
        var environment = NetworkEnvironment()
        environment.secureRandom = SecureRandomSource { Array(repeating: 7, count: $0) }
        let keys = NetworkEnvironment.$current.withValue(environment) { (DPoPKey(), DPoPKey()) }
        #expect(keys.0 == keys.1)
        // Zero is no key.
        environment.secureRandom = SecureRandomSource { Array(repeating: 0, count: $0) }
        let others = NetworkEnvironment.$current.withValue(environment) { (DPoPKey(), DPoPKey()) }
        #expect(others.0 != others.1)
    }

    @Test func descriptionsRedactTheKey() {
        let key = DPoPKey()
        let session = Session(accessToken: "access").bound(to: key)
        var dumped = ""
        dump(key, to: &dumped)
        dump(session, to: &dumped)
        let text = "\(key) \(String(reflecting: session)) \(dumped)"
        for secret in [key.rawRepresentation.base64EncodedString(), key.thumbprint, "access"] {
            #expect(!text.contains(secret))
        }
    }

    // MARK: Sessions

    @Test func sessionIsStoredTogetherWithItsKey() throws {
        let session = Session(accessToken: "access", refreshToken: "refresh").bound(to: DPoPKey())
        let decoded = try JSONDecoder().decode(Session.self, from: JSONEncoder().encode(session))
        #expect(decoded == session)
        #expect(decoded.dpopKey == session.dpopKey)
        #expect(decoded.isBoundToKey)
        #expect(session.renewed(accessToken: "next").dpopKey == session.dpopKey)
        #expect(session != Session(accessToken: "access", refreshToken: "refresh"))
    }

    /// A bound token is of no use without a proof.
    @Test func boundSessionIsNotSentAsABearerToken() async {
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: Session(accessToken: "access").bound(to: DPoPKey()))
            .server(authority: "api.example.com")
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "a")) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("authenticated(oauth:)") == true)
        #expect(transport.requests.isEmpty)
    }
}
#endif
