import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Tests for a partial file when another modifier or another download intervenes.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DownloadInAStackTests {
    private static let film = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(path: "film")

    /// Leaves a partial file of 40 bytes.
    private func leavePartialFile(at url: URL) async throws {
        let transport = MockTransport([
            .ok(Self.film.prefix(40), headerFields: [.eTag: "\"1\"", .contentLength: "100"]),
            .failure(NetworkingError(.connectionLost, request: request)),
        ])
        let network = transport.server(authority: "example.com")
        await #expect(throws: NetworkingError.self) { try await network.download(request, to: url) }
        try #require(try DownloadState(at: url)?.byteCount == 40)
    }

    @Test func restartsAfterA416InsideCheckedStatusCode() async throws {
        try await withTemporaryDirectory { directory in
            let url = directory.appending(path: "film")
            try await leavePartialFile(at: url)
            let transport = MockTransport([
                .status(.rangeNotSatisfiable), .ok(Self.film, headerFields: [.contentLength: "100"]),
            ])
            let network = transport.retry().checkedStatusCode().server(authority: "example.com")
            try await network.download(request, to: url)
            #expect(try Data(contentsOf: url) == Self.film)
            #expect(transport.requests.map { $0.headerFields[.range] } == ["bytes=40-", nil])
        }
    }

    @Test func unexpected416IsAnError() async throws {
        try await withTemporaryDirectory { directory in
            let network = MockTransport([.status(.rangeNotSatisfiable)]).server(authority: "example.com")
            let error = await #expect(throws: NetworkingError.self) {
                try await network.download(request, to: directory.appending(path: "film"))
            }
            #expect(error?.kind == .status)
        }
    }

    @Test(arguments: [DownloadOptions.PartialFile.resume, .discard])
    func partialFileStaysUntilNewBytesArrive(policy: DownloadOptions.PartialFile) async throws {
        try await withTemporaryDirectory { directory in
            let url = directory.appending(path: "film")
            try await leavePartialFile(at: url)
            let other = HTTPRequestData(path: policy == .resume ? "another" : "film")
            let transport = MockTransport([
                .failure(NetworkingError(.offline, request: other)), .status(.notFound),
            ])
            let network = transport.server(authority: "example.com")
            for _ in 1...2 {
                await #expect(throws: NetworkingError.self) {
                    try await network.download(other, to: url, options: DownloadOptions(partialFile: policy))
                }
                #expect(try DownloadState(at: url)?.byteCount == 40)
            }
            #expect(transport.requests.allSatisfy { $0.headerFields[.range] == nil })
        }
    }

    @Test func failedDownloadWithoutBytesLeavesNoFile() async throws {
        try await withTemporaryDirectory { directory in
            let network = MockTransport([.status(.notFound)]).server(authority: "example.com")
            await #expect(throws: NetworkingError.self) {
                try await network.download(request, to: directory.appending(path: "film"))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.isEmpty)
        }
    }

    @Test func downloadReportsNoBytesToSend() async throws {
        try await withTemporaryDirectory { directory in
            let network = MockTransport { _ in .ok(Self.film) }.server(authority: "example.com")
            let group = TransferGroup()
            let url = directory.appending(path: "film")
            _ = try await network.transfer(downloading: request, to: url, in: group).value
            #expect(group.progress.sent == BytesSent(count: 0, expected: 0))
            #expect(group.progress.received == BytesReceived(count: 100, expected: 100))
        }
    }
}
