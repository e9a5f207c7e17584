#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes elements of the bytes of a stream.
protocol StreamDecoder {
    associatedtype Element: Sendable

    /// Reads the next bytes, and adds the elements that they complete.
    mutating func decode(_ chunk: Data, into elements: inout [Element]) throws
    /// Adds what the end completes.
    mutating func end(into elements: inout [Element]) throws
}

/// Reads a stream element by element.
struct ElementReader<Decoder: StreamDecoder> {
    var decoder: Decoder
    private let request: HTTPRequestData
    private var bytes: ResponseStream.Iterator?
    private var elements: [Decoder.Element] = []
    private var position = 0

    init(_ stream: ResponseStream, decoder: Decoder) {
        self.decoder = decoder
        request = stream.response.request
        bytes = stream.makeAsyncIterator()
    }

    mutating func next() async throws -> Decoder.Element? {
        while true {
            if position < elements.count {
                defer { position += 1 }
                return elements[position]
            }
            elements.removeAll(keepingCapacity: true)
            position = 0
            guard bytes != nil else { return nil }
            do {
                if let chunk = try await bytes?.next() {
                    try decoder.decode(chunk, into: &elements)
                } else {
                    // Ends the transfer, too, as every way out of here does.
                    bytes = nil
                    try decoder.end(into: &elements)
                }
            } catch let error as StreamTooLong {
                bytes = nil
                throw NetworkingError(.tooLarge, request: request, reason: error.description)
            } catch {
                bytes = nil
                throw error
            }
        }
    }
}

/// What becomes of an element of a stream that does not decode.
public enum DecodingFailures: Sendable {
    /// It is left out.
    case skip
    /// It is left out, and somebody hears of it.
    case report(@Sendable (any Error) -> Void)
    /// It ends the stream with ``NetworkingError/Kind/decoding``.
    case fail
}

/// How the elements of a stream become values.
struct ElementDecoding: Sendable {
    let decoder: any BodyDecoder
    let failures: DecodingFailures

    /// Decodes a value; nil when it is to be left out.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data, of request: HTTPRequestData) throws -> Value? {
        do {
            return try decoder.decode(type, from: data)
        } catch {
            switch failures {
            case .skip:
                return nil
            case .report(let report):
                report(error)
                return nil
            case .fail:
                throw NetworkingError(
                    .decoding,
                    request: request,
                    underlying: error,
                    reason:
                        "An element of the stream does not decode to \(type). Compare the type with what the server sends."
                )
            }
        }
    }
}
