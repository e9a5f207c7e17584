#if Crypto
import Crypto
import CryptoExtras
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting

/// The keys and messages of RFC 9421 appendix B.
enum Vectors {
    static let created = Date(timeIntervalSince1970: 1_618_884_473)

    static let secret = SymmetricKey(
        data: Data(
            base64Encoded: "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=="
        )!
    )

    static var ed25519: Curve25519.Signing.PrivateKey {
        get throws {
            try .init(rawRepresentation: Data(base64Encoded: "n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU=")!)
        }
    }

    static var p256: P256.Signing.PrivateKey {
        get throws {
            try .init(rawRepresentation: Data(base64Encoded: "UpuF81l+kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpcYDs=")!)
        }
    }

    static let rsaPSS = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
        +QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
        oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
        gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
        Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
        aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
        2wIDAQAB
        -----END PUBLIC KEY-----
        """

    static let requestDigest =
        "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
    static let responseDigest =
        "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"

    /// The test-request of the appendix.
    ///
    /// The transport adds its Content-Type, Content-Length and Host.
    static var request: HTTPRequestData {
        HTTPRequestData(
            method: .post,
            scheme: "https",
            authority: "example.com",
            path: "/foo?param=Value&Pet=dog",
            headerFields: [.date: "Tue, 20 Apr 2021 02:07:55 GMT", .init(.contentDigest): requestDigest],
            body: .data(Data(#"{"hello": "world"}"#.utf8), contentType: "application/json")
        )
    }

    /// The test-response of the appendix.
    static var response: HTTPResponseData {
        HTTPResponseData(
            request: request,
            headerFields: [
                .date: "Tue, 20 Apr 2021 02:07:56 GMT", .contentType: "application/json",
                .contentDigest: responseDigest,
                .contentLength: "23",
            ],
            data: Data(#"{"message": "good dog"}"#.utf8)
        )
    }
}

extension HTTPField.Name {
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let signature = HTTPField.Name("Signature")!
    static let signatureInput = HTTPField.Name("Signature-Input")!
    static let exampleDictionary = HTTPField.Name("Example-Dict")!
    static let exampleHeader = HTTPField.Name("Example-Header")!
}

/// A key that returns the signature base as its signature, so that a test can read it.
struct EchoKey: MessageSigningKey, MessageVerifyingKey {
    var signatureAlgorithm: String? { nil }

    func messageSignature(of base: Data) -> Data {
        base
    }

    func isMessageSignature(_ signature: Data, of base: Data) -> Bool {
        signature == base
    }
}

/// A key type outside the library, for rsa-pss-sha512.
struct RSAPSSKey: MessageVerifyingKey {
    var signatureAlgorithm: String? { "rsa-pss-sha512" }

    func isMessageSignature(_ signature: Data, of base: Data) throws -> Bool {
        let key = try _RSA.Signing.PublicKey(pemRepresentation: Vectors.rsaPSS)
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: SHA512.hash(data: base),
            padding: .PSS
        )
    }
}

extension HTTPRequestData {
    /// Returns the request signed at the date of the vectors.
    func signed(by signer: MessageSigner, at date: Date = Vectors.created) async throws -> HTTPRequestData {
        var request = self
        var environment = NetworkEnvironment()
        environment.clock = .manual(ManualClock(start: date))
        environment.secureRandom = SecureRandomSource { Array(repeating: 1, count: $0) }
        try await withEnvironment(environment) { try await signer.sign(&request) }
        return request
    }

    /// Returns the request with signature fields.
    func with(_ input: String, _ signature: String) -> HTTPRequestData {
        var request = self
        request.headerFields[.signatureInput] = input
        request.headerFields[.signature] = signature
        return request
    }
}

extension HTTPResponseData {
    /// Returns the response with signature fields.
    func with(_ input: String, _ signature: String) -> HTTPResponseData {
        var response = self
        response.headerFields[.signatureInput] = input
        response.headerFields[.signature] = signature
        return response
    }
}

/// Runs an operation at the date of the vectors, or some seconds later.
@discardableResult
func onTheDay<Result>(
    after seconds: Double = 0,
    _ operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    var environment = NetworkEnvironment()
    environment.clock = .manual(ManualClock(start: Vectors.created.addingTimeInterval(seconds)))
    return try await withEnvironment(environment, operation)
}
#endif
