#if Crypto
import Foundation
import HTTPTypes
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingSigning

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AWSSignerTests {
    private let clock = ManualClock(start: Date(timeIntervalSince1970: 1_440_938_160))
    private let credentials = AWSCredentials(
        accessKeyID: "AKIDEXAMPLE",
        secretAccessKey: "secret-key",
        sessionToken: "secret-token"
    )
    private let authority = "api.example.com"

    private func signer(
        service: String = "execute-api",
        options: AWSSigner.Options = AWSSigner.Options()
    ) -> AWSSigner {
        AWSSigner(credentials, region: "eu-central-1", service: service, options: options)
    }

    private func stack(_ transport: MockTransport, _ signer: AWSSigner) -> some NetworkingComponent {
        transport.signed(with: signer).retry().server(authority: authority).environment(\.clock, .manual(clock))
    }

    private func signed(_ request: HTTPRequestData, by signer: AWSSigner) async throws -> HTTPRequestData {
        let transport = MockTransport { _ in .ok() }
        _ = try await stack(transport, signer).data(request)
        return try #require(transport.requests.first)
    }

    // MARK: Signed parts

    @Test func setsTheSignatureFields() async throws {
        let request = try await signed(HTTPRequestData(path: "items"), by: signer())
        #expect(request.headerFields[.amzDate] == "20150830T123600Z")
        #expect(request.headerFields[.amzSecurityToken] == "secret-token")
        #expect(request.headerFields[.amzContentSHA256] == nil)
        let field = try #require(request.headerFields[.authorization])
        #expect(
            field.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-central-1/execute-api/aws4_request, "
                    + "SignedHeaders=host;x-amz-date;x-amz-security-token, Signature="
            )
        )
    }

    @Test func leavesOutFieldsThatProxiesChange() async throws {
        var request = HTTPRequestData(path: "items")
        request.headerFields = [
            .userAgent: "a", .expect: "100-continue", .acceptEncoding: "gzip", .cookie: "a=b", .via: "c",
            "X-Amzn-Trace-Id": "d", .accept: "text/plain", "X-Mine": "e",
            "X-Shy": "f",
        ]
        let options = AWSSigner.Options(unsignedFields: [HTTPField.Name("x-shy")!])
        let field = try await signed(request, by: signer(options: options)).headerFields[.authorization]
        #expect(field?.contains("SignedHeaders=accept;host;x-amz-date;x-amz-security-token;x-mine,") == true)
    }

    @Test func joinsRepeatedFields() async throws {
        let name = HTTPField.Name("X-Mine")!
        var request = HTTPRequestData(path: "items")
        request.headerFields[values: name] = ["b", "a"]
        #expect(try await signed(request, by: signer()).headerFields[values: name] == ["b,a"])
    }

    @Test func joinedFieldStaysSecret() async throws {
        let name = HTTPField.Name("X-Mine")!
        var request = HTTPRequestData(path: "items")
        request.setCredential("secret-1", for: name)
        request.headerFields.append(HTTPField(name: name, value: "b"))
        let sent = try await signed(request, by: signer())
        #expect(sent.headerFields[values: name] == ["secret-1,b"])
        #expect(!everyPrint(of: sent).contains("secret-1"))
    }

    @Test func replacesTheCallersDate() async throws {
        var request = HTTPRequestData(path: "items")
        request.headerFields[.amzDate] = "19700101T000000Z"
        #expect(try await signed(request, by: signer()).headerFields[values: .amzDate] == ["20150830T123600Z"])
    }

    @Test(arguments: [("https", "h.example:443"), ("https", "h.example"), ("http", "h.example:80")])
    func leavesOutTheDefaultPort(scheme: String, authority: String) async throws {
        try await withEnvironment(environment) {
            let request = HTTPRequestData(scheme: scheme, authority: authority, path: "/")
            let other = HTTPRequestData(scheme: scheme, authority: "h.example", path: "/")
            let signatures = try await (signer().presigned(request), signer().presigned(other))
            #expect(signatures.0.query["X-Amz-Signature"] == signatures.1.query["X-Amz-Signature"])
            let third = try await signer().presigned(HTTPRequestData(authority: "h.example:8443"))
            #expect(third.query["X-Amz-Signature"] != signatures.0.query["X-Amz-Signature"])
        }
    }

    @Test(arguments: [
        ("/a%2Fb//c/../d(e)+%FF", "s3", "/a/b//c/../d%28e%29%2B%FF"),
        ("/a%2Fb//c/../d(e)+%FF", "sns", "/a%252Fb/d%28e%29%2B%25FF"), ("", "sns", "/"), ("/a/b/..", "sns", "/a"),
        ("/a/./", "sns", "/a/"), ("/..", "sns", "/"),
    ])
    func encodesPathsByTheRulesOfTheService(path: String, service: String, canonical: String) {
        let isS3 = service == "s3"
        #expect(AWSCanonicalRequest.path(path, isNormalized: !isS3, isEncodedTwice: !isS3) == canonical)
    }

    @Test func sortsQueryItemsByTheirEncodedForm() {
        #expect(
            AWSCanonicalRequest.query("b=1+2&a-=x&a&a=%2f&=z&&c=%FF=%zz") == "=z&a=&a=%2F&a-=x&b=1%202&c=%FF%3D%25zz"
        )
    }

    @Test func signsEachAttemptWithItsOwnDate() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let network = stack(transport, signer())
        async let response = network.data(HTTPRequestData(path: "items"))
        try await clock.advance(by: .seconds(60), afterSleepers: 1)
        _ = try await response
        let dates = transport.requests.map { $0.headerFields[.amzDate] }
        #expect(dates == ["20150830T123600Z", "20150830T123700Z"])
        #expect(
            transport.requests[0].headerFields[.authorization] != transport.requests[1].headerFields[.authorization]
        )
    }

    @Test func signsEachRedirect() async throws {
        let transport = MockTransport { request in
            request.path == "/a" ? .redirect(to: "/b", status: .temporaryRedirect) : .ok()
        }
        _ = try await stack(transport, signer()).data(HTTPRequestData(path: "a"))
        let fields = transport.requests.compactMap { $0.headerFields[.authorization] }
        #expect(Set(fields).count == 2)
    }

    @Test func doesNotSignAPresignedURL() async throws {
        let request = try await signed(HTTPRequestData(path: "a?X-Amz-Signature=abc"), by: signer())
        #expect(request.headerFields.isEmpty)
        #expect(request.query.encoded == "X-Amz-Signature=abc")
    }

    // MARK: Bodies

    @Test func sendsThePayloadDigestToS3() async throws {
        let request = HTTPRequestData(method: .put, path: "key", body: .data(Data("Param1=value1".utf8)))
        let digest = try await signed(request, by: signer(service: "s3")).headerFields[.amzContentSHA256]
        #expect(digest == "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e")
    }

    @Test(arguments: [AWSSigner.Payload.unsigned, .unsignedIfReadOnce])
    func sendsAStreamUnsignedIfAllowed(_ payload: AWSSigner.Payload) async throws {
        let request = HTTPRequestData(method: .put, path: "key", body: readOnce)
        let sent = try await signed(request, by: signer(options: AWSSigner.Options(payload: payload)))
        #expect(sent.headerFields[.amzContentSHA256] == "UNSIGNED-PAYLOAD")
        #expect(sent.body?.data == Data("once".utf8))
    }

    @Test func signsABodyThatCanBeReadAgain() async throws {
        let request = HTTPRequestData(method: .put, path: "key", body: .data(Data()))
        let options = AWSSigner.Options(payload: .unsignedIfReadOnce, sendsPayloadDigest: true)
        let digest = try await signed(request, by: signer(options: options)).headerFields[.amzContentSHA256]
        #expect(digest?.hasPrefix("e3b0c442") == true)
    }

    @Test(arguments: [AWSSigner.Payload?.none, .digest])
    func refusesAStreamReadOnceByDefault(_ payload: AWSSigner.Payload?) async throws {
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, signer(service: "s3", options: AWSSigner.Options(payload: payload)))
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(method: .put, path: "key", body: readOnce))
        }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(error?.reason.contains("payload") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func refusesAnUnsignedStreamOverHTTP() async throws {
        let network = MockTransport { _ in .ok() }
            .signed(with: signer(options: AWSSigner.Options(payload: .unsigned)))
            .server(scheme: "http").server(authority: "localhost:9000")
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(method: .put, path: "key", body: readOnce))
        }
        #expect(error?.kind == .bodyNotReplayable)
    }

    @Test func keepsThePayloadDigestOfTheCaller() async throws {
        var request = HTTPRequestData(method: .put, path: "key", body: readOnce)
        request.headerFields[.amzContentSHA256] = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
        let sent = try await signed(request, by: signer(service: "s3"))
        #expect(sent.headerFields[values: .amzContentSHA256] == ["STREAMING-UNSIGNED-PAYLOAD-TRAILER"])
    }

    private var readOnce: RequestBody {
        .stream(
            AsyncStream {
                $0.yield(Data("once".utf8))
                $0.finish()
            }
        )
    }

    // MARK: In the query

    @Test func presignsWithQueryItemsAndNoFields() async throws {
        let options = AWSSigner.Options(placement: .query(lifetime: .seconds(60)))
        var request = HTTPRequestData(path: "items?a=1&b=(2)")
        request.headerFields[.amzDate] = "19700101T000000Z"
        let sent = try await signed(request, by: signer(options: options))
        #expect(sent.headerFields.isEmpty)
        let query = try #require(sent.query.encoded)
        #expect(
            query.hasPrefix(
                "a=1&b=(2)&X-Amz-Algorithm=AWS4-HMAC-SHA256"
                    + "&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Feu-central-1%2Fexecute-api%2Faws4_request"
                    + "&X-Amz-Date=20150830T123600Z&X-Amz-Expires=60&X-Amz-Security-Token=secret-token"
                    + "&X-Amz-SignedHeaders=host&X-Amz-Signature="
            )
        )
        // The request marks these items as secret, so other redaction rules redact them too.
        #expect(sent.secretQueryItems == ["x-amz-credential", "x-amz-security-token", "x-amz-signature"])
        #expect(!everyPrint(of: sent).contains("secret"))
        #expect(!everyPrint(of: sent).contains(try #require(sent.query["X-Amz-Signature"])))
    }

    /// The token would otherwise be sent twice, and the link would be valid only with the field.
    @Test func presignedURLHasItsTokenOnlyInTheQuery() async throws {
        try await withEnvironment(environment) {
            let request = HTTPRequestData(authority: authority, path: "/a")
            var signed = request
            signed.headerFields[HTTPField.Name("X-Amz-Security-Token")!] = "secret-token-of-a-field"
            let link = try await signer().presigned(signed)
            #expect(link.headerFields.isEmpty)
            #expect(link.query["X-Amz-SignedHeaders"] == "host")
            #expect(try await link.query.encoded == signer().presigned(request).query.encoded)
        }
    }

    @Test func presignedS3URLDoesNotCoverTheBody() async throws {
        try await withEnvironment(environment) {
            var request = HTTPRequestData(method: .put, url: URL(string: "https://b.s3.amazonaws.com/k?a=")!)
            request.headerFields[.contentType] = "text/plain"
            request.body = readOnce
            let link = try await signer(service: "s3").presigned(request)
            #expect(link.headerFields == [.contentType: "text/plain"])
            #expect(link.query["X-Amz-SignedHeaders"] == "content-type;host")
            #expect(link.url?.absoluteString.hasPrefix("https://b.s3.amazonaws.com/k?a=&X-Amz-Algorithm=") == true)
            let again = try await signer(service: "s3").presigned(link)
            #expect(again.query.encoded == link.query.encoded)
        }
    }

    @Test(arguments: ["http", "https"])
    func presignedS3URLDoesNotCoverTheBodyOverAnyScheme(scheme: String) async throws {
        try await withEnvironment(environment) {
            let request = HTTPRequestData(method: .put, scheme: scheme, authority: "localhost:9000", path: "/b/k")
            let link = try await signer(service: "s3").presigned(request)
            for body in [RequestBody.data(Data("a".utf8)), readOnce] {
                let other = try await signer(service: "s3").presigned(request.with { $0.body = body })
                #expect(other.query["X-Amz-Signature"] == link.query["X-Amz-Signature"])
                #expect(other.headerFields == link.headerFields)
            }
        }
    }

    @Test func presignedURLHasNoTokenOfOtherCredentials() async throws {
        try await withEnvironment(environment) {
            let request = try await signer().presigned(HTTPRequestData(authority: authority, path: "/a"))
            #expect(request.query["X-Amz-Security-Token"] == "secret-token")
            let lasting = AWSCredentials(accessKeyID: "AKIDLASTING", secretAccessKey: "secret-key")
            let link = try await AWSSigner(lasting, region: "eu-central-1", service: "execute-api").presigned(request)
            #expect(link.query["X-Amz-Security-Token"] == nil)
            #expect(link.headerFields.isEmpty)
            #expect(link.query["X-Amz-SignedHeaders"] == "host")
        }
    }

    /// The server copies the whole query into the redirect, with a signature for the old path.
    @Test func replacesItsOwnSignatureInARedirect() async throws {
        let options = AWSSigner.Options(placement: .query(lifetime: .seconds(60)))
        let transport = MockTransport { request in
            request.path == "/a" ? .redirect(to: "/b?\(request.query.encoded ?? "")") : .ok()
        }
        _ = try await stack(transport, signer(options: options)).data(HTTPRequestData(path: "a?c=d"))
        let direct = MockTransport { _ in .ok() }
        _ = try await stack(direct, signer(options: options)).data(HTTPRequestData(path: "b?c=d"))
        #expect(transport.requests.last?.query.encoded == direct.requests.first?.query.encoded)
    }

    @Test func keepsAPresignedURLOfAnotherKey() async throws {
        let options = AWSSigner.Options(placement: .query(lifetime: .seconds(60)))
        let query = "X-Amz-Credential=AKIDOTHER%2F20150830&X-Amz-Signature=abc"
        let request = try await signed(HTTPRequestData(path: "a?\(raw: query)"), by: signer(options: options))
        #expect(request.query.encoded == query)
    }

    @Test(arguments: [Duration.zero, .seconds(604_801)])
    func refusesLifetimesAboveSevenDays(_ lifetime: Duration) async {
        let request = HTTPRequestData(url: URL(string: "https://b.s3.amazonaws.com/k")!)
        let error = await #expect(throws: NetworkingError.self) {
            try await signer().presigned(request, lifetime: lifetime)
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func presigningRequiresAnAuthority() async {
        let error = await #expect(throws: NetworkingError.self) { try await signer().presigned(HTTPRequestData()) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func refusesQueryPlacementOverPlainHTTP() async {
        let options = AWSSigner.Options(placement: .query(lifetime: .seconds(60)))
        let network = MockTransport { _ in .ok() }
            .signed(with: signer(options: options)).server(scheme: "http").server(authority: authority)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
        #expect(error?.kind == .invalidRequest)
    }

    // MARK: Clocks

    private func refusal(_ text: String, at date: String, status: HTTPResponse.Status = .forbidden) -> MockResponse {
        MockResponse(status: status, data: Data(text.utf8), headerFields: [.date: date])
    }

    @Test(arguments: [
        "<?xml version=\"1.0\"?><Error><Code>RequestTimeTooSkewed</Code><Message>no</Message></Error>",
        "<ErrorResponse><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>",
        "{\"__type\":\"com.amazon.coral.service#InvalidSignatureException\",\"message\":\"Signature expired\"}",
        "{\"code\":\"RequestExpired\"}",
    ])
    func adoptsTheServersClockAfterASkewError(_ text: String) async throws {
        let transport = MockTransport([
            refusal(text, at: "Sun, 30 Aug 2015 13:36:00 GMT", status: text.hasPrefix("{") ? .badRequest : .forbidden),
            .ok(), .ok(),
        ])
        let network = stack(transport, signer())
        _ = try await network.data(HTTPRequestData(path: "a"))
        clock.advance(by: .seconds(1))
        _ = try await network.data(HTTPRequestData(path: "b"))
        let dates = transport.requests.map { $0.headerFields[.amzDate] }
        #expect(dates == ["20150830T123600Z", "20150830T133600Z", "20150830T133601Z"])
    }

    @Test func readsTheErrorTypeFromAField() async throws {
        let type = "InvalidSignatureException:http://internal.amazon.com/"
        let fields: HTTPFields = [
            .date: "Sun, 30 Aug 2015 11:36:00 GMT", HTTPField.Name("x-amzn-ErrorType")!: type,
        ]
        let options = AWSSigner.Options(placement: .query(lifetime: .seconds(60)))
        let transport = MockTransport([.status(.badRequest, headerFields: fields), .ok()])
        _ = try await stack(transport, signer(options: options)).data(HTTPRequestData(path: "a"))
        #expect(transport.requests.map { $0.query["X-Amz-Date"] } == ["20150830T123600Z", "20150830T113600Z"])
    }

    @Test func retriesAHeadRequestWithoutAnErrorBody() async throws {
        let transport = MockTransport([refusal("", at: "Sun, 30 Aug 2015 13:36:00 GMT"), .ok()])
        _ = try await stack(transport, signer()).data(HTTPRequestData(method: .head, path: "a"))
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [
        ("SignatureDoesNotMatch", "Sun, 30 Aug 2015 12:39:59 GMT"), ("AccessDenied", "Sun, 30 Aug 2015 13:36:00 GMT"),
        ("RequestTimeTooSkewed", "yesterday"),
    ])
    func returnsRefusalsThatAreNoSkewErrors(code: String, date: String) async throws {
        let transport = MockTransport([refusal("<Error><Code>\(code)</Code></Error>", at: date)])
        let response = try await stack(transport, signer()).data(HTTPRequestData(path: "a"))
        #expect(response.status == .forbidden)
        #expect(transport.requests.count == 1)
    }

    @Test func adoptsTheServersClockOncePerRequest() async throws {
        let text = "<Error><Code>RequestTimeTooSkewed</Code></Error>"
        let transport = MockTransport { _ in refusal(text, at: "Sun, 30 Aug 2015 13:36:00 GMT") }
        let response = try await stack(transport, signer()).data(HTTPRequestData(path: "a"))
        #expect(response.status == .forbidden)
        #expect(transport.requests.count == 2)
    }

    @Test func keepsOneClockOffsetPerHost() {
        let offsets = ClockOffsets()
        var request = HTTPRequestData(authority: "A.example.com")
        _ = offsets.date(&request)
        let response = HTTPResponseData(
            request: request,
            status: .forbidden,
            headerFields: [.date: "Sun, 30 Aug 2015 13:36:00 GMT"]
        )
        #expect(offsets.learn(from: response))
        var same = HTTPRequestData(authority: "a.example.com:443")
        var other = HTTPRequestData(authority: "b.example.com")
        #expect(offsets.date(&same) < Date(timeIntervalSince1970: 1_440_948_160))
        #expect(offsets.date(&other).timeIntervalSinceNow.magnitude < 60)
    }

    private static let signatureMismatch = "<Error><Code>SignatureDoesNotMatch</Code></Error>"

    /// The date is old when the response arrives, but the clocks agree.
    @Test func slowRequestIsNotRetriedForItsOldDate() async throws {
        let transport = MockTransport { [clock] _ in
            clock.advance(by: .seconds(360))
            return refusal(Self.signatureMismatch, at: "Sun, 30 Aug 2015 12:42:00 GMT")
        }
        let response = try await stack(transport, signer()).data(HTTPRequestData(path: "a"))
        #expect(response.status == .forbidden)
        #expect(transport.requests.count == 1)
    }

    /// A retry would send the same presigned URL again.
    @Test func expiredPresignedURLIsNotRetried() async throws {
        let signer = signer()
        let request = HTTPRequestData(authority: authority, path: "/a")
        let link = try await withEnvironment(environment) { try await signer.presigned(request) }
        let transport = MockTransport { _ in refusal(Self.signatureMismatch, at: "Sun, 30 Aug 2015 13:36:00 GMT") }
        let response = try await stack(transport, signer).data(link)
        #expect(response.status == .forbidden)
        #expect(transport.requests.count == 1)
    }

    @Test func retriesEvenIfAnotherRequestAdoptedTheClock() async throws {
        let (arrival, gate) = (Suspension<Void>(), Suspension<Void>())
        let transport = MockTransport { request in
            guard request.headerFields[.amzDate] == "20150830T123600Z" else { return .ok() }
            if request.path == "/a" {
                arrival.resume()
                try await gate.value()
            }
            return refusal(Self.signatureMismatch, at: "Sun, 30 Aug 2015 13:36:00 GMT")
        }
        let network = stack(transport, signer())
        async let first = network.data(HTTPRequestData(path: "a"))
        try await arrival.value()
        #expect(try await network.data(HTTPRequestData(path: "b")).status == .ok)
        gate.resume()
        #expect(try await first.status == .ok)
        #expect(transport.requests.count == 4)
    }

    // MARK: Invalid input and secrets

    @Test(arguments: [("", "s", "r"), ("a", "", "r"), ("a", "secret-key\n", "r"), ("a", "s", ""), ("a\n", "s", "r")])
    func refusesInvalidCredentialsAndRegions(id: String, secret: String, region: String) async {
        let credentials = AWSCredentials(accessKeyID: id, secretAccessKey: secret)
        let transport = MockTransport { _ in .ok() }
        let network = stack(transport, AWSSigner(credentials, region: region, service: "s3"))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "a")) }
        #expect(error?.kind == .invalidRequest)
        #expect(!everyPrint(of: error as Any).contains("secret-key"))
        #expect(transport.requests.isEmpty)
    }

    @Test func descriptionsRedactSecrets() async throws {
        let sent = try await signed(HTTPRequestData(path: "a"), by: signer())
        let signature = try #require(sent.headerFields[.authorization]?.split(separator: "Signature=").last)
        let values: [Any] = [
            credentials, signer(), AWSCredentialProvider { credentials }, sent,
            AnyNetworkingComponent(stack(.init(), signer())),
        ]
        for value in values {
            #expect(!everyPrint(of: value).contains("secret-"))
            #expect(!everyPrint(of: value).contains(signature))
        }
    }

    @Test func keyIDIsTheAccessKeyID() {
        #expect(signer().keyID == "AKIDEXAMPLE")
        #expect(signer().scheme == "AWS4-HMAC-SHA256")
        #expect(signer(options: AWSSigner.Options(placement: .query(lifetime: .seconds(1)))).scheme == nil)
    }

    @Test func keepsTheLaws() async throws {
        let authority = try #require(HTTPRequestData.lawful.authority)
        for placement in [AWSSigner.Placement.header, .query(lifetime: .seconds(60))] {
            try await checkLaws { [signer = signer(options: AWSSigner.Options(placement: placement))] upstream in
                AnyNetworkingComponent(upstream.signed(with: signer, at: [authority]))
            }
        }
        let provider = AWSCredentialProvider { [credentials] in credentials }
        try await checkLaws { upstream in
            let signer = AWSSigner(provider, region: "eu-central-1", service: "s3")
            return AnyNetworkingComponent(upstream.signed(with: signer, at: [authority]))
        }
    }

    private var environment: NetworkEnvironment {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        return environment
    }
}
#endif
