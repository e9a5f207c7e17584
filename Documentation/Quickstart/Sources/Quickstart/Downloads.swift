import Foundation
import Networking
import NetworkingTestServer

/// A download that the server interrupts, and one that the app pauses.
enum Downloads {
    static func show(_ server: TestServer) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "quickstart-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let network = URLSession.shared
            .timeout(head: .seconds(5), idle: .seconds(5))
            .retry(.exponential(base: .milliseconds(20)))
            .instrument(Tour.instrument).server(baseURL: server.url)
        try await resumeAfterAReset(over: network, server, in: directory)
        try await pauseAndResume(over: network, server, in: directory)
    }

    private static func resumeAfterAReset(
        over network: some NetworkingComponent,
        _ server: TestServer,
        in directory: URL
    ) async throws {
        Terminal.title("13. A download resumes after a lost connection")
        Terminal.code(
            """
            let network = URLSession.shared
                .timeout(head: .seconds(5), idle: .seconds(5))
                .retry(.exponential(base: .milliseconds(20)))
                .server(baseURL: server.url)
            let film = try await network.download(HTTPRequestData(path: "film.mp4"), to: url) { progress in
                bar(progress.fraction)
            }
            """
        )
        let url = directory.appending(path: "film.mp4")
        let bar = Terminal.bar("film.mp4")
        let film = try await network.download(HTTPRequestData(path: "film.mp4"), to: url) { progress in
            bar(progress.fraction)
        }
        let ranges = server.requests(for: .get, path: "/film.mp4").map { $0.headerFields[.range] }
        for attempt in film.response.attempts {
            Terminal.say("    attempt \(attempt)")
        }
        Terminal.say("The second request asked for the rest (\(ranges.last.flatMap(\.self) ?? "nothing")): \(film).")
        try Tour.expect(
            ranges.count == 2 && ranges[0] == nil && ranges[1] != nil && film.response.status == .partialContent,
            "the second request asks only for the rest"
        )
        try Tour.expect(try Data(contentsOf: url) == DemoServer.film, "the file has the same bytes as on the server")
    }

    private static func pauseAndResume(
        over network: some NetworkingComponent,
        _ server: TestServer,
        in directory: URL
    ) async throws {
        Terminal.say("An app can pause and resume a download:")
        Terminal.code(
            """
            let transfer = network.transfer(downloading: HTTPRequestData(path: "film.mp4"), to: copy)
            await transfer.pause()
            let state = try DownloadState(at: copy)      // in this process or the next
            transfer.resume()
            let film = try await transfer.value
            """
        )
        let copy = directory.appending(path: "copy.mp4")
        let transfer = network.transfer(downloading: HTTPRequestData(path: "film.mp4"), to: copy)
        for await progress in transfer.progress where progress.fraction >= 0.5 { break }
        await transfer.pause()
        let state = try DownloadState(at: copy)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0.hasPrefix("copy") }.sorted()
        Terminal.say(
            "Paused with \(state?.byteCount ?? 0) of \(state?.expectedByteCount ?? 0) bytes on disk: "
                + names.joined(separator: ", ")
        )
        try Tour.expect(
            transfer.isPaused && state?.fractionCompleted == 0.5 && !names.contains("copy.mp4"),
            "a pause keeps the received bytes in a partial file"
        )

        transfer.resume()
        let film = try await transfer.value
        let range = server.requests(for: .get, path: "/film.mp4").last?.headerFields[.range] ?? "nothing"
        Terminal.say("Resumed with \(range): \(film), of which \(film.resumedByteCount) were on disk.")
        try Tour.expect(
            film.resumedByteCount == state?.byteCount && range == "bytes=\(film.resumedByteCount)-",
            "the bytes on disk are not downloaded again"
        )
        try Tour.expect(try Data(contentsOf: copy) == DemoServer.film, "the copy has the same bytes as on the server")
    }
}
