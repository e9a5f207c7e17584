import FoundationForNetworking
import NetworkingCore

/// The bytes of an element of a stream.
struct StreamDocument: Sendable, Equatable {
    let data: Data
    /// Whether it may be the start of a longer document.
    var isCutOff = false
}

/// A number or a literal at the end of a record, which may be the start of a longer one (RFC 7464 section 2.4).
struct DocumentCutOff: Error, CustomStringConvertible {
    var description: String {
        "A number or a literal in the JSON text sequence has no white space after it, so it may be truncated."
    }
}

/// Reads a stream as documents, one at a time.
protocol DocumentReader {
    /// Returns the next document; `nil` after the last.
    mutating func next() async throws -> StreamDocument?
}

/// Reads the documents of a stream and decodes them into values.
struct DecodingReader<Documents: DocumentReader, Value: Decodable & Sendable> {
    private var documents: Documents?
    private let decoding: ElementDecoding
    private let request: HTTPRequestData

    init(_ documents: Documents, decoding: ElementDecoding, of request: HTTPRequestData) {
        self.documents = documents
        self.decoding = decoding
        self.request = request
    }

    /// Returns the next value that the policy for failures does not skip; `nil` after the last.
    mutating func next() async throws -> Value? {
        do {
            while let document = try await documents?.next() {
                if document.isCutOff {
                    try decoding.refuse(Value.self, document.data, because: DocumentCutOff(), of: request)
                } else if let value = try await decoding.decode(Value.self, from: document.data, of: request) {
                    return value
                }
            }
            return nil
        } catch {
            // Releasing the iterator also ends the transfer.
            documents = nil
            throw error
        }
    }
}
