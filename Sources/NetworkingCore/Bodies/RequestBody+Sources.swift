#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension RequestBody {
    /// A file, sent from disk as it is when the request goes out.
    ///
    /// It can be sent any number of times. One that is missing, is a directory, must not be read, or changes while it
    /// is sent makes the send fail with ``NetworkingError/Kind/storage``.
    ///
    /// - Parameters:
    ///   - url: Where the file is.
    ///   - contentType: Its media type; nil has it guessed from the extension of its name.
    /// - Returns: A body as long as the file.
    public static func file(_ url: URL, contentType: String? = nil) -> RequestBody {
        guard url.isFileURL else {
            return RequestBody(
                Failure(.storage, reason: "The URL of a file body does not name a file. Make it with URL(filePath:).")
            )
        }
        return RequestBody(
            FileBody(path: url.path),
            contentType: contentType ?? .mediaType(forFileName: url.lastPathComponent)
        )
    }

    /// A sequence of chunks of bytes, which is read once.
    ///
    /// Whatever would have to send the request again fails or gives up instead, so give a closure that makes the
    /// sequence where that is possible: `stream(from:)`. URLSession, which cannot send bytes as they come,
    /// gets the stream when it has ended; it waits in a private file meanwhile. A sequence that throws makes the send
    /// fail with ``NetworkingError/Kind/unencodableBody``, which holds its error; so does a length that turns out to be
    /// wrong.
    ///
    /// Cancellation reaches the sequence as the cancellation of the task that reads it.
    ///
    /// - Parameters:
    ///   - chunks: The chunks: `Data`, arrays of bytes, or other such collections.
    ///   - length: How many bytes it brings, if that is known.
    ///   - contentType: Their media type.
    /// - Returns: A body that can be sent once.
    /// - Precondition: `length` is not negative.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks,
        length: Int64? = nil,
        contentType: String = "application/octet-stream"
    ) -> RequestBody where Chunks.Element: DataProtocol {
        let source = StreamBody(length: checked(length)) { ChunkReader(chunks.makeAsyncIterator()) }
        return RequestBody(source, contentType: contentType)
    }

    /// A sequence of single bytes, which is read once.
    ///
    /// They are sent in chunks of 16 KiB. For the rest see the form for chunks.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - length: How many there are, if that is known.
    ///   - contentType: Their media type.
    /// - Returns: A body that can be sent once.
    /// - Precondition: `length` is not negative.
    public static func stream<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes,
        length: Int64? = nil,
        contentType: String = "application/octet-stream"
    ) -> RequestBody where Bytes.Element == UInt8 {
        let source = StreamBody(length: checked(length)) { ByteReader(bytes.makeAsyncIterator()) }
        return RequestBody(source, contentType: contentType)
    }

    /// A sequence of chunks of bytes that can be made again, so that the request can be sent again.
    ///
    /// ```swift
    /// request.body = .stream(contentType: "text/csv") { database.export() }
    /// ```
    ///
    /// - Parameters:
    ///   - length: How many bytes it brings, if that is known.
    ///   - contentType: Their media type.
    ///   - makeChunks: Makes the sequence, from its start; called for each attempt.
    /// - Returns: A body that can be sent any number of times.
    /// - Precondition: `length` is not negative.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil,
        contentType: String = "application/octet-stream",
        from makeChunks: @escaping @Sendable () async throws -> Chunks
    ) -> RequestBody where Chunks.Element: DataProtocol, Chunks.AsyncIterator: SendableMetatype {
        let source = StreamBody(
            length: checked(length),
            making: { ChunkReader(try await makeChunks().makeAsyncIterator()) }
        )
        return RequestBody(source, contentType: contentType)
    }

    /// A sequence of single bytes that can be made again, so that the request can be sent again.
    ///
    /// - Parameters:
    ///   - length: How many bytes it brings, if that is known.
    ///   - contentType: Their media type.
    ///   - makeBytes: Makes the sequence, from its start; called for each attempt.
    /// - Returns: A body that can be sent any number of times.
    /// - Precondition: `length` is not negative.
    public static func stream<Bytes: AsyncSequence & SendableMetatype>(
        length: Int64? = nil,
        contentType: String = "application/octet-stream",
        from makeBytes: @escaping @Sendable () async throws -> Bytes
    ) -> RequestBody where Bytes.Element == UInt8, Bytes.AsyncIterator: SendableMetatype {
        let source = StreamBody(
            length: checked(length),
            making: { ByteReader(try await makeBytes().makeAsyncIterator()) }
        )
        return RequestBody(source, contentType: contentType)
    }

    private static func checked(_ length: Int64?) -> Int64? {
        precondition(length ?? 0 >= 0, "length must not be negative (is \(length ?? 0))")
        return length
    }
}

extension RequestBody.Failure {
    static let invalidContentType = RequestBody.Failure(
        .unencodableBody,
        reason: "The content type of the body holds a line break, a NUL or another byte that HTTP forbids. Remove it."
    )
}
