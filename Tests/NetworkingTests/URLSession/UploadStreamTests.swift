#if URLSession && canImport(FoundationNetworking)
import Foundation
import NetworkingTesting
import HTTPTypes
import TestSupport
import Testing

import Networking
@testable import NetworkingURLSession

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct UploadStreamTests {
    /// Reads all bytes in chunks of a maximum length, like URLSession.
    private func read(_ stream: UploadStream, upTo length: Int = 65_536) -> Data? {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: length)
        stream.open()
        while stream.hasBytesAvailable {
            let count = stream.read(&buffer, maxLength: length)
            guard count >= 0 else { return nil }
            data.append(contentsOf: buffer[..<count])
        }
        return data
    }

    @Test(arguments: [1, 1_000, 1_000_000])
    func readsTheBodyInChunksOfAnySize(length: Int) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "data")
            try Data.unlike(140_000).write(to: file)
            let body = RequestBody.multipart([.file(file, name: "f"), .text("x", name: "t")], boundary: "B")
            let reading = UploadReading(body, length: try #require(body.length))
            #expect(!reading.isRead)
            let expected = try await body.collect()
            #expect(read(UploadStream(reading), upTo: length) == expected)
            #expect(reading.isRead)
            #expect(reading.failure == nil)
            // The body can be read several times.
            #expect(read(UploadStream(reading), upTo: length) == expected)
        }
    }

    /// The file is measured at the start of the exchange and read after the connection is established.
    @Test(arguments: [0, 1, 1 << 17, 1 << 18], [1 << 17, 1, -1])
    func fileThatChangesBeforeReadingIsNotSentInFull(size: Int, change: Int) async throws {
        // An empty file cannot become shorter.
        let change = size + change < 0 ? 2 : change
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "data")
            try Data(count: size).write(to: file)
            let reading = UploadReading(.file(file), length: Int64(size))
            #expect(truncate(file.path, off_t(size + change)) == 0)
            let data = read(UploadStream(reading))
            #expect(data?.isEmpty ?? true)
            #expect(reading.failure?.kind == .storage)
        }
    }

    @Test func refusedStreamFailsWithoutAnErrorOfTheBody() {
        let reading = UploadReading(.data(Data(count: 10)), length: 10)
        #expect(read(UploadStream(reading, isRefused: true)) == nil)
        #expect(reading.failure == nil)
    }
}
#endif
