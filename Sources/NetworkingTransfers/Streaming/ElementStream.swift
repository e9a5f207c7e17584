import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes elements of the bytes of a stream, one at a time.
protocol StreamDecoder {
    associatedtype Element: Sendable

    /// Reads from a position of a chunk on until an element is complete; nil when the chunk is used up.
    ///
    /// An element that is longer than it may be is an error when it is its turn, wherever the chunks end.
    mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(StreamTooLong) -> Element?

    /// What the end completes, if anything.
    mutating func end() -> Element?
}

/// Reads a stream element by element.
///
/// A chunk is kept and read as far as the next element needs: all of its elements at once would take many times its
/// memory.
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

    /// Ends the transfer, too.
    private mutating func close() {
        bytes = nil
        (chunk, position) = (Data(), 0)
    }
}

/// What happens with an element of a stream that does not decode.
public enum DecodingFailures: Sendable {
    /// The element is skipped.
    case skip
    /// The element is skipped, and the closure receives the error.
    case report(@Sendable (any Error) -> Void)
    /// The iteration ends with ``NetworkingError/Kind/decoding``, the default.
    case fail
}

/// How the elements of a stream become values.
struct ElementDecoding: Sendable {
    let decoder: any BodyDecoder
    let failures: DecodingFailures

    /// Decodes a value; nil when it is to be left out.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type,
        from data: Data,
        of request: HTTPRequestData
    ) async throws -> Value? {
        do {
            // As for whole bodies: the trip pays for more than some kilobytes.
            return data.count > 16_384
                ? try await decodeElsewhere(type, from: data) : try decoder.decode(type, from: data)
        } catch {
            try refuse(type, because: error, of: request)
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

    /// Does with an element that does not decode what is to be done.
    func refuse<Value>(_ type: Value.Type, because error: any Error, of request: HTTPRequestData) throws {
        switch failures {
        case .skip:
            break
        case .report(let report):
            report(error)
        case .fail:
            throw NetworkingError(
                .decoding,
                request: request,
                underlying: error,
                reason:
                    "An element of the stream does not decode to \(type). Compare the type with what the server sends, or skip "
                    + "such elements with onDecodingFailure."
            )
        }
    }
}
