public import FoundationForNetworking

/// The bytes of a body in chunks, for a transport to send.
///
/// Each iteration reads the body from its start: it opens the file or creates the stream again. It throws
/// ``RequestBody/Failure`` in these cases:
/// - The body cannot be read.
/// - The body can be read only once and has been read before.
/// - A file changes while it is read.
/// - The body does not have the stated length.
///
/// It checks for cancellation before each chunk.
public struct BodyChunks: AsyncSequence, Sendable {
    /// A chunk of bytes; never empty.
    public typealias Element = Data

    let body: RequestBody

    /// Starts to read the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(body: body)
    }

    /// A single pass over a body.
    public struct Iterator: AsyncIteratorProtocol {
        private let body: RequestBody
        private var length: Int64?
        private var count: Int64 = 0
        private var reader: (any BodyReader)?

        init(body: RequestBody) {
            self.body = body
        }

        /// Returns the next chunk; `nil` after the last.
        ///
        /// - Throws: ``RequestBody/Failure``, or `CancellationError` if the caller is cancelled.
        public mutating func next() async throws -> Data? {
            try Task.checkCancellation()
            var reader: any BodyReader
            if let opened = self.reader {
                reader = opened
            } else {
                let body = try await body.measuredOnce()
                length = body.length
                reader = try await body.open()
            }
            defer { self.reader = reader }
            let chunk: Data?
            do {
                chunk = try await reader.next()
            } catch {
                // A stream that throws because its reader was cancelled has not failed.
                try Task.checkCancellation()
                throw error
            }
            // A stream may also end early because its reader was cancelled.
            try Task.checkCancellation()
            count += Int64(chunk?.count ?? 0)
            if let length, chunk == nil ? count < length : count > length {
                // The stated length of a stream is checked where the stream is read.
                throw RequestBody.Failure.changed(body.fileURL?.path)
            }
            return chunk
        }
    }
}

extension RequestBody {
    /// The bytes in chunks, read again from the start by each iteration.
    ///
    /// A custom transport sends these if ``data`` is `nil`.
    public var chunks: BodyChunks {
        BodyChunks(body: self)
    }

    /// Reads the whole body into memory, for tests and for small bodies.
    ///
    /// - Parameter limit: The maximum number of bytes; 64 MiB by default.
    /// - Returns: The bytes.
    /// - Throws: The errors of ``BodyChunks``, and ``Failure`` if the body is longer than the limit.
    public func collect(upTo limit: Int = 64 << 20) async throws -> Data {
        let body = try await measuredOnce()
        var collected = Data()
        if let length = body.length, length <= limit {
            collected.reserveCapacity(Int(min(length, 64 << 20)))
        }
        for try await chunk in body.chunks {
            guard collected.count + chunk.count <= limit else {
                throw Failure(
                    .tooLarge,
                    reason: "The body of the request is longer than the limit of \(limit) bytes. Raise the limit, or "
                        + "read the body in chunks."
                )
            }
            collected.append(chunk)
        }
        return collected
    }
}
