#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Digests of responses, right, wrong, missing and malformed.
@Suite(.timeLimit(.minutes(20)))
struct VerifiedDigestsTests {
    /// The body and the digests of RFC 9530 appendix A.
    private static let body = Data(#"{"hello": "world"}"#.utf8) + Data([10])
    private static let sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    private static let sha512 =
        "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"
    private static let wrong = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"

    private let events = EventRecorder()

    private func transport(
        _ field: String?,
        status: HTTPResponse.Status = .ok,
        _ fields: HTTPFields = [:]
    ) -> MockTransport {
        var fields = fields
        fields[.reprDigest] = field
        return MockTransport { [fields] _ in
            MockResponse(status: status, data: Self.body, headerFields: fields)
        }
    }

    private func kind(
        of network: some NetworkingComponent,
        _ request: HTTPRequestData = .lawful
    ) async -> NetworkingError.Kind? {
        do {
            try await network.data(request)
            return nil
        } catch {
            return (error as? NetworkingError)?.kind
        }
    }

    // MARK: Fields

    @Test func asksForDigestsOfThePlainBody() async throws {
        let transport = transport(nil)
        try await transport.verifiedDigests().data(.lawful)
        let request = try #require(transport.requests.first)
        #expect(request.headerFields[.wantReprDigest] == "sha-256=10, sha-512=9")
        #expect(request.headerFields[.acceptEncoding] == "identity")
        let own = HTTPRequestData.lawful.with {
            $0.headerFields[.wantReprDigest] = "md5=1"
            $0.headerFields[.acceptEncoding] = "gzip"
        }
        try await transport.verifiedDigests(wanting: [.sha512]).data(own)
        #expect(transport.requests.last?.headerFields[.wantReprDigest] == "md5=1")
        #expect(transport.requests.last?.headerFields[.acceptEncoding] == "gzip")
        try await transport.verifiedDigests(wanting: []).data(.lawful)
        #expect(transport.requests.last?.headerFields[.wantReprDigest] == nil)
    }

    @Test(arguments: [
        sha256, sha512, "\(sha256), \(sha512)", "md5=:AAAA:, \(sha256), unixsum=:AA==:;a=1", "\(wrong), \(sha256)",
    ])
    func acceptsAMatchingDigest(field: String) async throws {
        let network = transport(field).verifiedDigests(isRequired: true).observed(by: events)
        #expect(try await network.data(.lawful).data == Self.body)
        #expect(events.names.filter { $0.hasPrefix("digest") } == ["digestVerified"])
        let sink = CollectingSink()
        try await network.data(HTTPRequestData.lawful.with { $0.sink = sink })
        #expect(sink.chunks.reduce(Data(), +) == Self.body)
    }

    @Test(arguments: [wrong, "\(sha512), \(wrong)", "sha-256=:AA==:", "sha-256=::, \(sha512)"])
    func refusesAnotherDigest(field: String) async throws {
        let transport = transport(field)
        #expect(await kind(of: transport.verifiedDigests()) == .checksumMismatch)
        let sink = CollectingSink()
        let request = HTTPRequestData.lawful.with { $0.sink = sink }
        #expect(await kind(of: transport.verifiedDigests(), request) == .checksumMismatch)
        // One exchange each: a repetition would get the same body.
        #expect(await kind(of: transport.verifiedDigests().retry()) == .checksumMismatch)
        #expect(transport.requests.count == 3)
    }

    @Test(arguments: [
        nil, "", "md5=:AAAA:", "sha-256", "sha-256=\"AAAA\"", "sha-256=12", "=:;,", "sha-256=:not base64!:",
        "SHA-256=:AAAA:",
    ])
    func acceptsAResponseWithoutAUsableDigestUnlessItIsRequired(field: String?) async throws {
        let transport = transport(field)
        let network = transport.verifiedDigests().observed(by: events)
        #expect(await kind(of: network) == nil)
        #expect(events.names.contains("digestNotVerified"))
        #expect(await kind(of: transport.verifiedDigests(isRequired: true)) == .invalidResponse)
        let sink = HTTPRequestData.lawful.with { $0.sink = CollectingSink() }
        #expect(await kind(of: transport.verifiedDigests(isRequired: true), sink) == .invalidResponse)
    }

    // MARK: Responses that are not checked

    @Test func checksNeitherPartsNorDecodedBodies() async throws {
        let part = transport(Self.wrong, status: .partialContent, [.contentRange: "bytes 0-18/100"])
        #expect(await kind(of: part.verifiedDigests(isRequired: true)) == nil)
        let coded = HTTPRequestData.lawful.with { $0.headerFields[.acceptEncoding] = "gzip, identity" }
        let decoded = transport(Self.wrong).verifiedDigests()
        #expect(await kind(of: decoded, coded) == nil)
        #expect(await kind(of: transport(Self.wrong).verifiedDigests(isRequired: true), coded) == .invalidResponse)
        // The bytes of a body in its coding are those that the digest covers.
        let raw = transport(Self.wrong, [.contentEncoding: "example"]).verifiedDigests()
        #expect(await kind(of: raw, coded) == .checksumMismatch)
    }

    @Test func checksErrorsButRequiresNoDigestOfThem() async throws {
        #expect(await kind(of: transport(nil, status: .notFound).verifiedDigests(isRequired: true)) == nil)
        #expect(await kind(of: transport(Self.wrong, status: .notFound).verifiedDigests()) == .checksumMismatch)
        let head = HTTPRequestData.lawful.with { $0.method = .head }
        #expect(await kind(of: transport(Self.wrong).verifiedDigests(isRequired: true), head) == nil)
    }

    @Test func checksABodyThatACacheReturnsToASink() async throws {
        let network = transport(Self.wrong, [.cacheControl: "max-age=60"]).cached().verifiedDigests()
        for _ in 0..<2 {
            let request = HTTPRequestData.lawful.with { $0.sink = CollectingSink() }
            #expect(await kind(of: network, request) == .checksumMismatch)
        }
        #expect(network.diagnostics.contains { "\($0)".contains("outside cached") })
    }

    @Test func streamFailsAtItsEnd() async throws {
        let stream = try await transport(Self.wrong).verifiedDigests().stream(.lawful)
        var received = Data()
        let error = await #expect(throws: NetworkingError.self) {
            for try await chunk in stream { received += chunk }
        }
        #expect(error?.kind == .checksumMismatch)
        #expect(received == Self.body)
    }

    @Test func eventsNameTheAlgorithmsOrTheReason() {
        let algorithms: [HTTPDigestAlgorithm] = [.sha256, .sha512]
        #expect(DigestEvent.verified(algorithms).record.description == "digestVerified(sha-256, sha-512)")
        #expect(DigestEvent.notVerified(reason: "A.").record.description == "digestNotVerified(A.)")
    }

    // MARK: One response

    @Test func verifiesOneResponse() async throws {
        var request = HTTPRequestData.lawful
        request.wantReprDigest([.sha512])
        #expect(request.headerFields[.wantReprDigest] == "sha-512=10")
        try await transport(Self.sha512).data(request).verifyReprDigest()
        for (field, status, kind) in [
            (Self.wrong as String?, HTTPResponse.Status.ok, NetworkingError.Kind.checksumMismatch),
            (nil, .ok, .invalidResponse), (Self.sha256, .partialContent, .invalidResponse),
        ] {
            let response = try await transport(field, status: status).data(request)
            let error = await #expect(throws: NetworkingError.self) { try await response.verifyReprDigest() }
            #expect(error?.kind == kind)
        }
        let undecided = try await transport(Self.sha256).data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await undecided.verifyReprDigest() }
        #expect(error?.reason.contains("Accept-Encoding: identity") == true)
    }
}

extension HTTPField.Name {
    fileprivate static let reprDigest = HTTPField.Name("Repr-Digest")!
    fileprivate static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
}
#endif
