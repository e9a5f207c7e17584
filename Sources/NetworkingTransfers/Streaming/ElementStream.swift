import FoundationForNetworking
import NetworkingCore

/// Decodes the elements of a stream from its bytes, one at a time.
protocol StreamDecoder {
    associatedtype Element: Sendable

    /// Reads a chunk from a position until an element is complete; returns `nil` at the end of the chunk.
    ///
    /// An element that exceeds the limit throws when its turn comes, independent of how the stream is divided into
    /// chunks.
    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(StreamTooLong) -> Element?

    /// Returns the element that the end of the stream completes, if any.
    mutating func end() -> Element?
}

/// Reads a stream element by element.
///
/// It keeps one chunk and reads only up to the end of the next element. Decoding all elements of a chunk at once would
/// take many times its memory.
struct ElementReader<Decoder: StreamDecoder> {
    private var decoder: Decoder
    private let request: HTTPRequestData
    private var bytes: ResponseStream.Iterator?
    private var chunk = Data()
    private var position = 0

    init(_ stream: ResponseStream, decoder: Decoder) {
        self.decoder = decoder
        request = stream.response.request
        bytes = stream.makeAsyncIterator()
    }

    mutating func next() async throws -> Decoder.Element? {
        while bytes != nil {
            do {
                if position < chunk.count, let element = try readElement() { return element }
                guard let next = try await bytes?.next() else {
                    close()
                    return decoder.end()
                }
                (chunk, position) = (next, 0)
            } catch let error as StreamTooLong {
                close()
                throw NetworkingError(.tooLarge, request: request, reason: error.description)
            } catch {
                close()
                throw error
            }
        }
        return nil
    }

    private mutating func readElement() throws(StreamTooLong) -> Decoder.Element? {
        try chunk.withBytes { (bytes) throws(StreamTooLong) in try decoder.next(in: bytes, from: &position) }
    }

    /// Stops reading, which also ends the transfer.
    private mutating func close() {
        bytes = nil
        (chunk, position) = (Data(), 0)
    }
}

/// What happens when an element of a stream cannot be decoded.
public enum DecodingFailures: Sendable {
    /// The element is skipped.
    case skip
    /// The element is skipped, and the closure receives the error.
    case report(@Sendable (any Error) -> Void)
    /// The iteration ends with ``NetworkingError/Kind/decoding``, the default.
    case fail
}

/// Decodes the elements of a stream into values.
struct ElementDecoding: Sendable {
    let decoder: any BodyDecoder
    let failures: DecodingFailures

    /// Decodes a value; returns `nil` if the element is to be skipped.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type,
        from data: Data,
        of request: HTTPRequestData
    ) async throws -> Value? {
        do {
            // As for whole bodies, switching to another thread is only worthwhile for more than some kilobytes.
            return data.count > 16_384
                ? try await decodeElsewhere(type, from: data) : try decoder.decode(type, from: data)
        } catch {
            try refuse(type, data, because: error, of: request)
            return nil
        }
    }

    @concurrent
    private func decodeElsewhere<Value: Decodable & Sendable>(
        _ type: Value.Type,
        from data: Data
    ) async throws -> Value {
        try decoder.decode(type, from: data)
    }

    /// Applies the failure policy to an element that cannot be decoded.
    func refuse<Value>(_ type: Value.Type, _ data: Data, because error: any Error, of request: HTTPRequestData) throws {
        switch failures {
        case .skip:
            break
        case .report(let report):
            report(error)
        case .fail:
            throw NetworkingError.undecodableElement(data, of: request, as: type, error)
        }
    }
}
