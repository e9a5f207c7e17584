import FoundationForNetworking
public import NetworkingCore

extension NetworkingComponent {
    /// Sends a request and returns the lines of its body as they arrive.
    ///
    /// ```swift
    /// for try await line in try await network.lines(HTTPRequestData(path: "log")) {
    ///     print(line)
    /// }
    /// ```
    ///
    /// A line ends with LF, CR LF or CR, independent of how the body is divided into chunks. The last line needs no
    /// line break. Bytes that are not valid UTF-8 become U+FFFD.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - maximumLineBytes: The maximum size of a line, in bytes; 1 MiB by default. A longer line ends the iteration
    ///     with ``NetworkingError/Kind/tooLarge``.
    /// - Returns: The lines, and the head of the response. They can be read once. Ending the iteration ends the
    ///   transfer.
    /// - Throws: The errors of ``stream(_:)``.
    /// - Precondition: `maximumLineBytes` is greater than zero.
    public func lines(_ request: HTTPRequestData, maximumLineBytes: Int = 1 << 20) async throws -> ResponseLines {
        precondition(maximumLineBytes > 0, "maximumLineBytes must be greater than zero (is \(maximumLineBytes))")
        return ResponseLines(stream: try await stream(request), maximumLineBytes: maximumLineBytes)
    }
}

/// The lines of a body as they arrive.
public struct ResponseLines: AsyncSequence, Sendable {
    /// A line without its line break.
    public typealias Element = String

    let stream: ResponseStream
    let maximumLineBytes: Int

    /// The response, as it was when its head arrived.
    public var response: HTTPResponseData {
        stream.response
    }

    /// Starts to read.
    ///
    /// Only one iterator receives the body; any other fails.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: ElementReader(stream, decoder: LineDecoder(limit: maximumLineBytes)))
    }

    /// Reads the lines once; releasing the iterator ends the transfer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: ElementReader<LineDecoder>

        /// Returns the next line; `nil` after the last.
        ///
        /// - Throws: The errors of the iterator of a ``ResponseStream``, and ``NetworkingError/Kind/tooLarge``.
        public mutating func next() async throws -> String? {
            try await reader.next()
        }
    }
}

private struct LineDecoder: StreamDecoder {
    let limit: Int
    private var lines = LineSplitter()

    init(limit: Int) {
        self.limit = limit
    }

    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(StreamTooLong) -> String? {
        let limit = limit
        let line = try lines.next(in: bytes, from: &position) { (line) throws(StreamTooLong) in
            try Self.check(line.count, limit)
            return String(decoding: line, as: UTF8.self)
        }
        try Self.check(lines.rest.count, limit)
        return line
    }

    mutating func end() -> String? {
        lines.takeRest().map { String(decoding: $0, as: UTF8.self) }
    }

    private static func check(_ count: Int, _ limit: Int) throws(StreamTooLong) {
        guard count <= limit else { throw StreamTooLong(what: "line", limit: limit) }
    }
}
