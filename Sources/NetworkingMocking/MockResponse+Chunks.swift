public import FoundationForNetworking
public import HTTPTypes
import NetworkingCore

extension MockResponse {
    /// A chunk of a body, or an event between two chunks.
    ///
    /// A string literal is a chunk of text.
    public struct Chunk: Sendable, ExpressibleByStringLiteral {
        enum Kind: Sendable {
            case data(Data)
            case sleep(Duration)
            case gate(MockGate)
            case hang
            case failure(any Error)
            /// Reports progress for a step without bytes.
            case step
        }

        let kind: Kind

        init(_ kind: Kind) {
            self.kind = kind
        }

        /// Creates a chunk of text.
        public init(stringLiteral value: String) {
            self = .text(value)
        }

        /// Bytes, which a sink receives as one chunk.
        ///
        /// - Parameter data: The bytes.
        /// - Returns: The chunk.
        public static func data(_ data: Data) -> Chunk {
            Chunk(.data(data))
        }

        /// Text, which a sink receives as one chunk.
        ///
        /// - Parameter text: The text.
        /// - Returns: The chunk.
        public static func text(_ text: String) -> Chunk {
            .data(Data(text.utf8))
        }

        /// A pause, on the environment's clock.
        ///
        /// - Parameter duration: The length of the pause.
        /// - Returns: The chunk.
        /// - Precondition: `duration` is not negative.
        public static func wait(_ duration: Duration) -> Chunk {
            precondition(duration >= .zero, "duration must not be negative (is \(duration))")
            return Chunk(.sleep(duration))
        }

        /// A pause until a gate is open.
        ///
        /// - Parameter gate: The gate.
        /// - Returns: The chunk.
        public static func wait(for gate: MockGate) -> Chunk {
            Chunk(.gate(gate))
        }

        /// A pause that lasts until the caller is cancelled or a timeout occurs.
        public static let hang = Chunk(.hang)

        /// An error that ends the exchange.
        ///
        /// - Parameter error: The error that the transport throws.
        /// - Returns: The chunk.
        public static func failure(_ error: any Error) -> Chunk {
            Chunk(.failure(error))
        }
    }

    /// Creates a response with a body that arrives in given chunks.
    ///
    /// ```swift
    /// MockResponse.chunks(["begin", .wait(.seconds(1)), .wait(for: gate), "more", .failure(connectionLost)])
    /// ```
    ///
    /// The head arrives first. The length of the body is known in advance if the header fields contain
    /// `Content-Length`; a shorter body then fails like a real one, with ``NetworkingError/Kind/truncated``.
    ///
    /// - Parameters:
    ///   - chunks: The chunks, in order.
    ///   - status: The status.
    ///   - headerFields: The header fields.
    /// - Returns: The response.
    public static func chunks(
        _ chunks: [Chunk],
        status: HTTPResponse.Status = .ok,
        headerFields: HTTPFields = [:]
    ) -> MockResponse {
        MockResponse(outcome: .response(HTTPResponse(status: status, headerFields: headerFields), .chunks(chunks)))
    }

    /// Creates a response with server-sent events in given chunks.
    ///
    /// - Parameter chunks: The chunks, in order; an event ends with an empty line: `"data: 1\n\n"`.
    /// - Returns: A response of the type `text/event-stream`.
    public static func events(_ chunks: Chunk...) -> MockResponse {
        .chunks(chunks, headerFields: [.contentType: "text/event-stream; charset=utf-8"])
    }

    /// Returns this response with its body in a number of equal steps, each with a progress report.
    ///
    /// The head arrives immediately, and an interval precedes each step, so the body takes `steps` intervals in total.
    /// A body that consists of chunks keeps them, with the interval before each chunk.
    ///
    /// - Parameters:
    ///   - steps: The number of steps.
    ///   - interval: The duration of each step, on the environment's clock; nil for no delay.
    /// - Returns: The response.
    /// - Precondition: `steps` is greater than zero, and `interval` is not negative.
    public func inSteps(_ steps: Int, every interval: Duration? = nil) -> MockResponse {
        precondition(steps > 0, "steps must be greater than zero (is \(steps))")
        precondition(interval ?? .zero >= .zero, "interval must not be negative (is \(interval ?? .zero))")
        var response = self
        response.steps = steps
        response.interval = interval
        return response
    }

    /// Returns this response with a failure in the middle of its body.
    ///
    /// The request's sink receives the head and the bytes before the failure, and is notified of the error. For a
    /// failure before the head, use ``failure(_:)-(Error)``.
    ///
    /// - Parameters:
    ///   - error: The error that the transport throws.
    ///   - bytes: The number of body bytes before the failure; zero to fail right after the head. A shorter body fails
    ///     at its end.
    /// - Returns: The response.
    /// - Precondition: `bytes` is not negative.
    public func failing(with error: any Error, afterBytes bytes: Int) -> MockResponse {
        precondition(bytes >= 0, "bytes must not be negative (is \(bytes))")
        var response = self
        response.interruption = Interruption(error: error, place: .bytes(bytes))
        return response
    }

    /// Returns this response with a failure after some steps of its body.
    ///
    /// - Parameters:
    ///   - error: The error that the transport throws.
    ///   - steps: The number of steps or chunks with bytes before the failure; zero to fail right after the head. A
    ///     body with fewer steps fails at its end.
    /// - Returns: The response.
    /// - Precondition: `steps` is not negative.
    public func failing(with error: any Error, afterSteps steps: Int) -> MockResponse {
        precondition(steps >= 0, "steps must not be negative (is \(steps))")
        var response = self
        response.interruption = Interruption(error: error, place: .steps(steps))
        return response
    }

    /// This response, with the steps and interruption of the held response that it replaces, unless it has its own.
    func replacing(_ other: MockResponse) -> MockResponse {
        var response = self
        if steps == 1 && interval == nil { (response.steps, response.interval) = (other.steps, other.interval) }
        response.interruption = interruption ?? other.interruption
        return response
    }

    /// Whether the body arrives at once and without interruption.
    var isWhole: Bool {
        steps == 1 && interval == nil && interruption == nil
    }

    /// Splits a complete body into chunks.
    func chunks(of body: Data) -> [Chunk] {
        let bounds = (0...steps).map { body.count * $0 / steps }
        return zip(bounds, bounds.dropFirst())
            .map { start, end in
                start == end ? Chunk(.step) : .data(Data(body.dropFirst(start).prefix(end - start)))
            }
    }

    /// Returns the chunks with the intervals between them, up to the interruption.
    func scheduled(_ chunks: [Chunk]) -> [Chunk] {
        let failure = interruption.map { Chunk.failure($0.error) }
        var rest = interruption?.place
        var schedule: [Chunk] = []
        for chunk in chunks {
            guard let count = chunk.byteCount else {
                schedule.append(chunk)
                continue
            }
            if let failure, rest?.isReached == true { return schedule + [failure] }
            if let interval { schedule.append(.wait(interval)) }
            if let failure, case .bytes(let limit) = rest, case .data(let data) = chunk.kind, limit <= count {
                return schedule + [.data(Data(data.prefix(limit))), failure]
            }
            schedule.append(chunk)
            rest?.pass(count)
        }
        return schedule + (failure.map { [$0] } ?? [])
    }
}

extension MockResponse.Chunk: CustomStringConvertible, CustomReflectable {
    /// A summary without the bytes, such as `3 bytes` or `wait 2.0 seconds`.
    public var description: String {
        switch kind {
        case .data(let data): "\(data.count) bytes"
        case .step: "0 bytes"
        case .sleep(let duration): "wait \(duration)"
        case .gate: "wait for a gate"
        case .hang: "hang"
        case .failure(let error): "a failure of type \(type(of: error))"
        }
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["chunk": description])
    }
}

extension MockResponse.Chunk {
    /// The number of bytes in the chunk; nil if it is not part of the body.
    fileprivate var byteCount: Int? {
        switch kind {
        case .data(let data): data.count
        case .step: 0
        case .sleep, .gate, .hang, .failure: nil
        }
    }
}

extension MockResponse.Interruption.Place {
    fileprivate var isReached: Bool {
        switch self {
        case .bytes(let count), .steps(let count): count == 0
        }
    }

    fileprivate mutating func pass(_ bytes: Int) {
        switch self {
        case .bytes(let count): self = .bytes(count - bytes)
        case .steps(let count): self = .steps(count - 1)
        }
    }
}
