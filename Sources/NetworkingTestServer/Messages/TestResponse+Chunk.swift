#if TestServer
public import FoundationForNetworking

extension TestResponse {
    /// A chunk of a body with its delay and gate.
    ///
    /// ```swift
    /// let gate = Gate()
    /// let second = TestResponse.Chunk("second", gate: gate)
    /// let third = TestResponse.Chunk("third", delay: .milliseconds(5))
    /// let response = TestResponse(body: .chunks(["first", second, third]))
    /// ```
    public struct Chunk: Sendable {
        /// The bytes.
        public var data: Data

        /// The time to wait before the bytes are sent.
        public var delay: Duration

        /// The gate that has to be open before the bytes are sent.
        ///
        /// The delay starts afterwards.
        public var gate: Gate?

        /// Creates a chunk of bytes.
        ///
        /// - Parameters:
        ///   - data: The bytes.
        ///   - delay: The time to wait before the bytes are sent.
        ///   - gate: The gate that has to be open before the bytes are sent.
        public init(_ data: Data, delay: Duration = .zero, gate: Gate? = nil) {
            self.data = data
            self.delay = delay
            self.gate = gate
        }

        /// Creates a chunk of UTF-8 text.
        ///
        /// - Parameters:
        ///   - text: The text.
        ///   - delay: The time to wait before the text is sent.
        ///   - gate: The gate that has to be open before the text is sent.
        public init(_ text: String, delay: Duration = .zero, gate: Gate? = nil) {
            self.init(Data(text.utf8), delay: delay, gate: gate)
        }
    }
}

extension TestResponse.Chunk: ExpressibleByStringLiteral {
    /// Creates a chunk of UTF-8 text that is sent at once.
    ///
    /// - Parameter value: The text.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}
#endif
