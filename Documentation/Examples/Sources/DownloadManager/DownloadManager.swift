import Backend
import Foundation
import Networking

/// The downloads of an app: at most three at a time, each of which can be paused, resumed and cancelled.
actor DownloadManager {
    private let network: any NetworkingComponent
    private let directory: URL
    private let group = TransferGroup()
    private var transfers: [String: Transfer<DownloadedFile>] = [:]

    init(at url: URL, into directory: URL) {
        self.directory = directory
        network = URLSession.shared
            // A limit for the whole transfer would end a long download.
            .timeout(head: .seconds(30), idle: .seconds(30))
            .throttled(max: 3)
            .retry()
            .server(baseURL: url)
    }

    /// Starts a download, or resumes one that was interrupted earlier.
    @discardableResult
    func start(_ name: String) -> Transfer<DownloadedFile> {
        let transfer = network.transfer(downloading: .get("films/\(name)"), to: file(name), in: group)
        transfers[name] = transfer
        return transfer
    }

    /// Pauses a download and returns the fraction that is kept on disk.
    func pause(_ name: String) async -> Double? {
        await transfers[name]?.pause()?.fractionCompleted
    }

    func resume(_ name: String) {
        transfers[name]?.resume()
    }

    /// Cancels a download and removes its bytes.
    func cancel(_ name: String) async throws {
        guard let transfer = transfers.removeValue(forKey: name) else { return }
        transfer.cancel()
        _ = try? await transfer.value
        try DownloadState.discard(at: file(name))
    }

    /// The fraction of all downloads together.
    var fractionCompleted: Double? {
        group.progress.received.fractionCompleted
    }

    /// One line for each download, as a list would show it.
    func lines() async -> [String] {
        var lines: [String] = []
        for (name, transfer) in transfers.sorted(by: { $0.key < $1.key }) {
            let received = await transfer.currentProgress.received
            let state = transfer.isPaused ? "paused" : received.fractionCompleted == 1 ? "done" : "running"
            lines.append("\(name): \(percent(received.fractionCompleted)), \(state)")
        }
        return lines
    }

    private func file(_ name: String) -> URL {
        directory.appending(path: name)
    }
}

extension Transfer {
    /// The current progress, for a list that is printed once; a view observes `progress` instead.
    var currentProgress: TransferProgress {
        get async {
            for await current in progress { return current }
            return TransferProgress()
        }
    }

    /// Waits until half of the file has arrived.
    func waitForHalf() async {
        for await current in progress where current.received.fractionCompleted ?? 0 >= 0.5 { return }
    }
}

func percent(_ fraction: Double?) -> String {
    fraction.map { "\(Int($0 * 100)) %" } ?? "unknown"
}

@main
enum Example {
    static func main() async {
        await withBackend(MediaService()) { server in
            try await withTemporaryDirectory { directory in
                let manager = DownloadManager(at: server.url, into: directory)
                let trailer = await manager.start("trailer.mp4")
                let film = await manager.start("long-film.mp4")
                let series = await manager.start("long-series.mp4")
                let song = await manager.start("song.mp3")

                await film.waitForHalf()
                let kept = await manager.pause("long-film.mp4")
                await series.waitForHalf()
                try await manager.cancel("long-series.mp4")
                let files = [try await trailer.value, try await song.value]
                print("\(files[0]) and \(files[1]) are here. The list:")
                for line in await manager.lines() {
                    print("  \(line)")
                }
                expect(kept == 0.5, "a paused download keeps its bytes")
                let isPaused = await manager.lines().contains("long-film.mp4: 50 %, paused")
                expect(isPaused, "the list shows the paused download")

                await manager.resume("long-film.mp4")
                let resumed = try await film.value
                print("Resumed: \(resumed), of which \(resumed.resumedByteCount) were already here.")
                expect(resumed.resumedByteCount == resumed.byteCount / 2, "only the rest is fetched")

                let total = await manager.fractionCompleted
                print("All downloads together: \(percent(total))")
                expect(total == 1, "cancelled downloads do not count")
                for file in files + [resumed] {
                    let expected = MediaService.film(file.url.lastPathComponent)
                    expect(try Data(contentsOf: file.url) == expected, "\(file.url.lastPathComponent) is complete")
                }
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                expect(names == ["long-film.mp4", "song.mp3", "trailer.mp4"], "no other file is left")
            }
        }
    }
}
