#if Crypto && (os(Linux) || os(macOS))
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import TestSupport
import Testing

/// Message signatures verified against an independent implementation, in both directions.
@Suite(
    .timeLimit(.minutes(20)),
    .requires(.messageSignatures)
)
struct MessageSignatureOracleTests {
    @Test func pythonVerifiesOurSignatures() async throws {
        var cases: [OracleCase] = []
        var changed: [OracleCase] = []
        for key in OracleKey.all {
            for (url, components) in OracleCase.coverings {
                let signer = MessageSigner(
                    key.signing,
                    keyID: key.algorithm,
                    components: components,
                    lifetime: .seconds(300),
                    namesAlgorithm: true,
                    tag: "oracle"
                )
                var request = OracleCase.request(to: url)
                try await signer.sign(&request)
                cases.append(try OracleCase(request, key))
                changed.append(try OracleCase(request, key, method: "PUT"))
            }
        }
        let verified = try await OracleCase.results(of: cases, from: OracleCase.verifying)
        #expect(verified == cases.map { _ in "sig1" })
        let refused = try await OracleCase.results(of: changed, from: OracleCase.verifying)
        #expect(refused.count == changed.count && !refused.contains("sig1"), "\(refused)")
    }

    @Test func verifiesSignaturesMadeByPython() async throws {
        var cases: [OracleCase] = []
        var requests: [(HTTPRequestData, OracleKey, [MessageComponent])] = []
        for key in OracleKey.all {
            for (url, components) in OracleCase.coverings {
                // The other implementation signs each field as one line.
                let components = components.filter { !$0.description.contains(";bs") }
                var request = OracleCase.request(to: url)
                try await request.setContentDigest()
                requests.append((request, key, components))
                cases.append(try OracleCase(request, key, components: components.map(\.description)))
            }
        }
        let fields = try await OracleCase.results(of: cases, from: OracleCase.signing)
        try #require(fields.count == requests.count)
        for (field, (unsigned, key, components)) in zip(fields, requests) {
            var request = unsigned
            let parts = field.split(separator: "\n")
            try #require(parts.count == 2, "\(field)")
            request.headerFields[HTTPField.Name("Signature-Input")!] = String(parts[0])
            request.headerFields[HTTPField.Name("Signature")!] = String(parts[1])
            let verifier = MessageVerifier(key.verifying, keyID: key.algorithm, requiring: components, tag: "oracle")
            let signature = try await verifier.verify(request)
            #expect(signature.components == components)
            #expect(signature.algorithm == key.algorithm)
            #expect(signature.nonce == "once")
            request.method = .put
            let changed = request
            await #expect(throws: NetworkingError.self) { try await verifier.verify(changed) }
        }
    }
}

/// A key in the forms of both implementations.
private struct OracleKey {
    let algorithm: String
    /// The bytes of the secret.
    let bytes: Data
    let signing: any MessageSigningKey
    let verifying: any MessageVerifyingKey

    static var all: [OracleKey] {
        let secret = SymmetricKey(size: .bits256)
        let (ed25519, p256, p384) = (
            Curve25519.Signing.PrivateKey(), P256.Signing.PrivateKey(), P384.Signing.PrivateKey()
        )
        return [
            OracleKey(
                algorithm: "hmac-sha256",
                bytes: secret.withUnsafeBytes { Data($0) },
                signing: secret,
                verifying: secret
            ),
            OracleKey(
                algorithm: "ed25519",
                bytes: ed25519.rawRepresentation,
                signing: ed25519,
                verifying: ed25519.publicKey
            ),
            OracleKey(
                algorithm: "ecdsa-p256-sha256",
                bytes: p256.rawRepresentation,
                signing: p256,
                verifying: p256.publicKey
            ),
            OracleKey(
                algorithm: "ecdsa-p384-sha384",
                bytes: p384.rawRepresentation,
                signing: p384,
                verifying: p384.publicKey
            ),
        ]
    }
}

/// A request in the form that the Python program reads.
private struct OracleCase: Encodable {
    let method: String
    let url: String
    let fields: [[String]]
    let body: Data
    let algorithm: String
    let key: Data
    let components: [String]

    init(_ request: HTTPRequestData, _ key: OracleKey, method: String? = nil, components: [String] = []) throws {
        self.method = method ?? request.method.rawValue
        url = try #require(request.url).absoluteString
        fields = request.headerFields.map { [$0.name.rawName, $0.value] }
        body = request.body?.data ?? Data()
        algorithm = key.algorithm
        self.key = key.bytes
        self.components = components
    }

    static func request(to url: String) -> HTTPRequestData {
        HTTPRequestData(
            method: .post,
            url: URL(string: url)!,
            headerFields: [
                .cacheControl: "max-age=60,   no-transform", .accept: "text/html", .accept: "application/json;q=0.5",
                "Priority": "u=1,   i", .contentType: "application/json",
            ],
            body: .data(Data(#"{"hello": "world"}"#.utf8), contentType: "application/json")
        )
    }

    static let coverings: [(String, [MessageComponent])] = [
        ("https://api.example.com/users", [.method, .authority, .path, .query, .contentDigest, .contentType]),
        ("https://API.example.com:443/a%2Fb/?x=1&y", [.method, .authority, .scheme, .path, .query, .requestTarget]),
        ("http://127.0.0.1:8080/?", [.method, .targetURI, .authority, .path, .query]),
        (
            "https://api.example.com/?a=1%202&b=x+y&fa%C3%A7ade=%22:%22&empty",
            [
                .method, .queryParameter("a"), .queryParameter("b"), .queryParameter("fa\u{E7}ade"),
                .queryParameter("empty"),
            ]
        ),
        (
            "https://api.example.com/fields",
            [
                .method, .field(.cacheControl), .field(.cacheControl).structured(), .field(.accept),
                .field(.accept).binary, .field(HTTPField.Name("Priority")!).member("u"),
                .field(HTTPField.Name("Priority")!).member("i"), .contentDigest.structured(),
                .contentDigest.member("sha-256"),
            ]
        ),
    ]

    static func results(of cases: [OracleCase], from program: String) async throws -> [String] {
        let output = try await Python.run(common + program, on: try JSONEncoder().encode(cases))
        return try JSONDecoder().decode([String].self, from: output)
    }

    private static let common = """
        import base64, json, sys
        from types import SimpleNamespace
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519
        from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
        from http_message_signatures.structures import CaseInsensitiveDict

        ALGORITHMS = {
            "hmac-sha256": (algorithms.HMAC_SHA256, lambda key: key),
            "ed25519": (algorithms.ED25519, ed25519.Ed25519PrivateKey.from_private_bytes),
            "ecdsa-p256-sha256": (
                algorithms.ECDSA_P256_SHA256,
                lambda key: ec.derive_private_key(int.from_bytes(key, "big"), ec.SECP256R1()),
            ),
            "ecdsa-p384-sha384": (
                algorithms.ECDSA_P384_SHA384,
                lambda key: ec.derive_private_key(int.from_bytes(key, "big"), ec.SECP384R1()),
            ),
        }

        class Resolver(HTTPSignatureKeyResolver):
            def __init__(self, key):
                self.key = key

            def resolve_private_key(self, key_id):
                return self.key

            def resolve_public_key(self, key_id):
                return self.key if isinstance(self.key, bytes) else self.key.public_key()

        class Lines:
            def __init__(self, lines):
                self.lines = lines

            def items(self):
                return [tuple(line) for line in self.lines]

        def tools(case, kind):
            algorithm, make = ALGORITHMS[case["algorithm"]]
            resolver = Resolver(make(base64.b64decode(case["key"])))
            return kind(signature_algorithm=algorithm, key_resolver=resolver)

        results = []

        """

    static let verifying = """
        for case in json.load(sys.stdin):
            message = SimpleNamespace(method=case["method"], url=case["url"], headers=Lines(case["fields"]))
            try:
                verified = tools(case, HTTPMessageVerifier).verify(message, expect_tag="oracle")
                results.append(verified[0].label)
            except Exception as error:
                results.append("refused: " + str(error))
        json.dump(results, sys.stdout)
        """

    static let signing = """
        for case in json.load(sys.stdin):
            headers = CaseInsensitiveDict()
            for name, value in case["fields"]:
                headers[name] = headers[name] + ", " + value if name in headers else value
            message = SimpleNamespace(method=case["method"], url=case["url"], headers=headers)
            try:
                tools(case, HTTPMessageSigner).sign(
                    message,
                    key_id=case["algorithm"],
                    nonce="once",
                    tag="oracle",
                    covered_component_ids=case["components"],
                    use_existing_digest=True,
                )
                results.append(message.headers["Signature-Input"] + "\\n" + message.headers["Signature"])
            except Exception as error:
                results.append("failed: " + repr(error))
        json.dump(results, sys.stdout)
        """
}
#endif
