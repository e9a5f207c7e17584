import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WrittenBodyTests {
    @Test func sendsWhatTheClosureWrites() async throws {
        let transport = MockTransport { _ in .ok() }
        let body = RequestBody.written(length: 10, contentType: "text/csv") { writer in
            try await writer.write(Data("hello".utf8))
            try await writer.write(Data())
            try await writer.write(Data("world".utf8))
        }
        try await transport.data(HTTPRequestData(method: .post, authority: "a.example", body: body))
        #expect(transport.requests.first?.body?.data == Data("helloworld".utf8))
        #expect(transport.requests.first?.headerFields[.contentType] == "text/csv")
        #expect(body.length == 10)
    }

    @Test func isWrittenAgainForEachAttempt() async throws {
        let times = Mutex(0)
        let body = RequestBody.written { writer in
            times.withLock { $0 += 1 }
            try await writer.write(Data("hello".utf8))
        }
        #expect(body.isReplayable)
        #expect(try await body.collect() == Data("hello".utf8))
        #expect(try await body.collect() == Data("hello".utf8))
        #expect(times.withLock { $0 } == 2)
    }

    @Test func writerWaitsForTheTransport() async throws {
        let written = Mutex(0)
        let body = RequestBody.written { writer in
            for _ in 0..<100 {
                try await writer.write(Data("x".utf8))
                written.withLock { $0 += 1 }
            }
        }
        var chunks = body.chunks.makeAsyncIterator()
        for count in 1...100 {
            #expect(try await chunks.next() == Data("x".utf8))
            for _ in 0..<20 {
                await Task.yield()
            }
            #expect(written.withLock { $0 } <= count + 1)
        }
        #expect(try await chunks.next() == nil)
    }

    @Test func errorOfTheClosureIsTheUnderlyingError() async {
        struct Broken: Error {}
        let body = RequestBody.written { writer in
            try await writer.write(Data("x".utf8))
            throw Broken()
        }
        let error = await #expect(throws: RequestBody.Failure.self) { try await body.collect() }
        #expect(error?.underlying is Broken)
    }

    @Test(arguments: [4, 6] as [Int64])
    func wrongLengthIsAnError(length: Int64) async {
        let body = RequestBody.written(length: length) { try await $0.write(Data("hello".utf8)) }
        await #expect(throws: RequestBody.Failure.self) { try await body.collect() }
    }

    @Test func abandonedReaderCancelsTheClosure() async throws {
        let error = Mutex<(any Error)?>(nil)
        let body = RequestBody.written { writer in
            do {
                while true { try await writer.write(Data("x".utf8)) }
            } catch let thrown {
                error.withLock { $0 = thrown }
                throw thrown
            }
        }
        do {
            var chunks = body.chunks.makeAsyncIterator()
            #expect(try await chunks.next() == Data("x".utf8))
        }
        try await eventually("the closure has ended") { error.withLock { $0 is CancellationError } }
    }
}
