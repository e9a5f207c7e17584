#if Crypto
import Foundation
import Networking
import NetworkingOAuth
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ProofKeyTests {
    /// RFC 7636 appendix B.
    private static let octets: [UInt8] = [
        116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240,
        91, 88,
        5, 88, 83, 132, 141, 121,
    ]

    @Test func verifierMatchesRFC7636() async throws {
        var environment = NetworkEnvironment()
        environment.secureRandom = SecureRandomSource { count in
            #expect(count == 33)
            return Self.octets + [0]
        }
        let key = NetworkEnvironment.$current.withValue(environment) { ProofKey() }
        #expect(key.verifier == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    }

    @Test func challengeMatchesRFC7636() throws {
        let key = try #require(ProofKey(verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(key.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(ProofKey.method == "S256")
    }

    @Test func everyKeyIsUnique() {
        #expect(Set((0..<100).map { _ in ProofKey().verifier }).count == 100)
    }

    @Test(arguments: [43, 44, 45, 46, 64, 127, 128])
    func verifierHasTheRequestedLength(length: Int) throws {
        let key = ProofKey(length: length)
        #expect(key.verifier.count == length)
        #expect(ProofKey(verifier: key.verifier) == key)
    }

    @Test(arguments: [
        "", String(repeating: "a", count: 42), String(repeating: "a", count: 129),
        String(repeating: "a", count: 42) + "+", String(repeating: "a", count: 42) + "é",
    ])
    func rejectsInvalidVerifiers(text: String) {
        #expect(ProofKey(verifier: text) == nil)
    }

    @Test func descriptionsRedactTheVerifier() {
        let key = ProofKey()
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains(key.verifier))
    }
}
#endif
