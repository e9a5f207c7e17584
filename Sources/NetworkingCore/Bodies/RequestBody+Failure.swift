extension RequestBody {
    /// The reason why a body cannot be read completely.
    ///
    /// A transport does not need to catch it. It becomes a ``NetworkingError`` of its kind that names the request.
    public struct Failure: Error, CustomStringConvertible {
        /// The kinds of errors that such a failure becomes.
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
