import Foundation
import NetworkingOpenAPI
import Synchronization

/// A body like `HTTPBody` of swift-openapi-runtime, which counts how often it is read.
final class ClientBody: OpenAPIBody {
    let byteCount: Int64?
    let isReplayable: Bool
    private let makeChunks: @Sendable () -> Iterator
    private let readings = Mutex(0)

    init(byteCount: Int64?, isReplayable: Bool, chunks: @escaping @Sendable () async throws -> ArraySlice<UInt8>?) {
        (self.byteCount, self.isReplayable) = (byteCount, isReplayable)
        makeChunks = { Iterator(next: chunks) }
    }

    /// Creates a body from texts, each of which is a chunk.
    init(_ texts: [String], byteCount: Int64? = nil, isReplayable: Bool = true) {
        (self.byteCount, self.isReplayable) = (byteCount, isReplayable)
        makeChunks = {
            var rest = texts[...]
            return Iterator { rest.popFirst().map { ArraySlice($0.utf8) } }
        }
    }

    init(chunks: OpenAPIChunks) {
        (byteCount, isReplayable) = (chunks.byteCount, chunks.isReplayable)
        makeChunks = {
            var iterator = chunks.makeAsyncIterator()
            return Iterator { try await iterator.next() }
        }
    }

    /// The number of iterators that were created.
    var timesRead: Int {
        readings.withLock { $0 }
    }

    /// Reads the whole body as text.
    var text: String {
        get async throws {
            var bytes: [UInt8] = []
            for try await chunk in self {
                bytes += chunk
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    func makeAsyncIterator() -> Iterator {
        readings.withLock { $0 += 1 }
        return makeChunks()
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let next: () async throws -> ArraySlice<UInt8>?

        func next() async throws -> ArraySlice<UInt8>? {
            try await next()
        }
    }
}

/// The error with which a generated client wraps the errors of its transport and its middlewares.
struct ClientFailure: Error {
    let underlyingError: any Error
}
