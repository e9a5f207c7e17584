import FoundationForNetworking
import NetworkingCore
import NetworkingTransfers

/// The body type of a generated client: `HTTPBody` of swift-openapi-runtime.
///
/// This package does not depend on the runtime. An app copies the file `Documentation/Adapters/OpenAPIRuntime.swift`,
/// which declares the conformance.
public protocol OpenAPIBody: AsyncSequence, Sendable
where Element == ArraySlice<UInt8>, AsyncIterator: SendableMetatype {
    /// The number of bytes; `nil` if it is not known.
    var byteCount: Int64? { get }

    /// Whether the chunks can be read more than once.
    ///
    /// The adapters read a body once if it is `false`.
    var isReplayable: Bool { get }

    /// Creates a body from chunks.
    ///
    /// - Parameter chunks: The chunks, with their total length and whether they can be read more than once.
    init(chunks: OpenAPIChunks)
}

/// The chunks of a response of the stack, or of a request body that a modifier has changed, for an ``OpenAPIBody``.
///
/// They arrive as the reader asks for them: a server that is faster than the reader is slowed down.
public struct OpenAPIChunks: AsyncSequence, Sendable {
    /// A chunk of bytes; never empty.
    public typealias Element = ArraySlice<UInt8>

    /// The number of bytes; `nil` if it is not known.
    public let byteCount: Int64?

    /// Whether the chunks can be read more than once; `false` for the streamed body of a response.
    public let isReplayable: Bool

    private let source: Source

    private enum Source: Sendable {
        case body(RequestBody)
        case response(ResponseStream)
    }

    private init(source: Source, byteCount: Int64?, isReplayable: Bool) {
        (self.source, self.byteCount, self.isReplayable) = (source, byteCount, isReplayable)
    }

    /// Creates the chunks of a request body.
    init(of body: RequestBody) {
        self.init(source: .body(body), byteCount: body.length, isReplayable: body.isReplayable)
    }

    /// Creates the chunks of the body of a response.
    ///
    /// - Parameters:
    ///   - response: The response; its body is in memory or in the stream.
    ///   - stream: The stream; `nil` if the body is in memory.
    init(of response: HTTPResponseData, _ stream: ResponseStream?) {
        guard let stream else {
            self.init(of: .data(response.data))
            return
        }
        self.init(source: .response(stream), byteCount: response.statedBodyLength, isReplayable: false)
    }

    /// Starts to read.
    public func makeAsyncIterator() -> Iterator {
        switch source {
        case .body(let body): Iterator(chunks: .body(body.chunks.makeAsyncIterator()))
        case .response(let stream): Iterator(chunks: .response(stream.makeAsyncIterator()))
        }
    }

    /// Reads the chunks once; releasing the iterator of a streamed response ends the transfer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate enum Chunks {
            case body(BodyChunks.Iterator)
            case response(ResponseStream.Iterator)
        }

        fileprivate var chunks: Chunks

        /// Returns the next chunk; `nil` after the last.
        ///
        /// - Throws: A `NetworkingError` if a response ends early, `RequestBody.Failure` if a request body cannot
        ///   be read, or `CancellationError` if the caller is cancelled.
        public mutating func next() async throws -> ArraySlice<UInt8>? {
            switch chunks {
            case .body(var iterator):
                let chunk = try await iterator.next()
                chunks = .body(iterator)
                return chunk.map { ArraySlice($0) }
            case .response(var iterator):
                return try await iterator.next().map { ArraySlice($0) }
            }
        }
    }
}

extension HTTPResponseData {
    /// The length of the body as the client sees it; `nil` if the head does not state it.
    ///
    /// The length of a compressed body is not that of the decoded one.
    fileprivate var statedBodyLength: Int64? {
        guard !headerFields.contains(.contentEncoding), let text = headerFields[singleton: .contentLength]
        else { return nil }
        return DecimalDigits.number(text.utf8)
    }
}
