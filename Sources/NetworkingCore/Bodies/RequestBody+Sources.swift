public import FoundationForNetworking

extension RequestBody {
    /// Creates a body from a file, which is read from disk each time the request is sent.
    ///
    /// It can be sent any number of times. The send fails with ``NetworkingError/Kind/storage`` if the URL is not a
    /// file URL, or if the file is missing, is a directory, cannot be read, or changes while it is sent.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - contentType: The media type; `nil` derives it from the extension of the file's name.
    /// - Returns: A body with the content of the file.
    public static func file(_ url: URL, contentType: String? = nil) -> RequestBody {
        guard url.isFileURL else {
            return RequestBody(
                Failure(.storage, reason: "The URL of a file body is not a file URL. Create it with URL(filePath:).")
            )
        }
        return RequestBody(
            FileBody(path: url.path),
            contentType: contentType ?? .mediaType(forFileName: url.lastPathComponent)
        )
    }

    /// Creates a body from a sequence of chunks of bytes, which is read once.
    ///
    /// The request cannot be sent again: retries give up, a redirect that needs the body is returned as the response,
    /// and a second reading fails with ``NetworkingError/Kind/bodyNotReplayable``. If possible, pass a closure that
    /// creates the sequence instead.
    ///
    /// URLSession cannot send bytes as they arrive, so the whole stream is read before it is sent: a short one into
    /// memory, a longer one into a private file. If the sequence throws or its length is wrong, the send fails with
    /// ``NetworkingError/Kind/unencodableBody``, which contains the error of the sequence.
    ///
    /// If the request is cancelled, the task that reads the sequence is cancelled.
    ///
    /// - Parameters:
    ///   - chunks: The chunks: `Data`, arrays of bytes, or other collections of bytes.
    ///   - length: The number of bytes, if it is known.
    ///   - contentType: The media type of the bytes.
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

    /// Creates a body from a sequence of single bytes, which is read once.
    ///
    /// The bytes are sent in chunks of 16 KiB. Everything else is the same as for a sequence of chunks.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - length: The number of bytes, if it is known.
    ///   - contentType: The media type of the bytes.
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

    /// Creates a body from a closure that creates a sequence of chunks of bytes, so that the request can be sent again.
    ///
    /// ```swift
    /// request.body = .stream(contentType: "text/csv") { database.export() }
    /// ```
    ///
    /// - Parameters:
    ///   - length: The number of bytes, if it is known.
    ///   - contentType: The media type of the bytes.
    ///   - makeChunks: Creates the sequence from its start; called for each attempt.
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

    /// Creates a body from a closure that creates a sequence of single bytes, so that the request can be sent again.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, if it is known.
    ///   - contentType: The media type of the bytes.
    ///   - makeBytes: Creates the sequence from its start; called for each attempt.
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
        reason: "The content type of the body contains a line "
            + "break, a NUL or another byte that HTTP forbids. Remove it."
    )
}
