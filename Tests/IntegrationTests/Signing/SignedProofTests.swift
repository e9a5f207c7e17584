#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingSigning
import NetworkingTesting
import TestSupport
import Testing

/// Requests with both a proof of a key (RFC 9449) and a message signature (RFC 9421).
@Suite(.timeLimit(.minutes(20)))
struct SignedProofTests {
    /// The signature covers the proof, so a repetition with a nonce needs a signature of its own.
    @Test func eachRequestHasItsOwnProofAndSignature() async throws {
        let refusal = MockResponse.status(
            .unauthorized,
            headerFields: [
                .wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, HTTPField.Name("DPoP-Nonce")!: "n-1",
            ]
        )
        let transport = MockTransport([refusal, .status(.serviceUnavailable), .ok()])
        var system = OAuthSystem(
            server: OAuthServer(tokenEndpoint: URL(string: "https://login.example.com/token")!),
            clientID: "shop"
        )
        system.dpop = .required
        let session = Session(accessToken: "token", refreshToken: "refresh").bound(to: DPoPKey())
        let signer = MessageSigner(
            SymmetricKey(size: .bits256),
            keyID: "shop",
            components: [.method, .targetURI, .field(HTTPField.Name("DPoP")!), .field(.authorization)]
        )
        let network = transport.signed(with: signer).authenticated(oauth: OAuthClient(system, session: session))
            .retry(.immediate(maximumRetries: 1), budget: .unlimited).server(authority: "api.example.com")
        #expect(network.diagnostics.isEmpty)
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
        let requests = transport.requests
        #expect(requests.count == 3)
        for name in ["DPoP", "Signature", "Signature-Input"] {
            #expect(Set(requests.compactMap { $0.headerFields[HTTPField.Name(name)!] }).count == 3, "\(name)")
        }
        let input = requests[0].headerFields[HTTPField.Name("Signature-Input")!]
        #expect(input?.contains(#"("@method" "@target-uri" "dpop" "authorization")"#) == true)
        #expect(requests.allSatisfy { $0.headerFields[.authorization] == "DPoP token" })
    }
}
#endif
