#if Crypto
import Crypto
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import Testing

/// Requests and responses that must not be trusted.
@Suite(.timeLimit(.minutes(20)))
struct MessageVerifierTests {
    private let verifier = MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.method, .path, .contentDigest])
    private let signer = MessageSigner(Vectors.secret, keyID: "app-1", lifetime: .seconds(60), namesAlgorithm: true)

    /// Returns the reason why a request is refused.
    private func refusal(
        of request: HTTPRequestData,
        by verifier: MessageVerifier? = nil,
        label: String? = nil,
        kind: NetworkingError.Kind = .invalidRequest,
        after seconds: Double = 0
    ) async -> String {
        let verifier = verifier ?? self.verifier
        let error = await #expect(throws: NetworkingError.self) {
            try await onTheDay(after: seconds) { try await verifier.verify(request, label: label) }
        }
        #expect(error?.kind == kind)
        return error?.reason ?? ""
    }

    private var signed: HTTPRequestData {
        get async throws {
            try await Vectors.request.signed(by: signer)
        }
    }

    // MARK: Changed messages

    @Test func rejectsChangesToCoveredComponents() async throws {
        try await onTheDay { try await verifier.verify(try await signed) }
        let changes: [(inout HTTPRequestData) -> Void] = [
            { $0.method = .put }, { $0.path = "/bar" }, { $0.query.Pet = "cat" }, { $0.authority = "other.example" },
            { $0.headerFields[.contentType] = "text/plain" }, { $0.headerFields[.contentDigest] = "sha-256=:AAAA:" },
            {
                $0.headerFields[.signatureInput] = $0.headerFields[.signatureInput]?
                    .replacing("618884473", with: "618884474")
            },
            { $0.headerFields[.signature] = "sig1=:AAAA:" }, { $0.headerFields[.signature] = "sig1=::" },
        ]
        for change in changes {
            var request = try await signed
            change(&request)
            #expect(await refusal(of: request).contains("is not valid"))
        }
    }

    @Test func rejectsAChangedBody() async throws {
        var request = try await signed
        request.body = .data(Data("{}".utf8), contentType: "application/json")
        #expect(await refusal(of: request, kind: .checksumMismatch).contains("Content-Digest"))
        let without = MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.contentDigest], checksBody: false)
        let sent = request
        try await onTheDay { try await without.verify(sent) }
    }

    @Test func acceptsChangesToUncoveredFields() async throws {
        var request = try await signed
        request.headerFields[.date] = nil
        request.headerFields[.accept] = "*/*"
        let sent = request
        try await onTheDay { try await verifier.verify(sent) }
    }

    // MARK: Keys and algorithms

    @Test func rejectsOtherKeys() async throws {
        let other = SymmetricKey(size: .bits256)
        let requiring: [MessageComponent] = [.method]
        let request = try await signed
        #expect(
            await refusal(of: request, by: MessageVerifier(other, keyID: nil, requiring: requiring))
                .contains("another key")
        )
        #expect(
            await refusal(of: request, by: MessageVerifier(Vectors.secret, keyID: "app-2", requiring: requiring))
                .contains("is unknown")
        )
        #expect(
            await refusal(of: request, by: MessageVerifier(requiring: requiring) { _ in nil }).contains("is unknown")
        )
        let key = Curve25519.Signing.PrivateKey().publicKey
        #expect(
            await refusal(of: request, by: MessageVerifier(key, keyID: nil, requiring: requiring))
                .contains("another algorithm than that of its key, ed25519")
        )
    }

    @Test func findsKeysByID() async throws {
        let keys = ["app-1": Vectors.secret]
        let verifier = MessageVerifier(requiring: [.method]) { signature in signature.keyID.flatMap { keys[$0] } }
        #expect(try await onTheDay { try await verifier.verify(try await signed) }.keyID == "app-1")
    }

    // MARK: Time

    @Test func rejectsExpiredAndFutureSignatures() async throws {
        let request = try await signed
        for seconds in [-30.0, 0, 60, 90] {
            try await onTheDay(after: seconds) { try await verifier.verify(request) }
        }
        #expect(await refusal(of: request, after: -31).contains("in the future"))
        #expect(await refusal(of: request, after: 91).contains("expired"))
        let lasting = try await Vectors.request.signed(by: MessageSigner(Vectors.secret, keyID: "app-1"))
        try await onTheDay(after: 330) { try await verifier.verify(lasting) }
        #expect(await refusal(of: lasting, after: 331).contains("older"))
        let patient = MessageVerifier(Vectors.secret, keyID: nil, requiring: [], maximumAge: nil)
        try await onTheDay(after: 1e9) { try await patient.verify(lasting) }
    }

    @Test func rejectsASignatureWithoutACreationDate() async throws {
        let input = #"sig1=("@method");keyid="app-1""#
        let base = "\"@method\": POST\n\"@signature-params\": (\"@method\");keyid=\"app-1\""
        let bytes = Vectors.secret.messageSignature(of: Data(base.utf8)).base64EncodedString()
        let request = Vectors.request.with(input, "sig1=:\(bytes):")
        let strict = MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.method])
        #expect(await refusal(of: request, by: strict).contains("when it was created"))
        let lenient = MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.method], maximumAge: nil)
        try await onTheDay { try await lenient.verify(request) }
    }

    @Test(arguments: [
        "created=9223372036854775807", "created=999999999999999", "created=-999999999999999", "expires=0",
    ])
    func rejectsDatesOfAnySizeWithoutTrapping(parameter: String) async {
        let request = Vectors.request.with(
            "sig1=(\"@method\" \"@path\" \"content-digest\");\(parameter);keyid=\"app-1\"",
            "sig1=:AAAA:"
        )
        _ = await refusal(of: request)
    }

    // MARK: Required components

    @Test func rejectsASignatureWithoutRequiredComponents() async throws {
        let request = try await Vectors.request.signed(
            by: MessageSigner(Vectors.secret, keyID: "app-1", components: [.method])
        )
        let reason = await refusal(of: request)
        #expect(reason.contains(#"does not cover all required components: "@path", "content-digest""#))
        var bare = request
        bare.body = nil
        #expect(await refusal(of: bare).hasSuffix(#""@path"."#))
    }

    @Test func selectsSignaturesByLabelAndTag() async throws {
        let first = try await Vectors.request.signed(
            by: MessageSigner(Vectors.secret, keyID: "app-1", tag: "a", label: "one")
        )
        let both = try await first.signed(by: MessageSigner(Vectors.secret, keyID: "app-1", tag: "b", label: "two"))
        let tagged = { (tag: String) in
            MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.method], tag: tag)
        }
        #expect(try await onTheDay { try await verifier.verify(both) }.label == "one")
        #expect(try await onTheDay { try await verifier.verify(both, label: "two") }.tag == "b")
        #expect(try await onTheDay { try await tagged("b").verify(both) }.label == "two")
        #expect(await refusal(of: both, label: "three").contains("no signature with the requested label"))
        #expect(await refusal(of: both, by: tagged("c")).contains("the requested tag"))
        #expect(await refusal(of: Vectors.request).contains("no signature: "))
    }

    /// The reason describes the expected signature and not the other signatures in the request.
    @Test func reportsTheReasonOfTheMatchingSignature() async throws {
        let other = try await Vectors.request.signed(by: MessageSigner(EchoKey(), keyID: "other", label: "a"))
        var both = try await other.signed(by: signer)
        both.method = .put
        #expect(await refusal(of: both).contains("is not valid"))
    }

    // MARK: Malformed

    @Test(arguments: [
        ("sig1=(\"@method\"", "sig1=:AAAA:", "malformed"),
        ("=", "sig1=:AAAA:", "malformed"),
        ("sig1=(\"@method\");created=1618884473", "sig1=(", "malformed"),
        ("sig1", "sig1=:AAAA:", "not a list"),
        ("sig1=\"@method\"", "sig1=:AAAA:", "not a list"),
        ("sig1=(method)", "sig1=:AAAA:", "whose name is not a string"),
        ("sig1=();created=\"now\"", "sig1=:AAAA:", "parameter created"),
        ("sig1=();created=1.5", "sig1=:AAAA:", "parameter created"),
        ("sig1=();keyid=token", "sig1=:AAAA:", "parameter keyid"),
        ("sig1=();alg", "sig1=:AAAA:", "parameter alg"),
        ("sig1=(\"@method\" \"@method\");created=1618884473", "sig1=:AAAA:", "twice"),
        ("sig1=(\"a\";req;key=\"b\" \"a\";key=\"b\";req);created=1618884473", "sig1=:AAAA:", "twice"),
        ("sig1=(\"@signature-params\");created=1618884473", "sig1=:AAAA:", "@signature-params"),
        ("sig1=(\"@method\");created=1618884473", "", "no signature \"sig1\""),
        ("sig1=(\"@method\");created=1618884473", "sig2=:AAAA:", "no signature \"sig1\""),
        ("sig1=(\"@method\");created=1618884473", "sig1=\"AAAA\"", "no signature \"sig1\""),
        ("sig1=(\"@method\");created=1618884473", "sig1=(:AAAA:)", "no signature \"sig1\""),
        ("sig1=(\"@nonsense\");created=1618884473", "sig1=:AAAA:", "does not define"),
        ("sig1=(\"@status\");created=1618884473", "sig1=:AAAA:", "only a response"),
        ("sig1=(\"@query-param\");created=1618884473", "sig1=:AAAA:", "which one"),
        ("sig1=(\"@query-param\";name=1);created=1618884473", "sig1=:AAAA:", "unknown or malformed"),
        ("sig1=(\"@method\";name=\"a\");created=1618884473", "sig1=:AAAA:", "only for @query-param"),
        ("sig1=(\"X-Missing\");created=1618884473", "sig1=:AAAA:", "lower case"),
        ("sig1=(\"x missing\");created=1618884473", "sig1=:AAAA:", "lower case"),
        ("sig1=(\"\");created=1618884473", "sig1=:AAAA:", "lower case"),
        ("sig1=(\"x-missing\");created=1618884473", "sig1=:AAAA:", "which is missing"),
        ("sig1=(\"date\";tr);created=1618884473", "sig1=:AAAA:", "trailer"),
        ("sig1=(\"date\";sf=?0);created=1618884473", "sig1=:AAAA:", "unknown or malformed"),
        ("sig1=(\"date\";new);created=1618884473", "sig1=:AAAA:", "unknown or malformed"),
        ("sig1=(\"date\";bs;sf);created=1618884473", "sig1=:AAAA:", "exclude"),
        ("sig1=(\"date\";req);created=1618884473", "sig1=:AAAA:", "only the signature of a response"),
    ])
    func rejectsMalformedFields(input: String, signature: String, reason: String) async {
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [])
        let message = await refusal(of: Vectors.request.with(input, signature), by: verifier)
        #expect(message.contains(reason), "\(message)")
    }

    /// A signature input with very many members would keep the parser busy.
    @Test func rejectsVeryLongFields() async {
        let input = (0..<20_000).map { "s\($0)=()" }.joined(separator: ", ")
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [])
        #expect(await refusal(of: Vectors.request.with(input, "s1=:AAAA:"), by: verifier).contains("malformed"))
    }

    @Test func rejectsMoreThan64Components() async {
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [])
        for (count, reason) in [(64, "is not valid"), (65, "more than 64 components")] {
            let names = (0..<count).map { "\"x-\($0)\"" }.joined(separator: " ")
            var request = Vectors.request.with("sig1=(\(names));created=1618884473", "sig1=:AAAA:")
            for number in 0..<count { request.headerFields[HTTPField.Name("X-\(number)")!] = "a" }
            #expect(await refusal(of: request, by: verifier).contains(reason))
        }
    }

    @Test func requiresALabelAboveEightSignatures() async throws {
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [.method])
        var request = Vectors.request
        for label in 1...9 {
            request = try await request.signed(by: MessageSigner(EchoKey(), keyID: "key-\(label)", label: "s\(label)"))
            if label == 8 {
                let sent = request
                try await onTheDay { try await verifier.verify(sent) }
            }
        }
        #expect(await refusal(of: request, by: verifier).contains("by its label"))
        let sent = request
        try await onTheDay { try await verifier.verify(sent, label: "s9") }
    }

    @Test(arguments: ["x-list\";sf", "x-list\";key=\"a1\""])
    func rejectsStructuredFieldsWithTooManyMembers(component: String) async {
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [])
        var request = Vectors.request.with("sig1=(\"\(component));created=1618884473", "sig1=:AAAA:")
        for (count, reason) in [(1_000, "is not valid"), (2_000, "RFC 9651")] {
            request.headerFields[HTTPField.Name("X-List")!] = (0..<count).map { "a\($0)" }.joined(separator: ", ")
            #expect(await refusal(of: request, by: verifier).contains(reason))
        }
    }

    @Test func cancelledVerificationThrowsCancellationError() async throws {
        let request = try await Vectors.request.signed(
            by: MessageSigner(Vectors.secret, keyID: "app-1", components: [.method])
        )
        let verifier = MessageVerifier(Vectors.secret, keyID: "app-1", requiring: [.method])
        let verifying = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await onTheDay { _ = try await verifier.verify(request) }
        }
        await #expect(throws: CancellationError.self) { try await verifying.value }
    }

    /// Parameters that the specification does not define are covered unchanged (RFC 9421 section 2.3).
    @Test func coversUnknownParameters() async throws {
        let parameters = #"("@method");created=1618884473;x=1.5;y=tok;z=:AAAA:;w"#
        let base = "\"@method\": POST\n\"@signature-params\": \(parameters)"
        let bytes = Vectors.secret.messageSignature(of: Data(base.utf8)).base64EncodedString()
        let request = Vectors.request.with("sig1=\(parameters)", "sig1=:\(bytes):")
        let verifier = MessageVerifier(Vectors.secret, keyID: nil, requiring: [.method])
        try await onTheDay { try await verifier.verify(request) }
    }

    // MARK: Responses

    private func network(
        _ change: @escaping @Sendable (inout HTTPResponseData) -> Void = { _ in }
    ) -> AnyNetworkingComponent {
        let response = Vectors.response
            .with(
                #"sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473"#
                    + #";keyid="test-key-ecc-p256""#,
                "sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:"
            )
        let transport = MockTransport { _ in
            var response = response
            change(&response)
            return MockResponse(status: response.status, data: response.data, headerFields: response.headerFields)
        }
        let verifier = MessageVerifier(requiring: [.status, .contentDigest]) { _ in try Vectors.p256.publicKey }
        return AnyNetworkingComponent(
            transport.verifiedSignatures(by: verifier).server(authority: "example.com")
                .environment(\.clock, .manual(ManualClock(start: Vectors.created)))
        )
    }

    @Test func returnsResponsesWithAValidSignature() async throws {
        let response = try await network().data(HTTPRequestData(path: "dog"))
        #expect(String(decoding: response.data, as: UTF8.self) == #"{"message": "good dog"}"#)
    }

    /// Otherwise the sender of the redirect could choose which signed response is accepted.
    @Test(arguments: [true, false])
    func doesNotFollowAnUnsignedRedirect(isFollowedOutside: Bool) async {
        let transport = MockTransport([.redirect(to: "/other"), .ok()])
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [.status])
        let verified = transport.verifiedSignatures(by: verifier)
        let network =
            isFollowedOutside ? AnyNetworkingComponent(verified.redirected()) : AnyNetworkingComponent(verified)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.server(authority: "example.com").data(HTTPRequestData(path: "dog"))
        }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.response?.status == .found)
        #expect(transport.requests.count == 1)
    }

    @Test func followsASignedRedirect() async throws {
        let transport = MockTransport { request in
            let status = request.path == "/dog" ? 302 : 200
            let base = "\"@status\": \(status)\n\"@path\";req: \(request.path ?? "")\n"
            let parameters = "(\"@status\" \"@path\";req);created=1618884473"
            let text = base + "\"@signature-params\": \(parameters)"
            return .status(
                HTTPResponse.Status(code: status),
                headerFields: [
                    .location: "/cat", .signatureInput: "s=\(parameters)",
                    .signature: "s=:\(Data(text.utf8).base64EncodedString()):",
                ]
            )
        }
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [.status, .path.ofRequest])
        let network = transport.verifiedSignatures(by: verifier).server(authority: "example.com")
        let response = try await onTheDay { try await network.data(HTTPRequestData(path: "dog")) }
        #expect(response.redirects.count == 1)
        #expect(transport.requests.map(\.path) == ["/dog", "/cat"])
    }

    @Test func throwsForResponsesWithoutAValidSignature() async {
        let changes: [(@Sendable (inout HTTPResponseData) -> Void, NetworkingError.Kind)] = [
            ({ $0.status = .created }, .invalidResponse), ({ $0.data = Data("bad dog".utf8) }, .checksumMismatch),
            ({ $0.headerFields[.signature] = nil }, .invalidResponse),
            ({ $0.headerFields[.contentType] = nil }, .invalidResponse),
            ({ $0.headerFields[.signatureInput] = #"sig-b24=("@method");created=1618884473"# }, .invalidResponse),
        ]
        for (change, kind) in changes {
            let error = await #expect(throws: NetworkingError.self) {
                try await network(change).data(HTTPRequestData(path: "dog"))
            }
            #expect(error?.kind == kind)
            #expect(error?.response != nil)
            #expect(error?.request.path == "/dog")
        }
    }

    @Test func rejectsSeveralSetCookieFieldsUnlessBinary() async {
        var response = HTTPResponseData(request: Vectors.request)
        response.headerFields = [.setCookie: "a=1", .setCookie: "b=2"]
        let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [])
        let bytes = Data("x".utf8).base64EncodedString()
        let sent = response.with(#"s=("set-cookie");created=1618884473"#, "s=:\(bytes):")
        let error = await #expect(throws: NetworkingError.self) {
            try await onTheDay { try await verifier.verify(sent) }
        }
        #expect(error?.reason.contains("ambiguous") == true)
        let base = "\"set-cookie\";bs: :YT0x:, :Yj0y:\n\"@signature-params\": (\"set-cookie\";bs);created=1618884473"
        let good = response.with(
            #"s=("set-cookie";bs);created=1618884473"#,
            "s=:\(Data(base.utf8).base64EncodedString()):"
        )
        await #expect(throws: Never.self) { try await onTheDay { try await verifier.verify(good) } }
    }

    @Test func keepsTheLaws() async throws {
        /// Signs the responses of the transports in the law checks.
        struct Signing: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                var response = try await upstream.send(request)
                let created = Int(NetworkEnvironment.current.clock.date.timeIntervalSince1970)
                let base =
                    "\"@status\": \(response.status.code)\n\"@signature-params\": (\"@status\");created=\(created)"
                response.headerFields[.signatureInput] = "sig1=(\"@status\");created=\(created)"
                response.headerFields[.signature] = "sig1=:\(Data(base.utf8).base64EncodedString()):"
                return response
            }
        }
        try await checkLaws { upstream in
            let verifier = MessageVerifier(EchoKey(), keyID: nil, requiring: [.status])
            return AnyNetworkingComponent(upstream.modified(Signing()).verifiedSignatures(by: verifier))
        }
    }
}
#endif
