import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Handles of downloads: pausing, resuming, cancelling and joint progress.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DownloadTransferTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.mp4")!)

    @Test func downloadPausesAndResumes() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40), .hangs(after: 20))
            let transfer = origin.transfer(downloading: request, to: place)
            #expect(!transfer.isPaused)
            try await origin.waitUntilSent(40)
            let kept = await transfer.pause()
            #expect(kept?.byteCount == 40 && kept?.expectedByteCount == 100 && transfer.isPaused)
            // The transfer has released all resources.
            #expect(await transfer.pause() == kept)
            transfer.resume()
            #expect(!transfer.isPaused)
            try await origin.waitUntilSent(60)
            #expect(await transfer.pause()?.byteCount == 60)
            transfer.resume()
            let file = try await transfer.value
            #expect(try Data(contentsOf: place) == Self.bytes && file.resumedByteCount == 60)
            #expect(origin.ranges == [nil, "bytes=40-", "bytes=60-"])
            #expect(await transfer.pause() == nil && !transfer.isPaused)
        }
    }

    @Test func pausedDownloadIsResumedByAnotherTransfer() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            do {
                let transfer = origin.transfer(downloading: request, to: place)
                try await origin.waitUntilSent(40)
                await transfer.pause()
                // The handle is released, as at the end of a process.
            }
            try expectPartialFile(40, of: place)
            try await origin.download(request, to: place)
            #expect(origin.ranges == [nil, "bytes=40-"])
        }
    }

    @Test func resumeDuringAPauseContinuesTheDownload() async throws {
        try await withTemporaryDirectory { directory in
            for round in 0..<50 {
                let place = directory.appending(path: "film \(round)")
                let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 10 + round))
                let transfer = origin.transfer(downloading: request, to: place)
                if !round.isMultiple(of: 3) {
                    try await origin.waitUntilSent(10 + round)
                }
                async let pause = transfer.pause()
                transfer.resume()
                _ = await pause
                // The last call decides, so the download continues.
                transfer.resume()
                if round.isMultiple(of: 3) {
                    // The pause may have ended before the exchange started.
                    try await origin.waitUntilSent(10 + round)
                    await transfer.pause()
                    transfer.resume()
                }
                _ = try await transfer.value
                #expect(try Data(contentsOf: place) == Self.bytes)
            }
        }
    }

    @Test func cancellationOfAPausedDownloadThrowsCancellationError() async throws {
        try await withTemporaryDirectory { directory in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 0))
            let transfer = origin.transfer(downloading: request, to: directory.appending(path: "film"))
            #expect(await transfer.pause() == nil)
            let waiting = Task { try await transfer.value }
            transfer.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(origin.requests.count <= 1)
        }
    }

    @Test func cancelledCallerOfPauseStillPauses() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            let transfer = origin.transfer(downloading: request, to: place)
            try await origin.waitUntilSent(40)
            let pause = Task {
                while !Task.isCancelled { await Task.yield() }
                await transfer.pause()
            }
            pause.cancel()
            await pause.value
            #expect(transfer.isPaused)
            transfer.resume()
            let file = try await transfer.value
            #expect(file.byteCount == 100)
        }
    }

    @Test func errorDuringAPauseIsRetriedAfterResume() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            let transfer = origin.modified(ReplacingCancellation()).transfer(downloading: request, to: place)
            try await origin.waitUntilSent(40)
            #expect(await transfer.pause()?.byteCount == 40)
            transfer.resume()
            _ = try await transfer.value
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    /// Replaces a cancellation with its own error.
    private struct ReplacingCancellation: NetworkingModifier {
        struct Failure: Error {}

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            do {
                return try await upstream.send(request)
            } catch {
                throw Failure()
            }
        }
    }

    @Test func valueThrowsTheErrorOfTheDownload() async throws {
        try await withTemporaryDirectory { directory in
            let origin = FileOrigin(Self.bytes, [:], .responds(HTTPResponse(status: .notFound)))
            let transfer = origin.transfer(downloading: request, to: directory.appending(path: "film"))
            let error = await #expect(throws: NetworkingError.self) { try await transfer.value }
            #expect(error?.kind == .status)
        }
    }

    @Test func progressContinuesAfterAPause() async throws {
        try await withTemporaryDirectory { directory in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            let transfer = origin.transfer(downloading: request, to: directory.appending(path: "film"))
            let progress = transfer.progress
            try await origin.waitUntilSent(40)
            await transfer.pause()
            transfer.resume()
            var counts: [Int64] = []
            for await step in progress {
                counts.append(step.received.count)
            }
            #expect(counts == counts.sorted() && counts.last == 100)
        }
    }

    @Test func groupCountsAndCancelsItsDownloads() async throws {
        try await withTemporaryDirectory { directory in
            let origin = FileOrigin(
                Self.bytes,
                [.eTag: "\"1\""],
                .hangs(after: 40),
                .hangs(after: 20),
                .hangs(after: 30)
            )
            let group = TransferGroup()
            var transfers: [Transfer<DownloadedFile>] = []
            for (number, sum) in [(1, 40), (2, 60), (3, 90)] {
                transfers.append(
                    origin.transfer(downloading: request, to: directory.appending(path: "\(number)"), in: group)
                )
                try await origin.waitUntilSent(sum)
            }
            // The sink has received the bytes and reports them shortly afterwards.
            try await eventually("group.progress.received.count >= 90") { group.progress.received.count >= 90 }
            #expect(group.count == 3)
            #expect(group.progress.received == BytesReceived(count: 90, expected: 300))

            await transfers[0].pause()
            #expect(group.count == 3)
            group.cancelAll()
            for transfer in transfers {
                await #expect(throws: CancellationError.self) { try await transfer.value }
            }
            // Each download has kept its received bytes.
            for (number, count) in [(1, 40), (2, 20), (3, 30)] as [(Int, Int64)] {
                try expectPartialFile(count, of: directory.appending(path: "\(number)"))
            }
            let file = try await origin.transfer(downloading: request, to: directory.appending(path: "2"), in: group)
                .value
            #expect(file.resumedByteCount == 20)
        }
    }

    @Test func trackerAddsUpTheWrittenBytes() async throws {
        try await withTemporaryDirectory { directory in
            let tracker = ProgressTracker()
            let origin = FileOrigin(Self.bytes)
            try await origin.download(request, to: directory.appending(path: "1"), trackedBy: tracker)
            try await origin.download(request, to: directory.appending(path: "2"), trackedBy: tracker)
            #expect(tracker.overall == BytesReceived(count: 200, expected: 200))
        }
    }

    @Test func cancellationKeepsTheReceivedBytes() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .hangs(after: 40))
            let task = Task { try await origin.download(request, to: place) }
            try await origin.waitUntilSent(40)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try expectPartialFile(40, of: place)

            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await origin.download(request, to: place)
            }
            late.cancel()
            await #expect(throws: CancellationError.self) { try await late.value }
            #expect(origin.requests.count == 1)
        }
    }
}
