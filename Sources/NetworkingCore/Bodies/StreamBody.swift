import FoundationForNetworking
import Synchronization

/// A body source that reads an asynchronous sequence.
struct StreamBody: BodySource {
    let length: Int64?
    let isReplayable: Bool
    private let make: @Sendable () async throws -> any BodyReader

    /// Creates a body that creates its sequence again for each reading.
    init(length: Int64?, making make: @escaping @Sendable () async throws -> any BodyReader) {
        self.length = length
        isReplayable = true
        self.make = make
    }

    /// Creates a body that can be read once.
    init(length: Int64?, once make: @escaping @Sendable () -> any BodyReader) {
        self.length = length
        isReplayable = false
        let use = Use()
        self.make = {
            guard use.begin() else {
                throw RequestBody.Failure(
                    .bodyNotReplayable,
                    reason:
                        "The stream of this body has already been read, and can be read only once. Pass a closure that "
                        + "creates the stream, so that it can be created again."
                )
            }
            return make()
        }
    }

    var identity: String? {
        nil
    }

    func open() async throws -> any BodyReader {
        do {
            let reader = try await make()
            return length.map { StatedLengthReader(reader, length: $0) } ?? reader
        } catch {
            throw RequestBody.Failure(ofStream: error)
        }
    }

    private final class Use: Sendable {
        private let isUsed = Atomic(false)

        func begin() -> Bool {
            !isUsed.exchange(true, ordering: .relaxed)
        }
    }
}

/// A reader that compares the length of a stream with its stated length.
private struct StatedLengthReader: BodyReader {
    private var reader: any BodyReader
    private let length: Int64
    private var count: Int64 = 0

    init(_ reader: any BodyReader, length: Int64) {
        self.reader = reader
        self.length = length
    }

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        // A stream that ended because its reader was cancelled has not broken its stated length.
        try Task.checkCancellation()
        count += Int64(chunk?.count ?? 0)
        guard chunk == nil ? count == length : count <= length else {
            throw RequestBody.Failure(
                .unencodableBody,
                reason:
                    "The stream of the body has \(chunk == nil ? "only" : "at least") \(count) bytes, but its stated "
                    + "length is \(length). State the correct length, or none."
            )
        }
        return chunk
    }
}

/// A reader of chunks of bytes, as the sequence produces them.
struct ChunkReader<Iterator: AsyncIteratorProtocol>: BodyReader where Iterator.Element: DataProtocol {
    private var iterator: Iterator

    init(_ iterator: Iterator) {
        self.iterator = iterator
    }

    mutating func next() async throws -> Data? {
        do {
            while let chunk = try await iterator.next(isolation: #isolation) {
                if !chunk.isEmpty { return chunk as? Data ?? Data(chunk) }
            }
            return nil
        } catch {
            throw RequestBody.Failure(ofStream: error)
        }
    }
}

/// A reader of single bytes, collected into chunks.
struct ByteReader<Iterator: AsyncIteratorProtocol>: BodyReader where Iterator.Element == UInt8 {
    private static var chunkSize: Int { 16 << 10 }

    private var iterator: Iterator

    init(_ iterator: Iterator) {
        self.iterator = iterator
    }

    mutating func next() async throws -> Data? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.chunkSize)
        do {
            while bytes.count < Self.chunkSize, let byte = try await iterator.next(isolation: #isolation) {
                bytes.append(byte)
            }
        } catch {
            throw RequestBody.Failure(ofStream: error)
        }
        return bytes.isEmpty ? nil : Data(bytes)
    }
}

extension RequestBody.Failure {
    /// Creates the failure for a stream that threw an error.
    fileprivate init(ofStream error: any Error) {
        if let failure = error as? RequestBody.Failure {
            self = failure
        } else {
            self.init(
                .unencodableBody,
                reason: "The stream of the body failed before its end, so the request was not sent in full.",
                underlying: error
            )
        }
    }
}
