#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingSigning

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct BodyDigestTests {
    private struct Mistake: Error {}

    private func request(_ body: RequestBody?) -> HTTPRequestData {
        HTTPRequestData(method: .post, authority: "api.example.com", body: body)
    }

    @Test func digestOfNoBodyIsThatOfAnEmptyBody() async throws {
        #expect(try await request(nil).bodyDigest(using: SHA256.self) == SHA256.hash(data: Data()))
        #expect(try await request(.data(Data())).bodyDigest(using: SHA256.self) == SHA256.hash(data: Data()))
    }

    /// FIPS 180-2, appendix B.1 and C.1.
    @Test func matchesKnownDigests() async throws {
        let request = request(.data(Data("abc".utf8)))
        #expect(
            try await request.bodyDigest(using: SHA256.self).hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            try await request.bodyDigest(using: Insecure.MD5.self).hexadecimal == "900150983cd24fb0d6963f7d28e17f72"
        )
    }

    @Test func digestIsTheSameForDataFilesAndStreams() async throws {
        // More than three chunks of a mebibyte, each with different bytes.
        let bytes = Data.unlike(3_514_000)
        let expected = SHA256.hash(data: bytes)
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let chunks = stride(from: 0, to: bytes.count, by: 70_000).map { bytes[$0..<min($0 + 70_000, bytes.count)] }
        let stream = RequestBody.stream {
            AsyncStream<Data> { continuation in
                for chunk in chunks { continuation.yield(chunk) }
                continuation.finish()
            }
        }
        for body in [RequestBody.data(bytes), .file(file), stream] {
            #expect(try await request(body).bodyDigest(using: SHA256.self) == expected)
            // A second reading gives the same digest, so the body can still be sent.
            #expect(try await request(body).bodyDigest(using: SHA256.self) == expected)
        }
    }

    @Test func readsBodiesInChunksOfAMebibyte() async throws {
        var lengths: [Int] = []
        try await request(.data(Data(count: 2_500_000))).readBody { lengths.append($0.count) }
        #expect(lengths == [1 << 20, 1 << 20, 2_500_000 - 2 << 20])
    }

    @Test func refusesAStreamThatCanBeReadOnceWithoutReadingIt() async throws {
        let body = RequestBody.stream(
            AsyncStream<Data> { continuation in
                continuation.yield(Data("once".utf8))
                continuation.finish()
            }
        )
        let error = await #expect(throws: NetworkingError.self) {
            try await request(body).bodyDigest(using: SHA256.self)
        }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(error?.reason.contains("stream(from:)") == true)
        #expect(try await body.collect() == Data("once".utf8))
    }

    @Test func throwsTheEncodingErrorOfABody() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await request(.json([Double.nan])).bodyDigest(using: SHA256.self)
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.underlying is EncodingError)
    }

    @Test func throwsForAMissingFile() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await request(.file(URL(filePath: "/nowhere/at/all"))).bodyDigest(using: SHA256.self)
        }
        #expect(error?.kind == .storage)
    }

    @Test func throwsTheErrorOfAStream() async {
        let body = RequestBody.stream { AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Mistake()) } }
        let error = await #expect(throws: NetworkingError.self) {
            try await request(body).bodyDigest(using: SHA256.self)
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.underlying is Mistake)
    }

    @Test func cancellationEndsTheReadingOfAStream() async throws {
        let started = Suspension<Void>()
        let body = RequestBody.stream {
            AsyncStream<Data> {
                started.resume()
                try? await Suspension<Void>().value()
                return nil
            }
        }
        let request = request(body)
        let reading = Task { try await request.bodyDigest(using: SHA256.self) }
        try await started.value()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test func cancellationIsCheckedBetweenChunksInMemory() async throws {
        let request = request(.data(Data(count: 5 << 20)))
        let reading = Task {
            try await request.readBody { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    /// The check covers response bodies in memory.
    @Test func cancelledDigestCheckThrowsCancellationError() async throws {
        let response = HTTPResponseData(
            request: request(nil),
            headerFields: [HTTPField.Name("Content-Digest")!: "sha-256=:AAAA:"],
            data: Data(count: 5 << 20)
        )
        let checking = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await response.verifyContentDigest()
        }
        await #expect(throws: CancellationError.self) { try await checking.value }
    }
}
#endif
