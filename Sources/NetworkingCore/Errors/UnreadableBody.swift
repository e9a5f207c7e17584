/// The reason why a body cannot be read as a value without a decoder.
struct UnreadableBody: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    var asDecodingError: DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: reason, underlyingError: self))
    }
}
