#if Crypto
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import Testing
import TestSupport

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ContentDigestTests {
    private static let hello = Data("{\"hello\": \"world\"}\n".utf8)
    private static let sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    private static let sha512 =
        "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"

    /// The examples of RFC 9530.
    @Test func setsTheDigest() async throws {
        var request = HTTPRequestData(method: .put, authority: "foo.example", body: .data(Self.hello))
        try await request.setContentDigest()
        #expect(request.headerFields[.contentDigest] == Self.sha256)
        try await request.setContentDigest(.sha512)
        #expect(request.headerFields[.contentDigest] == Self.sha512)
        request.body = nil
        try await request.setContentDigest()
        #expect(request.headerFields[.contentDigest] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
    }

    @Test func refusesToDigestAStreamReadOnce() async throws {
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        continuation.finish()
        var request = HTTPRequestData(authority: "foo.example", body: .stream(stream))
        let error = await #expect(throws: NetworkingError.self) { try await request.setContentDigest() }
        #expect(error?.kind == .bodyNotReplayable)
    }

    private func request(_ field: String?) -> HTTPRequestData {
        var request = HTTPRequestData(authority: "foo.example", body: .data(Self.hello))
        request.headerFields[.contentDigest] = field
        return request
    }

    private func response(_ field: String?) -> HTTPResponseData {
        var response = HTTPResponseData(request: request(nil), data: Self.hello)
        response.headerFields[.contentDigest] = field
        return response
    }

    @Test(arguments: [sha256, sha512, "\(sha256), \(sha512)", "md5=:AAAA:, \(sha256)", "\(sha512);x=1"])
    func acceptsAMatchingDigest(field: String) async throws {
        try await request(field).verifyContentDigest()
        try await response(field).verifyContentDigest()
    }

    @Test(arguments: [
        (nil, "no Content-Digest"), ("", "neither"), ("md5=:AAAA:", "neither"), ("sha-256", "not a byte sequence"),
        ("sha-256=(1 2)", "not a byte sequence"), ("sha-256=:===:", "malformed"), ("=", "malformed"),
        ("sha-256=:AAAA:", "does not match"), ("\(sha512), sha-256=:AAAA:", "does not match"),
    ])
    func rejectsAWrongDigest(field: String?, reason: String) async {
        let error = await #expect(throws: NetworkingError.self) { try await request(field).verifyContentDigest() }
        #expect(error?.kind == (reason == "does not match" ? .checksumMismatch : .invalidRequest))
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        let other = await #expect(throws: NetworkingError.self) { try await response(field).verifyContentDigest() }
        #expect(other?.kind == (reason == "does not match" ? .checksumMismatch : .invalidResponse))
        #expect(other?.response?.data == Self.hello)
    }

    @Test func cannotVerifyABodySentToASink() async {
        var response = response(Self.sha256)
        response.body = .delivered(byteCount: 19)
        let sent = response
        let error = await #expect(throws: NetworkingError.self) { try await sent.verifyContentDigest() }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.reason.contains("sink") == true)
    }
}
#endif
