import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The isolation in which a download reads and writes files.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DownloadIsolationTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.mp4")!)

    /// Records for each step of a download whether it runs on the caller's actor.
    private final class Steps: Sendable {
        private let state = Mutex<[String: Bool]>([:])

        func note(_ step: String) {
            let isOnActor = CountingActor.isCurrent
            state.withLock { $0[step] = $0[step] == true || isOnActor }
        }

        var seen: [String: Bool] {
            state.withLock { $0 }
        }
    }

    /// An origin that records when its principal is requested, immediately before the partial file is opened.
    private struct Origin: NetworkingComponent {
        let upstream: FileOrigin
        let steps: Steps

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            steps.note("request")
            return try await upstream.send(request)
        }

        func principal(for request: HTTPRequestData) -> Principal? {
            steps.note("opening")
            return nil
        }
    }

    /// A checksum that is updated where the bytes are read.
    private struct NotedSum: ChecksumFunction {
        let steps: Steps
        var sum: UInt8 = 0

        mutating func update(_ bytes: Data) {
            steps.note("checksum")
            sum = bytes.reduce(sum) { $0 &+ $1 }
        }

        func finish() -> Data { Data([sum]) }
    }

    @Test func noStepOfADownloadRunsOnTheCallersActor() async throws {
        try await withTemporaryDirectory { directory in
            let steps = Steps()
            let origin = Origin(upstream: FileOrigin(Self.bytes), steps: steps)
            let sum = Self.bytes.reduce(UInt8(0)) { $0 &+ $1 }
            let options = DownloadOptions(checksum: Checksum(expected: Data([sum])) { NotedSum(steps: steps) })
            let (file, jobs) = try await CountingActor()
                .run { [request] _ in
                    #expect(CountingActor.isCurrent)
                    let place = directory.appending(path: "film")
                    return try await origin.download(request, to: place, options: options) { _ in
                        // The handler is called immediately after each write.
                        steps.note("writing")
                    }
                }
            #expect(try Data(contentsOf: file.url) == Self.bytes)
            #expect(steps.seen == ["opening": false, "request": false, "writing": false, "checksum": false])
            // The actor runs one job, for the return, and none for each chunk.
            #expect(jobs == 1)
        }
    }

    @Test func pauseReadsThePartialFileOutsideTheCallersActor() async throws {
        try await withTemporaryDirectory { directory in
            let steps = Steps()
            let upstream = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            let origin = Origin(upstream: upstream, steps: steps)
            let transfer = origin.transfer(downloading: request, to: .directory(directory))
            try await upstream.waitUntilSent(40)
            let (kept, _) = try await CountingActor().run { _ in await transfer.pause() }
            #expect(kept?.byteCount == 40)
            #expect(steps.seen["opening"] == false)
            transfer.cancel()
            _ = try? await transfer.value
        }
    }
}
