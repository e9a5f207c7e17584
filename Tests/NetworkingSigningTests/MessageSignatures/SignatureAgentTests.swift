#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import Testing

/// Signatures of automated clients (draft-ietf-webbotauth-httpsig-protocol), with the draft's test vectors.
@Suite(.timeLimit(.minutes(20)))
struct SignatureAgentTests {
    private static let thumbprint = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

    private func agent(_ url: String, _ discovery: SignatureAgent.Discovery = .directory) throws -> SignatureAgent {
        SignatureAgent(try #require(URL(string: url)), discovery: discovery)
    }

    private func signer(_ agent: SignatureAgent, label: String = "sig1") throws -> MessageSigner {
        MessageSigner(
            try Vectors.ed25519,
            keyID: try Vectors.ed25519.publicKey.thumbprint,
            components: [.authority],
            label: label,
            agent: agent
        )
    }

    @Test func thumbprintIsThatOfTheDraft() throws {
        #expect(try Vectors.ed25519.publicKey.thumbprint == Self.thumbprint)
    }

    @Test func verifiesTheVectorOfTheDraft() async throws {
        var request = Vectors.request.with(
            #"sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="\#(Self.thumbprint)""#
                + #";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rzn"#
                + #"NA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth""#,
            "sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:"
        )
        request.headerFields[.signatureAgent] = #"agent2="https://signature-agent.test""#
        let member = MessageComponent.field(.signatureAgent).member("agent2")
        let verifier = MessageVerifier(
            try Vectors.ed25519.publicKey,
            keyID: Self.thumbprint,
            requiring: [.authority, member],
            maximumAge: nil,
            tag: "web-bot-auth"
        )
        #expect(try await verifier.verify(request).covers(member))
        request.headerFields[.signatureAgent] = #"agent2="https://other-agent.test""#
        await #expect(throws: NetworkingError.self) { try await verifier.verify(request) }
    }

    @Test func setsAndCoversTheMember() async throws {
        let request = try await Vectors.request.signed(by: signer(agent("https://bot.example.com/")))
        #expect(request.headerFields[.signatureAgent] == #"sig1="https://bot.example.com""#)
        #expect(
            request.headerFields[.signatureInput]
                == #"sig1=("@authority" "signature-agent";key="sig1");created=1618884473;expires=1618884773"#
                + #";keyid="\#(Self.thumbprint)";nonce="AQEBAQEBAQEBAQEBAQEBAQ==";tag="web-bot-auth""#
        )
    }

    @Test func namesTheDiscoveryOfOtherURLs() async throws {
        let keys = try await Vectors.request.signed(by: signer(agent("https://bot.example.com/keys.json", .keySet)))
        #expect(keys.headerFields[.signatureAgent] == #"sig1="https://bot.example.com/keys.json";type=jwks_uri"#)
        let card = try await Vectors.request.signed(by: signer(agent("https://bot.example.com/b?c", .clientMetadata)))
        #expect(card.headerFields[.signatureAgent] == #"sig1="https://bot.example.com/b?c";type=cimd"#)
    }

    @Test func keepsTheMembersOfOtherSignatures() async throws {
        let first = try await Vectors.request.signed(by: signer(agent("https://a.example"), label: "a"))
        let both = try await first.signed(by: signer(agent("https://b.example"), label: "b"))
        #expect(both.headerFields[.signatureAgent] == #"a="https://a.example", b="https://b.example""#)
        let again = try await both.signed(by: signer(agent("https://c.example"), label: "a"))
        #expect(again.headerFields[.signatureAgent] == #"a="https://c.example", b="https://b.example""#)
    }

    @Test(arguments: [
        ("http://bot.example.com", SignatureAgent.Discovery.directory), ("https:/path", .directory),
        ("https://user:secret@bot.example.com", .directory), ("https://bot.example.com/path", .directory),
        ("https://bot.example.com?a=b", .directory), ("ftp://bot.example.com/keys", .keySet),
    ])
    func refusesAURLThatIsNoPlaceOfKeys(url: String, discovery: SignatureAgent.Discovery) async throws {
        let signer = try signer(agent(url, discovery))
        let error = await #expect(throws: NetworkingError.self) { try await Vectors.request.signed(by: signer) }
        #expect(error?.kind == .invalidRequest)
        #expect(error.map { !"\($0)".contains("secret") } == true)
    }

    @Test func refusesAMalformedField() async throws {
        var request = Vectors.request
        request.headerFields[.signatureAgent] = #""https://legacy.example""#
        let signer = try signer(agent("https://bot.example.com"))
        let error = await #expect(throws: NetworkingError.self) { try await request.signed(by: signer) }
        #expect(error?.kind == .invalidRequest)
    }
}

extension HTTPField.Name {
    fileprivate static let signatureAgent = HTTPField.Name("Signature-Agent")!
}
#endif
