#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct HMACSignerTests {
    private let transport = MockTransport { _ in .ok() }
    private let key = SymmetricKey(data: Data("Jefe".utf8))
    private let body = RequestBody.data(Data("what do ya want for nothing?".utf8), contentType: "text/plain")

    private func send(
        _ request: HTTPRequestData,
        signedWith signer: HMACSigner
    ) async throws -> HTTPRequestData {
        var environment = NetworkEnvironment()
        environment.clock = .manual(ManualClock(start: Date(timeIntervalSince1970: 1_700_000_000.75)))
        environment.secureRandom = SecureRandomSource { count in (0..<count).map { UInt8($0) } }
        let network = transport.signed(with: signer).server(authority: "api.example.com:8443")
        try await withEnvironment(environment) { try await network.data(request) }
        return try #require(transport.requests.last)
    }

    /// Returns the signature of a request over some parts.
    private func text(
        _ parts: [HMACSigner.Part],
        separator: String = "\n",
        of request: HTTPRequestData
    ) async throws -> String {
        let signer = HMACSigner(keyID: "k", key: key, signing: parts, separator: separator, into: .field(.xSignature))
        return try await send(request, signedWith: signer).headerFields[.xSignature] ?? ""
    }

    private func code(_ text: String) -> String {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
    }

    /// A query with a custom encoding can hold characters that transports have to percent-encode.
    @Test func signsTheTargetAsSent() async throws {
        let signer = HMACSigner(
            keyID: "k",
            key: key,
            signing: [.path, .query, .target],
            separator: " ",
            into: .field(.xSignature)
        )
        let request = HTTPRequestData(path: "a?filter[x]=b|c")
        let network = transport.signed(with: signer).server(authority: "api.example.com")
            .server(queryEncoding: .allowing("filterxbc[]|"))
        try await network.data(request)
        let sent = try #require(transport.requests.last)
        #expect(sent.url?.absoluteString == "https://api.example.com/a?filter%5Bx%5D=b%7Cc")
        let text = "/a filter%5Bx%5D=b%7Cc /a?filter%5Bx%5D=b%7Cc"
        #expect(sent.headerFields[.xSignature] == code(text))
    }

    // MARK: Examples of the specification

    /// RFC 4231 section 4.3.
    @Test func matchesTheCodesOfRFC4231() async throws {
        let request = HTTPRequestData(method: .post, body: body)
        let signatures: [(any HashFunction.Type, String)] = [
            (SHA256.self, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (
                SHA384.self,
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"
            ),
            (
                SHA512.self,
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
                    + "caeab1a34d4a6b4b636e070a38bce737"
            ),
        ]
        for (function, signature) in signatures {
            let signer = HMACSigner(keyID: "k", key: key, using: function, signing: [.body], into: .field(.xSignature))
            #expect(try await send(request, signedWith: signer).headerFields[.xSignature] == signature)
        }
    }

    // MARK: Schemes of services

    @Test func signsATimestampAndTheBody() async throws {
        let signer = HMACSigner(
            keyID: "shop-7",
            key: key,
            signing: [.timestamp(in: .timestamp), .method, .target, .body],
            into: .field(.xSignature)
        )
        let sent = try await send(HTTPRequestData(method: .post, path: "a%20b?c=d", body: body), signedWith: signer)
        #expect(sent.headerFields[.timestamp] == "1700000000")
        #expect(
            sent.headerFields[.xSignature] == code("1700000000POST/a%20b?c=dwhat do ya want for nothing?")
        )
    }

    @Test func formatsTheSignatureWithAPrefix() async throws {
        let signer = HMACSigner(
            keyID: "hook",
            key: key,
            signing: [.body],
            into: .field(.xSignature) { "sha256=\($0.hexadecimal)" }
        )
        let sent = try await send(HTTPRequestData(method: .post, body: body), signedWith: signer)
        #expect(
            sent.headerFields[.xSignature] == "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
    }

    @Test func writesTheAuthorizationField() async throws {
        let signer = HMACSigner(
            keyID: "app-1",
            key: key,
            signing: [.method, .timestamp(.milliseconds, in: nil), .nonce(in: nil)],
            separator: "|",
            into: .authorization("HMAC-SHA256") {
                "keyId=\"\($0.keyID)\", ts=\($0.timestamp ?? ""), nonce=\($0.nonce), signature=\"\($0.base64)\""
            }
        )
        let sent = try await send(HTTPRequestData(), signedWith: signer)
        let nonce = "000102030405060708090a0b0c0d0e0f"
        let expected = HMAC<SHA256>.authenticationCode(for: Data("GET|1700000000750|\(nonce)".utf8), using: key)
        #expect(
            sent.headerFields[.authorization]
                == "HMAC-SHA256 keyId=\"app-1\", ts=1700000000750, nonce=\(nonce), "
                + "signature=\"\(Data(expected).base64EncodedString())\""
        )
        #expect(signer.scheme == "HMAC-SHA256")
        #expect(signer.method == AuthenticationMethod(rawValue: "hmac-sha256"))
        // The signer keeps an Authorization field of the caller.
        let own = try await send(HTTPRequestData(headerFields: [.authorization: "Bearer own"]), signedWith: signer)
        #expect(own.headerFields[.authorization] == "Bearer own")
    }

    // MARK: Parts

    @Test func signsPartsAsSent() async throws {
        let request = HTTPRequestData(
            method: .put,
            path: "caf%C3%A9?b=2&a=%20",
            headerFields: [.accept: "text/plain", .acceptLanguage: "de"],
            body: body
        )
        let parts: [HMACSigner.Part] = [
            "v1", .method, .scheme, .authority, .path, .query, .target, .field(.accept), .field(.contentType),
            .field(.xSignature), .value { "\($0.headerFields.count)" },
        ]
        #expect(
            try await text(parts, of: request)
                == code(
                    """
                    v1
                    PUT
                    https
                    api.example.com:8443
                    /caf%C3%A9
                    b=2&a=%20
                    /caf%C3%A9?b=2&a=%20
                    text/plain
                    text/plain

                    3
                    """
                )
        )
    }

    @Test func signsMissingPartsAsEmptyText() async throws {
        #expect(try await text([.path, .query, .body, .field(.accept)], of: HTTPRequestData()) == code("/\n\n\n"))
        #expect(try await text([], of: HTTPRequestData()) == code(""))
    }

    @Test(arguments: [
        (HMACSigner.TimestampFormat.seconds, "1700000000"), (.milliseconds, "1700000000750"),
        (.internet, "2023-11-14T22:13:20Z"), (.httpDate, "Tue, 14 Nov 2023 22:13:20 GMT"),
    ])
    func formatsTimestamps(format: HMACSigner.TimestampFormat, text: String) async throws {
        let signer = HMACSigner(
            keyID: "k",
            key: key,
            // A field set by a later part can be signed by an earlier one.
            signing: [.field(.timestamp), ";", .timestamp(format, in: .timestamp)],
            into: .field(.xSignature)
        )
        let sent = try await send(HTTPRequestData(headerFields: [.init(.timestamp): "old"]), signedWith: signer)
        #expect(sent.headerFields[values: .timestamp] == [text])
        #expect(sent.headerFields[.xSignature] == code("\(text);\(text)"))
    }

    @Test func signsDigestsOfTheBody() async throws {
        let digest = SHA256.hash(data: Data("what do ya want for nothing?".utf8))
        let signer = HMACSigner(
            keyID: "k",
            key: key,
            signing: [.bodyDigest(.base64, in: .digest), ".", .bodyDigest()],
            into: .field(.xSignature)
        )
        let sent = try await send(HTTPRequestData(method: .put, body: body), signedWith: signer)
        let base64 = Data(digest).base64EncodedString()
        #expect(sent.headerFields[.digest] == base64)
        let hexadecimal = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(sent.headerFields[.xSignature] == code("\(base64).\(hexadecimal)"))
    }

    // MARK: Bodies

    @Test func signsAFileLikeItsBytes() async throws {
        let bytes = Data.unlike(1_506_000)
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let sent = try await text([.body], of: HTTPRequestData(method: .put, body: .file(file)))
        let whole = try await text([.body], of: HTTPRequestData(method: .put, body: .data(bytes)))
        #expect(sent == whole)
    }

    @Test func acceptsAStreamReadOnceOnlyIfTheBodyIsNotSigned() async throws {
        let body = { RequestBody.stream(AsyncStream<Data> { $0.finish() }) }
        let error = await #expect(throws: NetworkingError.self) {
            try await text([.body], of: HTTPRequestData(method: .put, body: body()))
        }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(transport.requests.isEmpty)
        #expect(try await text([.method], of: HTTPRequestData(method: .put, body: body())) == code("PUT"))
    }

    // MARK: In a stack

    @Test func signsEachAttemptWithItsOwnTimeAndNonce() async throws {
        let clock = ManualClock()
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let signer = HMACSigner(
            keyID: "k",
            key: key,
            signing: [.timestamp(in: .timestamp), .nonce(in: .digest)],
            into: .field(.xSignature)
        )
        let network = transport.signed(with: signer).retry(.constant(.seconds(3))).server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
        async let response = network.data(HTTPRequestData())
        try await clock.advance(by: .seconds(3), afterSleepers: 1)
        #expect(try await response.status == .ok)
        #expect(transport.requests.map { $0.headerFields[.timestamp] } == ["1700000000", "1700000003"])
        #expect(Set(transport.requests.map { $0.headerFields[.digest] }).count == 2)
        #expect(Set(transport.signatures).count == 2)
    }

    @Test func descriptionsRedactTheKeyAndTheSignature() async throws {
        let signer = HMACSigner(keyID: "k", key: key, signing: [.method], into: .field(.xSignature))
        let sent = try await send(HTTPRequestData(), signedWith: signer)
        let signature = try #require(sent.headerFields[.xSignature])
        #expect(!everyPrint(of: sent).contains(signature))
        #expect(!everyPrint(of: signer).contains("Jefe"))
        #expect("\(signer)" == "HMACSigner(<redacted>)")
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws { [key] in
            AnyNetworkingComponent(
                $0.signed(
                    with: HMACSigner(
                        keyID: "k",
                        key: key,
                        signing: [.timestamp(in: .timestamp), .body],
                        into: .field(.xSignature)
                    ),
                    at: ["laws.example"]
                )
            )
        }
    }
}

extension HTTPField.Name {
    fileprivate static let timestamp = HTTPField.Name("X-Timestamp")!
    fileprivate static let digest = HTTPField.Name("X-Content-SHA256")!
}
#endif
