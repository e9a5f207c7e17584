public import FoundationForNetworking

extension RequestBody {
    /// Creates a body from a closure that writes its chunks, so that the request can be sent again.
    ///
    /// ```swift
    /// request.body = .written(contentType: "text/csv") { writer in
    ///     try await writer.write(Data("number,square\n".utf8))
    ///     for number in 1...1_000_000 {
    ///         try await writer.write(Data("\(number),\(number * number)\n".utf8))
    ///     }
    /// }
    /// ```
    ///
    /// The closure runs in a task of its own for each attempt. A write returns when the transport needs more bytes, so
    /// at most two chunks are in memory. When the attempt ends early, the task is cancelled and each further write
    /// throws `CancellationError`. If the closure throws or the bytes do not have the stated length, the send fails
    /// with ``NetworkingError/Kind/unencodableBody``, which contains the error of the closure.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, if it is known.
    ///   - contentType: The media type of the bytes.
    ///   - write: Writes the body from its start; called for each attempt. The body is complete when it returns.
    /// - Returns: A body that can be sent any number of times.
    /// - Precondition: `length` is not negative.
    public static func written(
        length: Int64? = nil,
        contentType: String = "application/octet-stream",
        by write: @escaping @Sendable (BodyWriter) async throws -> Void
    ) -> RequestBody {
        .stream(length: length, contentType: contentType) { WrittenChunks(write: write) }
    }
}

/// The receiver of the chunks of a body that a closure writes.
///
/// ``RequestBody/written(length:contentType:by:)`` passes it to the closure.
public struct BodyWriter: Sendable {
    fileprivate let chunks: Handoff<Data>

    /// Writes a chunk, and returns when the transport needs more bytes.
    ///
    /// - Parameter chunk: The bytes. An empty chunk is ignored.
    /// - Throws: `CancellationError` if the attempt has ended or the task is cancelled.
    public func write(_ chunk: Data) async throws {
        try Task.checkCancellation()
        guard !chunk.isEmpty else { return }
        try await chunks.give(chunk)
    }
}

/// The chunks that a closure writes, which starts with the first read.
private struct WrittenChunks: AsyncSequence {
    let write: @Sendable (BodyWriter) async throws -> Void

    func makeAsyncIterator() -> Iterator {
        Iterator(write: write)
    }

    struct Iterator: AsyncIteratorProtocol {
        let write: @Sendable (BodyWriter) async throws -> Void
        private var writing: Writing?

        init(write: @escaping @Sendable (BodyWriter) async throws -> Void) {
            self.write = write
        }

        mutating func next() async throws -> Data? {
            let current = writing ?? Writing(write)
            writing = current
            return try await current.chunks.take()
        }
    }

    /// The task of one reading; it is cancelled when no reader is left.
    private final class Writing: Sendable {
        let chunks: Handoff<Data>
        private let task: OwnedTask<Void>

        init(_ write: @escaping @Sendable (BodyWriter) async throws -> Void) {
            let chunks = Handoff<Data>()
            self.chunks = chunks
            // The task retains only the chunks, so that the reader decides how long it runs.
            task = .immediate {
                do {
                    try await write(BodyWriter(chunks: chunks))
                    chunks.finish()
                } catch {
                    chunks.finish(throwing: error)
                }
            }
        }

        deinit {
            chunks.abandon()
            task.cancel()
        }
    }
}
