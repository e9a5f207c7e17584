import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Tests for a partial file when the server has another file.
@Suite(.timeLimit(.minutes(20)))
struct ChangedFileTests {
    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.mp4")!)
    private let bytes = Data((0..<100).map { UInt8($0) })
    private let changed = Data((0..<80).map { UInt8($0 ^ 0xFF) })

    @Test(arguments: [DownloadOptions(), DownloadOptions(changedFile: .restart)])
    func downloadRestartsByDefault(options: DownloadOptions) async throws {
        #expect(options.changedFile == .restart)
        try await withTemporaryDirectory { directory in
            let place = directory.appending(path: "film")
            let origin = FileOrigin(bytes)
            origin.add(.breaks(after: 40))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            try expectPartialFile(40, of: place)

            origin.change(changed, [.eTag: "\"2\""])
            let file = try await origin.download(request, to: place, options: options)
            #expect(file.resumedByteCount == 0)
            #expect(file.byteCount == 80)
            #expect(try Data(contentsOf: place) == changed)
        }
    }
}
