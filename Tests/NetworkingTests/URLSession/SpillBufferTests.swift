import Dispatch
import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingURLSession

@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct SpillBufferTests {
    /// Returns the next bytes, from memory or from a file.
    private func next(of buffer: SpillBuffer) async throws -> Data {
        while true {
            let isReady = Suspension<Void>()
            if let data = try buffer.take(orNotify: { isReady.resume() }) { return data }
            try await isReady.value()
        }
    }

    @Test func bytesArriveInOrder() async throws {
        let buffer = SpillBuffer(inMemoryUpTo: 10)
        var random = SeededRandom.announced()
        var (given, taken) = (Data(), Data())
        for _ in 0..<2_000 {
            let data = Data(
                (0..<Int.random(in: 0...9, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            )
            buffer.append(data)
            given.append(data)
            if Int.random(in: 0...2, using: &random) == 0 {
                taken.append(try await next(of: buffer))
            }
            #expect(Int64(given.count - taken.count) == buffer.count)
        }
        while !buffer.isEmpty {
            taken.append(try await next(of: buffer))
        }
        #expect(taken == given)
    }

    /// A reader that is always slightly behind does not make the files grow with the whole body.
    @Test func filesHaveTheSizeOfTheUnreadBytes() throws {
        var files = SpillFiles()
        let chunk = Data(count: 256 << 10)
        for _ in 0..<4 {
            try files.append(chunk)
        }
        for _ in 0..<200 {
            try files.append(chunk)
            #expect(try files.take().count == chunk.count)
        }
        #expect(files.files.count == 2)
        for file in files.files {
            #expect(try file.size <= 6 * Int64(chunk.count))
        }
    }

    /// The caller may be a queue that all sessions of the process share.
    @Test func neitherAppendNorTakeWaitsForTheDisk() async throws {
        let disk = DispatchQueue(label: "disk")
        let buffer = SpillBuffer(inMemoryUpTo: 4, queue: disk)
        disk.suspend()
        for text in ["1234", "5678", "9"] {
            buffer.append(Data(text.utf8))
        }
        #expect(buffer.count == 9 && buffer.unwrittenCount == 5)
        #expect(try await next(of: buffer) == Data("1234".utf8))
        let isReady = Suspension<Void>()
        #expect(try buffer.take(orNotify: { isReady.resume() }) == nil)
        #expect(!buffer.isReady)
        disk.resume()
        try await isReady.value()
        var rest = Data()
        while !buffer.isEmpty {
            rest += try await next(of: buffer)
        }
        #expect(rest == Data("56789".utf8))
    }

    @Test func blockedDiskIsAnError() throws {
        let disk = DispatchQueue(label: "disk")
        disk.suspend()
        defer { disk.resume() }
        let buffer = SpillBuffer(inMemoryUpTo: 0, unwrittenUpTo: 10, patience: .milliseconds(1), queue: disk)
        buffer.append(Data(count: 10))
        buffer.waitForDisk()
        #expect(buffer.fault == nil)
        buffer.append(Data(count: 1))
        buffer.waitForDisk()
        #expect(buffer.fault?.reason.contains("takes too long") == true)
        #expect(throws: FileFault.self) { try buffer.take(orNotify: {}) }
    }

    /// The callers share a queue, so each of them waits only for its turn.
    @Test(.timeLimit(.minutes(20)))
    func callerWaitsForOneTurnOnly() {
        let disk = DispatchQueue(label: "disk")
        disk.suspend()
        defer { disk.resume() }
        let buffer = SpillBuffer(inMemoryUpTo: 0, unwrittenUpTo: 10, patience: .seconds(1_000), queue: disk)
        buffer.append(Data(count: 11))
        for _ in 0..<3 {
            buffer.waitForDisk()
        }
        #expect(buffer.fault == nil)
        #expect(buffer.unwrittenCount == 11)
    }

    @Test func callerWaitsForASlowDisk() async throws {
        let buffer = SpillBuffer(inMemoryUpTo: 0, unwrittenUpTo: 10)
        for _ in 0..<100 {
            buffer.append(Data(count: 11))
            buffer.waitForDisk()
        }
        #expect(buffer.fault == nil && buffer.count == 1100)
        buffer.removeAll()
        #expect(buffer.isEmpty)
        #expect(try await next(of: buffer).isEmpty)
    }
}

@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct TemporaryFileTests {
    /// The system deletes a file without a name even if the process is killed.
    @Test func temporaryFileHasNoName() throws {
        let file = try TemporaryFile()
        #expect(try !PrivateFile.isTaken(file.path))
        try file.write(Data("hello".utf8))
        #expect(try file.read(upTo: 10, at: 1) == Data("ello".utf8))
    }

    @Test func spilledBytesAreInFilesWithoutNames() throws {
        var files = SpillFiles()
        try files.append(Data(count: 1_000))
        #expect(!files.files.isEmpty)
        #expect(try files.files.allSatisfy { try !PrivateFile.isTaken($0.path) })
        #expect(try files.take().count == 1_000)
    }

    @Test func namedFileIsDeletedWithItsLastReference() throws {
        var file: TemporaryFile? = try TemporaryFile(keepsName: true)
        let path = try #require(file?.path)
        #expect(try PrivateFile.isTaken(path))
        file = nil
        #expect(try !PrivateFile.isTaken(path))
    }

    @Test func spooledBodyCanBeReadSeveralTimes() async throws {
        let file = try TemporaryFile()
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        try file.write(bytes)
        let body = RequestBody(SpooledBody(file: file, length: Int64(bytes.count)), contentType: "text/plain")
        #expect(body.length == 300_000 && body.isReplayable && body.fileURL == nil)
        for _ in 0..<2 {
            var read = Data()
            for try await chunk in body.chunks {
                read += chunk
            }
            #expect(read == bytes)
        }
    }
}
