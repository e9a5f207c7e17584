#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MessageSignerTests {
    private let key = SymmetricKey(data: Data("not to be seen by anybody at all".utf8))

    private func stack(_ transport: some NetworkingComponent, _ signer: MessageSigner) -> AnyNetworkingComponent {
        let draws = Mutex<UInt8>(0)
        let randomSource = SecureRandomSource { count in
            Array(
                repeating: draws.withLock {
                    $0 += 1
                    return $0
                },
                count: count
            )
        }
        return AnyNetworkingComponent(
            transport.signed(with: signer).retry().server(authority: "api.example.com")
                .environment(\.clock, .immediate()).environment(\.secureRandom, randomSource)
        )
    }

    /// Verifies a request at the start time of the stack's clock.
    private func verify(
        _ request: HTTPRequestData,
        requiring components: [MessageComponent] = [.method, .authority, .path, .query, .contentDigest]
    ) async throws -> MessageSignature {
        var environment = NetworkEnvironment()
        environment.clock = .immediate()
        return try await withEnvironment(environment) {
            try await MessageVerifier(key, keyID: "app-1", requiring: components).verify(request)
        }
    }

    // MARK: Signed components

    @Test func signsMethodTargetAndBodyByDefault() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, MessageSigner(key, keyID: "app-1"))
        try await network.data(HTTPRequestData(path: "users?page=2"))
        try await network.data(HTTPRequestData(method: .post, path: "users", body: .json(["name": "Emily"])))
        let inputs = transport.requests.map { $0.headerFields[.signatureInput] }
        #expect(
            inputs == [
                #"sig1=("@method" "@authority" "@path" "@query");created=1700000000;keyid="app-1""#
                    + #";nonce="AQEBAQEBAQEBAQEBAQEBAQ==""#,
                #"sig1=("@method" "@authority" "@path" "@query" "content-digest" "content-type");created=1700000000"#
                    + #";keyid="app-1";nonce="AgICAgICAgICAgICAgICAg==""#,
            ]
        )
        #expect(transport.requests.map { $0.headerFields.contains(.contentDigest) } == [false, true])
        for request in transport.requests {
            #expect(try await verify(request).tag == nil)
        }
    }

    @Test func writesSignatureParameters() async throws {
        let signer = MessageSigner(
            key,
            keyID: "app-1",
            components: [.targetURI],
            lifetime: .milliseconds(90_500),
            hasNonce: false,
            namesAlgorithm: true,
            tag: "bank",
            label: "mine",
            digest: .sha512
        )
        let request = try await Vectors.request.signed(by: signer)
        #expect(
            request.headerFields[.signatureInput]
                == #"mine=("@target-uri");created=1618884473;expires=1618884563;keyid="app-1";alg="hmac-sha256";tag="bank""#
        )
        let signature = try await onTheDay {
            try await MessageVerifier(key, keyID: "app-1", requiring: [.targetURI], tag: "bank").verify(request)
        }
        #expect(signature.expires == Vectors.created.addingTimeInterval(90))
        #expect(signature.algorithm == "hmac-sha256")
        #expect(signature.tag == "bank")
    }

    @Test func keepsAnExistingContentDigest() async throws {
        let transport = MockTransport { _ in .ok() }
        let digest =
            "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
        var request = Vectors.request
        request.authority = nil
        try await stack(transport, MessageSigner(key, keyID: "app-1")).data(request)
        let sent = try #require(transport.requests.first)
        #expect(sent.headerFields[.contentDigest] == digest)
        _ = try await verify(sent)
    }

    @Test func signsTheDigestOfAnEmptyBodyIfRequired() async throws {
        let signer = MessageSigner(key, keyID: "app-1", components: [.contentDigest], digest: .sha512)
        let request = try await HTTPRequestData(authority: "a.example").signed(by: signer)
        #expect(request.headerFields[.contentDigest]?.hasPrefix("sha-512=:z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg") == true)
    }

    @Test(arguments: ["", "Sig", "1a", "a b", "s\u{E9}"])
    func rejectsInvalidLabels(label: String) async {
        let signer = MessageSigner(EchoKey(), keyID: "app-1", label: label)
        let error = await #expect(throws: NetworkingError.self) { try await Vectors.request.signed(by: signer) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("label") == true)
    }

    @Test func rejectsAKeyIDThatIsNotASCII() async {
        let signer = MessageSigner(EchoKey(), keyID: "schl\u{FC}ssel")
        let error = await #expect(throws: NetworkingError.self) { try await Vectors.request.signed(by: signer) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(-5), .zero])
    func acceptsLifetimesOfAnyLength(lifetime: Duration) async throws {
        let signer = MessageSigner(EchoKey(), keyID: "app-1", lifetime: lifetime)
        let request = try await Vectors.request.signed(by: signer)
        #expect(request.headerFields[.signatureInput]?.contains(";expires=") == true)
    }

    // MARK: Existing signatures

    @Test func keepsOtherSignatures() async throws {
        let other = try await Vectors.request.signed(by: MessageSigner(try Vectors.ed25519, keyID: "other"))
        let both = try await other.signed(
            by: MessageSigner(key, keyID: "app-1", components: [.method, .field(.signature).member("sig1")])
        )
        let again = try await both.signed(by: MessageSigner(key, keyID: "app-1", components: [.method]))
        let inputs = try #require(again.headerFields[.signatureInput])
        #expect(inputs.contains(#"sig1=("@method" "@authority""#))
        #expect(
            inputs.hasSuffix(#"sig1-2=("@method");created=1618884473;keyid="app-1";nonce="AQEBAQEBAQEBAQEBAQEBAQ==""#)
        )
        let verifier = MessageVerifier(try Vectors.ed25519.publicKey, keyID: "other", requiring: [.method])
        #expect(try await onTheDay { try await verifier.verify(again) }.label == "sig1")
        let own = MessageVerifier(key, keyID: "app-1", requiring: [.method])
        #expect(try await onTheDay { try await own.verify(again) }.label == "sig1-2")
        let components = try await onTheDay { try await own.verify(both) }.components
        #expect(components.map(\.description) == [#""@method""#, #""signature";key="sig1""#])
    }

    @Test func refusesToReplaceMalformedSignatures() async {
        let request = Vectors.request.with("sig1=(", "sig1=:AAAA:")
        let error = await #expect(throws: NetworkingError.self) {
            try await request.signed(by: MessageSigner(key, keyID: "app-1"))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("malformed") == true)
    }

    // MARK: Attempts and redirects

    @Test func signsEachAttempt() async throws {
        let transport = MockTransport([
            .status(.serviceUnavailable, headerFields: [.retryAfter: "5"]), .ok(),
        ])
        let response = try await stack(transport, MessageSigner(key, keyID: "app-1"))
            .data(HTTPRequestData(path: "users"))
        #expect(response.status == .ok)
        let signatures = try await transport.requests.asyncMap { try await verify($0) }
        #expect(signatures.map { $0.created?.timeIntervalSince1970 } == [1_700_000_000, 1_700_000_005])
        #expect(Set(signatures.map(\.nonce)).count == 2)
        #expect(signatures.map(\.label) == ["sig1", "sig1"])
        #expect(transport.requests[1].headerFields[values: .signature].count == 1)
    }

    @Test func signsEachRedirect() async throws {
        let transport = MockTransport { request in
            request.path == "/old" ? .redirect(to: "/new?a=1", status: .temporaryRedirect) : .ok()
        }
        let request = HTTPRequestData(method: .put, path: "old", body: .json(["name": "Emily"]))
        try await stack(transport, MessageSigner(key, keyID: "app-1")).data(request)
        #expect(transport.requests.map(\.path) == ["/old", "/new"])
        let signatures = try await transport.requests.asyncMap { try await verify($0) }
        #expect(Set(signatures.map(\.nonce)).count == 2)
    }

    /// A redirect that drops the body drops its digest too.
    @Test func redirectWithoutBodyHasNoContentDigest() async throws {
        let transport = MockTransport { request in
            request.path == "/old" ? .redirect(to: "/new", status: .seeOther) : .ok()
        }
        let request = HTTPRequestData(method: .post, path: "old", body: .json(["name": "Emily"]))
        try await stack(transport, MessageSigner(key, keyID: "app-1")).data(request)
        let last = try #require(transport.requests.last)
        #expect(last.method == .get)
        #expect(!last.headerFields.contains(.contentDigest))
        _ = try await verify(last)
    }

    @Test func sendsNoSignatureToOtherOrigins() async throws {
        let transport = MockTransport { request in
            request.path == "/old" ? .redirect(to: "https://elsewhere.example/new") : .ok()
        }
        try await stack(transport, MessageSigner(key, keyID: "app-1")).data(HTTPRequestData(path: "old"))
        let last = try #require(transport.requests.last)
        #expect(last.authority == "elsewhere.example")
        #expect(!last.headerFields.contains(.signature))
        #expect(!last.headerFields.contains(.signatureInput))
    }

    @Test func signsEveryKindOfBody() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, MessageSigner(key, keyID: "app-1"))
        let stream = RequestBody.stream(from: {
            AsyncStream { continuation in
                continuation.yield(Data("hello ".utf8))
                continuation.yield(Data("world".utf8))
                continuation.finish()
            }
        })
        let bodies: [RequestBody] = [
            .data(Data()), .form(["a": "b"]), stream, .multipart([.text("Holiday", name: "title")]),
        ]
        for body in bodies {
            try await network.data(HTTPRequestData(method: .post, path: "upload", body: body))
            // The mock transport records the body that arrived.
            _ = try await verify(try #require(transport.requests.last))
        }
    }

    @Test func signsAStreamReadOnceOnlyIfTheBodyIsNotCovered() async throws {
        let transport = MockTransport { _ in .ok() }
        let body = { RequestBody.stream(AsyncStream { $0.finish() } as AsyncStream<Data>) }
        let network = stack(transport, MessageSigner(key, keyID: "app-1"))
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(method: .post, path: "upload", body: body()))
        }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(transport.requests.isEmpty)
        let without = stack(transport, MessageSigner(key, keyID: "app-1", components: [.method, .path]))
        try await without.data(HTTPRequestData(method: .post, path: "upload", body: body()))
        #expect(transport.requests.count == 1)
    }

    // MARK: Keys

    @Test func everyKeySignsAndVerifies() async throws {
        let (p256, p384) = (P256.Signing.PrivateKey(), P384.Signing.PrivateKey())
        let ed25519 = Curve25519.Signing.PrivateKey()
        let pairs: [(any MessageSigningKey, any MessageVerifyingKey, Int)] = [
            (key, key, 32), (ed25519, ed25519.publicKey, 64), (p256, p256.publicKey, 64), (p384, p384.publicKey, 96),
        ]
        let base = Data("base".utf8)
        for (signing, verifying, length) in pairs {
            let signature = try await signing.messageSignature(of: base)
            #expect(signature.count == length)
            #expect(signing.signatureAlgorithm == verifying.signatureAlgorithm)
            #expect(try await verifying.isMessageSignature(signature, of: base))
            #expect(try await !verifying.isMessageSignature(signature, of: Data("other".utf8)))
            #expect(try await !verifying.isMessageSignature(signature.dropLast(), of: base))
            #expect(try await !verifying.isMessageSignature(Data(), of: base))
        }
    }

    @Test func throwsTheErrorOfTheKey() async {
        struct Locked: Error {}
        struct Vault: MessageSigningKey {
            var signatureAlgorithm: String? { nil }
            func messageSignature(of base: Data) async throws -> Data { throw Locked() }
        }
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, MessageSigner(Vault(), keyID: "app-1", namesAlgorithm: true))
        await #expect(throws: Locked.self) { try await network.data(HTTPRequestData(path: "users")) }
        #expect(transport.requests.isEmpty)
    }

    @Test func cancelledCallerGetsCancellationErrorFromTheKey() async {
        struct Slow: MessageSigningKey {
            var signatureAlgorithm: String? { nil }
            func messageSignature(of base: Data) async throws -> Data {
                withUnsafeCurrentTask { $0?.cancel() }
                try Task.checkCancellation()
                return base
            }
        }
        let network = stack(MockTransport { _ in .ok() }, MessageSigner(Slow(), keyID: "app-1"))
        await #expect(throws: CancellationError.self) {
            try await Task { try await network.data(HTTPRequestData(path: "users")) }.value
        }
    }

    // MARK: Secrets

    @Test func descriptionsRedactTheKeyAndTheSignature() async throws {
        let signer = MessageSigner(key, keyID: "app-1")
        let request = try await Vectors.request.signed(by: signer)
        let signature = try #require(request.headerFields[.signature]).dropFirst(6).dropLast()
        var texts = [
            "\(signer)", String(reflecting: signer), "\(request)", "\(request.headerFields)",
            request.headerFields.description,
        ]
        for value in [signer as Any, request as Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        let network = stack(MockTransport { .failure(NetworkingError(.offline, request: $0)) }, signer)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "users"))
        }
        texts.append(String(reflecting: error))
        for text in texts {
            #expect(!text.contains(signature))
            #expect(!text.contains("not to be seen"))
        }
        #expect(request.headerFields.description.contains(#"keyid="app-1""#))
        #expect("\(signer)" == "MessageSigner(keyID: app-1)")
    }

    @Test func refusesToSignPlainHTTP() async {
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, MessageSigner(key, keyID: "app-1"))
        var request = HTTPRequestData(path: "users")
        request.scheme = "http"
        let sent = request
        let error = await #expect(throws: NetworkingError.self) { try await network.data(sent) }
        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test func keepsTheLaws() async throws {
        try await checkLaws { upstream in
            AnyNetworkingComponent(
                upstream.signed(with: MessageSigner(SymmetricKey(size: .bits256), keyID: "app-1"))
                    .server(
                        authority: "laws.example"
                    )
            )
        }
    }
}

extension Array {
    /// Returns the results of an operation that runs for one element after the other.
    func asyncMap<Result>(
        _ transform: nonisolated(nonsending) (Element) async throws -> Result
    ) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self {
            results.append(try await transform(element))
        }
        return results
    }
}
#endif
