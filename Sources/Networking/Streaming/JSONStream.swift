#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// Sends a request and returns the JSON documents of its body, decoded one by one as they come.
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
    ///   - format: How documents are told apart; nil has the response's Content-Type say so.
    ///   - decoder: The decoder; a plain `JSONDecoder` by default.
    ///   - failures: What becomes of a document that does not decode; it is left out by default.
    ///   - maximumDocumentBytes: The most bytes of a document; 16 MiB by default. A longer one ends the iteration with
    ///     ``NetworkingError/Kind/tooLarge``.
    /// - Returns: The values, and the response's head. They are read once, and giving them up ends the transfer.
    /// - Throws: What ``stream(_:)`` throws.
    /// - Precondition: `maximumDocumentBytes` is greater than zero.
    public func values<Value: Decodable & Sendable>(
        _ request: HTTPRequestData,
        as type: Value.Type,
        format: JSONStreamFormat? = nil,
        decoder: any BodyDecoder = JSONDecoder(),
        onDecodingFailure failures: DecodingFailures = .skip,
        maximumDocumentBytes: Int = 16 << 20
    ) async throws -> JSONStream<Value> {
        precondition(
            maximumDocumentBytes > 0,
            "maximumDocumentBytes must be greater than zero (is \(maximumDocumentBytes))"
        )
        let stream = try await stream(request)
        return JSONStream(
            stream: stream,
            format: format ?? JSONStreamFormat(contentType: stream.response.headerFields[.contentType]),
            decoding: ElementDecoding(decoder: decoder, failures: failures),
            limit: maximumDocumentBytes
        )
    }
}

/// How the documents of a JSON stream are told apart.
public enum JSONStreamFormat: Sendable, Hashable {
    /// A document on each line: NDJSON, JSON Lines.
    case lines
    /// A record separator before each document: JSON text sequences (RFC 7464).
    case sequence
    /// One document after the other, with or without white space between them.
    case concatenated

    /// Reads the format in a media type; any but those of the other two means concatenated documents.
    init(contentType: String?) {
        let type = (contentType ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
        switch type {
        case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
            "application/jsonlines", "application/json-lines":
            self = .lines
        case "application/json-seq": self = .sequence
        case _ where type.hasSuffix("+json-seq"): self = .sequence
        default: self = .concatenated
        }
    }
}

/// The JSON documents of a body, decoded one by one as they come.
public struct JSONStream<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A document's value.
    public typealias Element = Value

    private let stream: ResponseStream
    private let format: JSONStreamFormat
    private let decoding: ElementDecoding
    private let limit: Int

    init(stream: ResponseStream, format: JSONStreamFormat, decoding: ElementDecoding, limit: Int) {
        self.stream = stream
        self.format = format
        self.decoding = decoding
        self.limit = limit
    }

    /// The response as it was when its head had come.
    public var response: HTTPResponseData {
        stream.response
    }

    /// Begins to read.
    ///
    /// Only one iterator gets the body; any other fails.
    public func makeAsyncIterator() -> Iterator {
        let splitter = JSONSplitter(format: format, limit: limit)
        return Iterator(
            reader: ElementReader(stream, decoder: splitter),
            decoding: decoding,
            request: stream.response.request
        )
    }

    /// Reads the documents once, and ends the transfer when it goes.
    public struct Iterator: AsyncIteratorProtocol {
        private var reader: ElementReader<JSONSplitter>?
        private let decoding: ElementDecoding
        private let request: HTTPRequestData

        fileprivate init(reader: ElementReader<JSONSplitter>, decoding: ElementDecoding, request: HTTPRequestData) {
            self.reader = reader
            self.decoding = decoding
            self.request = request
        }

        /// Brings the next value; nil after the last.
        ///
        /// - Throws: What the iterator of a ``ResponseStream`` throws, ``NetworkingError/Kind/tooLarge``, and
        ///   ``NetworkingError/Kind/decoding`` when that was asked for.
        public mutating func next() async throws -> Value? {
            do {
                while let document = try await reader?.next() {
                    if let value = try decoding.decode(Value.self, from: document, of: request) { return value }
                }
                return nil
            } catch {
                // Ends the transfer, too.
                reader = nil
                throw error
            }
        }
    }
}

/// Tells the documents of a stream apart, without a look at what is in them.
struct JSONSplitter: StreamDecoder {
    private static let recordSeparator: UInt8 = 0x1E

    let format: JSONStreamFormat
    let limit: Int
    private var document: [UInt8] = []
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    init(format: JSONStreamFormat, limit: Int) {
        self.format = format
        self.limit = limit
    }

    mutating func decode(_ chunk: Data, into elements: inout [Data]) throws {
        switch format {
        case .lines: split(chunk, at: .lineFeed, into: &elements)
        case .sequence: split(chunk, at: Self.recordSeparator, into: &elements)
        case .concatenated:
            for byte in chunk {
                read(byte, into: &elements)
            }
        }
        guard max(document.count, elements.map(\.count).max() ?? 0) <= limit else {
            throw StreamTooLong(what: "document", limit: limit)
        }
    }

    mutating func end(into elements: inout [Data]) {
        complete(into: &elements)
    }

    private mutating func split(_ chunk: Data, at separator: UInt8, into elements: inout [Data]) {
        var rest = chunk[...]
        while let end = rest.firstIndex(of: separator) {
            document.append(contentsOf: rest[..<end])
            complete(into: &elements)
            rest = rest[(end + 1)...]
        }
        document.append(contentsOf: rest)
    }

    /// Objects and arrays end with their bracket, strings with their quote, and anything else where something new begins.
    private mutating func read(_ byte: UInt8, into elements: inout [Data]) {
        if isInString {
            document.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
                if depth == 0 {
                    complete(into: &elements)
                }
            }
            return
        }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "["):
            if depth == 0 {
                complete(into: &elements)
            }
            document.append(byte)
            if byte == UInt8(ascii: "\"") {
                isInString = true
            } else {
                depth += 1
            }
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            document.append(byte)
            depth = max(0, depth - 1)
            if depth == 0 {
                complete(into: &elements)
            }
        case 0x20, 0x09, 0x0A, 0x0D, Self.recordSeparator:
            if depth == 0 {
                complete(into: &elements)
            } else {
                document.append(byte)
            }
        default:
            document.append(byte)
        }
    }

    /// Ends a document, unless there is nothing in it but white space.
    private mutating func complete(into elements: inout [Data]) {
        defer { document.removeAll(keepingCapacity: true) }
        guard document.contains(where: { $0 > 0x20 }) else { return }
        elements.append(Data(document))
    }
}
