import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct StreamBodyTests {
    private struct Broken: Error {}

    private func request(_ body: RequestBody) -> HTTPRequestData {
        HTTPRequestData(method: .post, authority: "example.com", path: "x", body: body)
    }

    private func stream(_ chunks: String..., throwing error: (any Error)? = nil) -> AsyncThrowingStream<Data, any Error>
    {
        AsyncThrowingStream { continuation in
            for chunk in chunks {
                continuation.yield(Data(chunk.utf8))
            }
            continuation.finish(throwing: error)
        }
    }

    @Test func sendsItsChunksOnce() async throws {
        let body = RequestBody.stream(stream("one ", "", "two"), contentType: "text/plain")
        #expect(!body.isReplayable)
        #expect(body.length == nil)
        #expect(body.data == nil)
        #expect(body.contentType == "text/plain")
        let transport = MockTransport { _ in .ok() }
        try await transport.data(request(body))
        #expect(transport.requests[0].body?.data == Data("one two".utf8))
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request(body)) }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(transport.requests.count == 1)
    }

    @Test func sendsStreamsOfBytesAndArrays() async throws {
        let bytes = AsyncStream<UInt8> { continuation in
            for byte in 0..<40_000 {
                continuation.yield(UInt8(truncatingIfNeeded: byte))
            }
            continuation.finish()
        }
        let expected = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try await RequestBody.stream(bytes).collect() == expected)

        let arrays = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1, 2])
            continuation.yield([3])
            continuation.finish()
        }
        #expect(try await RequestBody.stream(arrays, length: 3).collect() == Data([1, 2, 3]))
    }

    @Test func streamThatCanBeCreatedAgainIsSentAgain() async throws {
        let made = Atomic(0)
        let body = RequestBody.stream(length: 3) {
            made.add(1, ordering: .relaxed)
            return stream("a", "bc")
        }
        #expect(body.isReplayable)
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        var request = request(body)
        request.isIdempotent = true
        let response = try await transport.retry(.immediate()).data(request)
        #expect(response.status == .ok)
        #expect(transport.requests.map(\.body?.data) == [Data("abc".utf8), Data("abc".utf8)])
        #expect(made.load(ordering: .relaxed) == 2)
    }

    @Test func streamThatCanBeReadOnceIsNotRetried() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        var request = request(.stream(stream("a")))
        request.isIdempotent = true
        let response = try await transport.retry(.immediate()).data(request)
        #expect(response.status == .serviceUnavailable)
        #expect(response.retryRefusal == .bodyNotReplayable)
        #expect(transport.requests.count == 1)
    }

    @Test func streamThatCanBeReadOnceIsNotRedirected() async throws {
        let transport = MockTransport([.redirect(to: "/y", status: .temporaryRedirect), .ok()])
        let response = try await transport.data(request(.stream(stream("a"))))
        #expect(response.status == .temporaryRedirect)
        #expect(transport.requests.count == 1)
    }

    // MARK: Invalid streams

    @Test(arguments: [Int64(2), 0, 4, 1_000])
    func wrongLengthIsAnError(length: Int64) async throws {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(request(.stream(stream("abc"), length: length)))
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.reason.contains("its stated length is \(length)") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func errorOfTheStreamFailsTheSend() async throws {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(request(.stream(stream("ab", throwing: Broken()))))
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.underlying is Broken)
        #expect(transport.requests.isEmpty)
    }

    @Test func errorOfCreatingTheStreamFailsTheSend() async throws {
        let error = await #expect(throws: RequestBody.Failure.self) {
            try await RequestBody.stream { () async throws -> AsyncStream<Data> in throw Broken() }.collect()
        }
        #expect(error?.underlying is Broken)
    }

    /// A `CancellationError` of the stream does not mean that the caller was cancelled.
    @Test func cancellationErrorOfTheStreamIsAFailure() async throws {
        let transport = MockTransport { _ in .ok() }
        await #expect(throws: NetworkingError.self) {
            try await transport.data(request(.stream(stream("ab", throwing: CancellationError()))))
        }
    }

    @Test func cancelledCallerEndsTheStream() async throws {
        let (reading, began) = AsyncStream.makeStream(of: Void.self)
        let endless = AsyncThrowingStream<Data, any Error> {
            began.yield()
            try await Suspension<Void>().value()
            return nil
        }
        let transport = MockTransport { _ in .ok() }
        let request = request(.stream(endless))
        let call = Task { try await transport.data(request) }
        for await _ in reading { break }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }

    @Test func collectingBeyondTheLimitIsAnError() async throws {
        let body = RequestBody.data(Data(count: 11))
        let error = await #expect(throws: RequestBody.Failure.self) { try await body.collect(upTo: 10) }
        #expect(error?.kind == .tooLarge)
        #expect(try await body.collect(upTo: 11).count == 11)
    }
}
