import Foundation
import Testing

@testable import Networking

struct SpillBufferTests {
    private func length(of file: TemporaryFile) throws -> Int64 {
        try FileSnapshot(of: file.url.path).size
    }

    @Test func bytesComeInOrder() throws {
        var buffer = SpillBuffer(inMemoryUpTo: 10)
        var random = SystemRandomNumberGenerator()
        var (given, taken) = (Data(), Data())
        for _ in 0..<2_000 {
            let data = Data(
                (0..<Int.random(in: 0...9, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            )
            try buffer.append(data)
            given.append(data)
            if Int.random(in: 0...2, using: &random) == 0 {
                taken.append(try buffer.take())
            }
            #expect(Int64(given.count - taken.count) == buffer.count)
        }
        while !buffer.isEmpty {
            taken.append(try buffer.take())
        }
        #expect(taken == given)
    }

    /// A reader that is always a little behind must not make the files grow with all that passes.
    @Test func filesAreAsLongAsTheReaderWasBehind() throws {
        var buffer = SpillBuffer(inMemoryUpTo: 0)
        let portion = Data(count: 256 << 10)
        for _ in 0..<4 {
            try buffer.append(portion)
        }
        for _ in 0..<200 {
            try buffer.append(portion)
            _ = try buffer.take()
        }
        #expect(buffer.count == 4 * Int64(portion.count))
        #expect(buffer.files.count == 2)
        for file in buffer.files {
            #expect(try length(of: file) <= 6 * Int64(portion.count))
        }
        let paths = buffer.files.map(\.url.path)
        buffer.removeAll()
        #expect(!paths.contains { FileManager.default.fileExists(atPath: $0) })
    }
}
