#if TestServer
public import FoundationForNetworking

extension TestResponse {
    /// A step of a raw response: bytes to send, a wait, or an ending.
    ///
    /// A string literal, with or without interpolation, is sent unchanged in UTF-8. It has to contain its line ends:
    /// `"HTTP/1.1 200 OK\r\n\r\n"`.
    public struct RawStep: Sendable {
        let chunks: [Chunk]
        let ending: EncodedResponse.Ending?

        private init(chunks: [Chunk] = [], ending: EncodedResponse.Ending? = nil) {
            self.chunks = chunks
            self.ending = ending
        }

        /// Sends bytes.
        ///
        /// - Parameter data: The bytes.
        /// - Returns: The step.
        public static func bytes(_ data: Data) -> RawStep {
            RawStep(chunks: [Chunk(data)])
        }

        /// Sends a text in UTF-8, unchanged.
        ///
        /// - Parameter text: The text.
        /// - Returns: The step.
        public static func text(_ text: String) -> RawStep {
            .bytes(Data(text.utf8))
        }

        /// Sends bytes in small parts, each in its own packet.
        ///
        /// - Parameters:
        ///   - data: The bytes.
        ///   - count: The number of bytes in each part.
        ///   - delay: The time to wait before each part.
        /// - Returns: The step.
        /// - Precondition: `count` is greater than zero.
        public static func drip(_ data: Data, by count: Int = 1, every delay: Duration = .zero) -> RawStep {
            precondition(count > 0, "count must be greater than zero (is \(count))")
            let starts = stride(from: data.startIndex, to: data.endIndex, by: count)
            return RawStep(chunks: starts.map { Chunk(data[$0...].prefix(count), delay: delay) })
        }

        /// Sends a text in small parts, each in its own packet.
        ///
        /// - Parameters:
        ///   - text: The text, sent in UTF-8.
        ///   - count: The number of bytes in each part.
        ///   - delay: The time to wait before each part.
        /// - Returns: The step.
        /// - Precondition: `count` is greater than zero.
        public static func drip(_ text: String, by count: Int = 1, every delay: Duration = .zero) -> RawStep {
            drip(Data(text.utf8), by: count, every: delay)
        }

        /// Waits for a duration.
        ///
        /// - Parameter duration: The duration.
        /// - Returns: The step.
        public static func delay(_ duration: Duration) -> RawStep {
            RawStep(chunks: [Chunk(Data(), delay: duration)])
        }

        /// Waits until a gate is open.
        ///
        /// - Parameter gate: The gate.
        /// - Returns: The step.
        public static func gate(_ gate: Gate) -> RawStep {
            RawStep(chunks: [Chunk(Data(), gate: gate)])
        }

        /// Ends the response and closes the connection.
        ///
        /// This is the default ending.
        public static let close = RawStep(ending: .close)

        /// Ends the response with a reset of the connection.
        public static let reset = RawStep(ending: .reset)

        /// Sends nothing more and keeps the connection open until the client disconnects or the server stops.
        public static let stall = RawStep(ending: .stall)

        /// Closes only the server's side, and waits until the client disconnects or the server stops.
        public static let halfClose = RawStep(ending: .halfClose)

        /// Ends the response and takes the next request of the connection.
        public static let keepAlive = RawStep(ending: .next)
    }
}

extension TestResponse.RawStep: ExpressibleByStringInterpolation {
    /// Creates a step that sends a text in UTF-8, unchanged.
    ///
    /// - Parameter value: The text.
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}
#endif
