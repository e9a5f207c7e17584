extension RequestBody {
    /// The reason why a body cannot be read completely.
    ///
    /// The library converts it into a ``NetworkingError`` of the same ``kind`` that names the request, so a transport
    /// does not need to catch it.
    public struct Failure: Error, CustomStringConvertible {
        /// The kinds of the resulting errors.
        enum Cause: Sendable {
            case bodyNotReplayable, storage, tooLarge, unencodableBody
        }

        let cause: Cause
        /// The failure and a way to solve it.
        public let reason: String
        /// The unchanged error of the stream or the encoder.
        public let underlying: (any Error)?

        init(_ cause: Cause, reason: String, underlying: (any Error)? = nil) {
            self.cause = cause
            self.reason = reason
            self.underlying = underlying
        }

        /// The reason.
        public var description: String {
            reason
        }
    }
}
