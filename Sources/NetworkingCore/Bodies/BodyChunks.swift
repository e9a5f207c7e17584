#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The bytes of a body in chunks, for a transport to send.
///
/// Each iteration reads the body from its start: files are opened anew, streams are made anew. It throws
/// ``RequestBody/Failure`` when the body cannot be read, when it has been read before and can be read only once, when a
/// file changes under way, and when there is more or less than the body's length said. It checks for cancellation
/// before each chunk.
public struct BodyChunks: AsyncSequence, Sendable {
    /// A chunk of bytes; never empty.
    public typealias Element = Data

    let body: RequestBody

    /// Begins to read the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(body: body)
    }

    /// One reading of a body.
    public struct Iterator: AsyncIteratorProtocol {
        private let body: RequestBody
        private let length: Int64?
        private var count: Int64 = 0
        private var reader: (any BodyReader)?

        init(body: RequestBody) {
            self.body = body
            length = body.length
        }

        /// Brings the next chunk; nil after the last.
        ///
        /// - Throws: ``RequestBody/Failure``, or `CancellationError` when the caller is cancelled.
        public mutating func next() async throws -> Data? {
            try Task.checkCancellation()
            var reader: any BodyReader
            if let opened = self.reader {
                reader = opened
            } else {
                reader = try await body.open()
            }
            defer { self.reader = reader }
            let chunk: Data?
            do {
                chunk = try await reader.next()
            } catch {
                // A stream that ends with its reader's cancellation has not failed.
                try Task.checkCancellation()
                throw error
            }
            // A stream may end for no other reason than that its reader is cancelled.
            try Task.checkCancellation()
            count += Int64(chunk?.count ?? 0)
            if let length, chunk == nil ? count < length : count > length {
                // What somebody said of a stream is checked where that is read.
                throw RequestBody.Failure.changed(body.fileURL?.path)
            }
            return chunk
        }
    }
}

extension RequestBody {
    /// The bytes in chunks, read anew by each iteration.
    ///
    /// A transport of one's own sends these where ``data`` is nil.
    public var chunks: BodyChunks {
        BodyChunks(body: self)
    }

    /// Reads the whole body into memory; meant for tests and for small bodies.
    ///
    /// - Parameter limit: The most bytes that it may have; 64 MiB by default.
    /// - Returns: The bytes.
    /// - Throws: What ``BodyChunks`` throws, and ``Failure`` when the body is longer.
    public func collect(upTo limit: Int = 64 << 20) async throws -> Data {
        var collected = Data()
        if let length, length <= limit {
            collected.reserveCapacity(Int(min(length, 64 << 20)))
        }
        for try await chunk in chunks {
            guard collected.count + chunk.count <= limit else {
                throw Failure(
                    .tooLarge,
                    reason: "The body of the request is longer than \(limit) bytes, the most that were to be collected."
                )
            }
            collected.append(chunk)
        }
        return collected
    }

    /// Why a body cannot be read, or not to its end.
    ///
    /// A transport need not catch it: it becomes a ``NetworkingError`` of its kind that names the request.
    public struct Failure: Error, LocalizedError, CustomStringConvertible {
        /// The kind of the error that it becomes.
        public let kind: NetworkingError.Kind
        /// What happened and what to do about it.
        public let reason: String
        /// The error of the stream or the encoder, untouched.
        public let underlying: (any Error)?

        init(_ kind: NetworkingError.Kind, reason: String, underlying: (any Error)? = nil) {
            self.kind = kind
            self.reason = reason
            self.underlying = underlying
        }

        /// The reason.
        public var description: String {
            reason
        }

        /// One sentence for the user of the app, which `localizedDescription` returns.
        public var errorDescription: String? {
            kind.userText
        }

        /// The error of the request whose body it is.
        package func error(of request: HTTPRequestData, response: HTTPResponseData? = nil) -> NetworkingError {
            NetworkingError(kind, request: request, response: response, underlying: underlying, reason: reason)
        }
    }
}
