import FoundationForNetworking
public import NetworkingCore

extension NetworkingComponent {
    /// Sends a request and returns the JSON documents of its body, decoded one by one as they arrive.
    ///
    /// ```swift
    /// for try await reading in try await network.values(HTTPRequestData(path: "readings"), as: Reading.self) {
    ///     chart.add(reading)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - type: The type of a document.
    ///   - format: How the documents are separated; `nil` to use the response's Content-Type.
    ///   - decoder: The decoder; `nil` to use the request's, the stack's or a plain `JSONDecoder`.
    ///   - failures: The policy for a document that cannot be decoded; by default it ends the iteration with
    ///     ``NetworkingError/Kind/decoding``.
    ///   - maximumDocumentBytes: The maximum size of a document, in bytes; 16 MiB by default. A longer document ends
    ///     the iteration with ``NetworkingError/Kind/tooLarge``.
    /// - Returns: The values, and the head of the response. They can be read once. Ending the iteration ends the
    ///   transfer.
    /// - Throws: The errors of ``stream(_:)``, and ``NetworkingError/Kind/invalidResponse`` for HTML or XML, unless
    ///   `format` is given.
    /// - Precondition: `maximumDocumentBytes` is greater than zero.
    public func values<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        format: JSONStreamFormat? = nil,
        decoder: (any BodyDecoder)? = nil,
        onDecodingFailure failures: DecodingFailures = .fail,
        maximumDocumentBytes: Int = 16 << 20
    ) async throws -> JSONStream<Value> {
        precondition(
            maximumDocumentBytes > 0,
            "maximumDocumentBytes must be greater than zero (is \(maximumDocumentBytes))"
        )
        let stream = try await stream(request)
        return JSONStream(
            stream: stream,
            format: try format ?? JSONStreamFormat(of: stream.response, to: request),
            decoding: ElementDecoding(
                decoder: decoder ?? resolved(request).decoder ?? JSONDecoder(),
                failures: failures
            ),
            limit: maximumDocumentBytes
        )
    }
}

/// How the documents of a JSON stream are separated.
public enum JSONStreamFormat: Sendable, Hashable {
    /// One document per line: NDJSON, JSON Lines.
    case lines
    /// A record separator before each document: JSON text sequences (RFC 7464).
    case sequence
    /// One document after another, with or without white space between them.
    case concatenated

    /// Reads the format from a response's media type; an unknown or missing type means concatenated documents.
    ///
    /// HTML and XML are rejected: they are usually the login page of a service or of a network portal, or its error,
    /// and would be a stream without values.
    init(of response: HTTPResponseData, to request: HTTPRequestData) throws {
        let type = BodyType(response.headerFields[singleton: .contentType]).essence
        switch type {
        case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
            "application/jsonlines", "application/json-lines":
            self = .lines
        case "application/json-seq": self = .sequence
        case _ where type.hasSuffix("+json-seq"): self = .sequence
        case "text/html", "application/xhtml+xml", "text/xml", "application/xml":
            throw NetworkingError(
                .invalidResponse,
                request: request,
                response: response,
                reason: "The server sent \(type) instead of JSON. Check the URL, or specify the format."
            )
        default: self = .concatenated
        }
    }
}

/// The JSON documents of a body, decoded one by one as they arrive.
public struct JSONStream<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A value decoded from a document.
    public typealias Element = Value

    let stream: ResponseStream
    let format: JSONStreamFormat
    let decoding: ElementDecoding
    let limit: Int

    /// The response, as it was when its head arrived.
    public var response: HTTPResponseData {
        stream.response
    }

    /// Starts to read.
    ///
    /// Only one iterator receives the body; any other fails.
    public func makeAsyncIterator() -> Iterator {
        let documents = ElementReader(stream, decoder: JSONSplitter(format: format, limit: limit))
        return Iterator(reader: DecodingReader(documents, decoding: decoding, of: stream.response.request))
    }

    /// Reads the documents once; releasing the iterator ends the transfer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: DecodingReader<ElementReader<JSONSplitter>, Value>

        /// Returns the next value; `nil` after the last.
        ///
        /// - Throws: The errors of the iterator of a ``ResponseStream``, ``NetworkingError/Kind/tooLarge``, and
        ///   ``NetworkingError/Kind/decoding`` if a document cannot be decoded and the policy does not skip it.
        public mutating func next() async throws -> Value? {
            try await reader.next()
        }
    }
}

extension ElementReader: DocumentReader where Decoder == JSONSplitter {}

/// Splits a stream into documents, without parsing their contents.
struct JSONSplitter: StreamDecoder {
    private static let recordSeparator: UInt8 = 0x1E
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    let format: JSONStreamFormat
    let limit: Int
    private var document: [UInt8] = []
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var isAtStart = true

    init(format: JSONStreamFormat, limit: Int) {
        self.format = format
        self.limit = limit
    }

    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(StreamTooLong) -> StreamDocument? {
        while position < bytes.count {
            let isEnd =
                switch format {
                case .lines: read(upTo: .lineFeed, in: bytes, from: &position)
                case .sequence: read(upTo: Self.recordSeparator, in: bytes, from: &position)
                case .concatenated: readDocument(in: bytes, from: &position)
                }
            guard document.count <= limit else { throw StreamTooLong(what: "document", limit: limit) }
            if isEnd, let document = takeDocument() { return document }
        }
        return nil
    }

    mutating func end() -> StreamDocument? {
        takeDocument()
    }

    /// Reads up to a separator; returns `false` if the bytes end before it.
    private mutating func read(
        upTo separator: UInt8,
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) -> Bool {
        let rest = bytes[position...]
        let end = rest.firstIndex(of: separator)
        document.append(contentsOf: rest[..<(end ?? rest.endIndex)])
        position = end.map { $0 + 1 } ?? bytes.count
        return end != nil
    }

    /// Reads up to the end of a document; returns `false` if the bytes end before it.
    private mutating func readDocument(in bytes: UnsafeRawBufferPointer, from position: inout Int) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            if isInString {
                position += 1
                if endsString(byte), depth == 0 { return true }
                continue
            }
            let isOpening = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
            // A number or a literal ends where the next document starts.
            if isOpening, depth == 0, !document.isEmpty { return true }
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                document.append(byte)
                isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                document.append(byte)
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                document.append(byte)
                depth = max(0, depth - 1)
                if depth == 0 { return true }
            case _ where JSONTokenizer.isSpace(byte) || byte == Self.recordSeparator:
                if depth == 0 { return true }
                document.append(byte)
            default:
                document.append(byte)
            }
        }
        return false
    }

    /// Reads a byte of a string and returns whether it was the last.
    private mutating func endsString(_ byte: UInt8) -> Bool {
        document.append(byte)
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
        return !isInString
    }

    /// Ends a document; returns `nil` if it contains only white space.
    private mutating func takeDocument() -> StreamDocument? {
        defer { document.removeAll(keepingCapacity: document.capacity < 1 << 16) }
        if isAtStart, !document.isEmpty {
            isAtStart = false
            if document.starts(with: Self.byteOrderMark) {
                document.removeFirst(3)
            }
        }
        guard let first = document.first(where: { $0 > 0x20 }), let last = document.last else { return nil }
        let isScalar = ![UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")].contains(first)
        return StreamDocument(data: Data(document), isCutOff: format == .sequence && isScalar && last > 0x20)
    }
}
