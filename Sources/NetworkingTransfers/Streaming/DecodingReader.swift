import NetworkingCore
import NetworkingFoundation

/// The bytes of an element of a stream.
struct StreamDocument: Sendable, Equatable {
    let data: Data
    /// Whether it may be the start of a longer document.
    var isCutOff = false
}

/// A number or a word at the end of a record, which may be the start of a longer one (RFC 7464 section 2.4).
struct DocumentCutOff: Error, CustomStringConvertible {
    var description: String {
        "A number or a literal in the JSON text sequence has no white space after it, so it may be truncated."
    }
}

/// Reads the elements of a stream and decodes them into values.
struct DecodingReader<Elements: AsyncIteratorProtocol, Value: Decodable & Sendable> {
    private var elements: Elements?
    private let decoding: ElementDecoding
    private let request: HTTPRequestData

    init(_ elements: Elements, decoding: ElementDecoding, of request: HTTPRequestData) {
        self.elements = elements
        self.decoding = decoding
        self.request = request
    }

    /// Returns the next value that the policy for failures does not skip; `nil` after the last.
    ///
    /// The closure returns the bytes of an element.
    mutating func next(_ document: (Elements.Element) -> StreamDocument) async throws -> Value? {
        do {
            while let element = try await elements?.next() {
                let document = document(element)
                if document.isCutOff {
                    try decoding.refuse(Value.self, because: DocumentCutOff(), of: request)
                } else if let value = try await decoding.decode(Value.self, from: document.data, of: request) {
                    return value
                }
            }
            return nil
        } catch {
            // Releasing the iterator also ends the transfer.
            elements = nil
            throw error
        }
    }
}
