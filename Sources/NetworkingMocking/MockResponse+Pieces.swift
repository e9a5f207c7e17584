public import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension MockResponse {
    /// A piece of a body, or what happens between two.
    ///
    /// A string literal is a piece of text.
    public struct Piece: Sendable, ExpressibleByStringLiteral {
        enum Kind: Sendable {
            case data(Data)
            case sleep(Duration)
            case gate(MockGate)
            case hang
            case failure(any Error)
            /// Tells the progress where a step brought no bytes.
            case step
        }

        let kind: Kind

        init(_ kind: Kind) {
            self.kind = kind
        }

        /// Creates a piece of text.
        public init(stringLiteral value: String) {
            self = .text(value)
        }

        /// Bytes, which reach a sink as one chunk.
        ///
        /// - Parameter data: The bytes.
        /// - Returns: The piece.
        public static func data(_ data: Data) -> Piece {
            Piece(.data(data))
        }

        /// Text, which reaches a sink as one chunk.
        ///
        /// - Parameter text: The text.
        /// - Returns: The piece.
        public static func text(_ text: String) -> Piece {
            .data(Data(text.utf8))
        }

        /// Nothing, for a while on the environment's clock.
        ///
        /// - Parameter duration: How long.
        /// - Returns: The piece.
        /// - Precondition: It is not negative.
        public static func wait(_ duration: Duration) -> Piece {
            precondition(duration >= .zero, "duration must not be negative (is \(duration))")
            return Piece(.sleep(duration))
        }

        /// Nothing, until a gate is open.
        ///
        /// - Parameter gate: The gate.
        /// - Returns: The piece.
        public static func wait(for gate: MockGate) -> Piece {
            Piece(.gate(gate))
        }

        /// Nothing any more: it waits until its caller is cancelled or a timeout ends it.
        public static let hang = Piece(.hang)

        /// An error, which ends the exchange.
        ///
        /// - Parameter error: What the transport throws.
        /// - Returns: The piece.
        public static func failure(_ error: any Error) -> Piece {
            Piece(.failure(error))
        }
    }

    /// A response whose body comes in pieces of your choice.
    ///
    /// ```swift
    /// .pieces(["begin", .wait(.seconds(1)), .wait(for: gate), "more", .failure(connectionLost)])
    /// ```
    ///
    /// The head comes first. The length of the body is known in advance if a `Content-Length` is among the header
    /// fields; a body that turns out shorter then fails as a real one does, with ``NetworkingError/Kind/truncated``.
    ///
    /// - Parameters:
    ///   - pieces: The pieces, in order.
    ///   - status: The status.
    ///   - headerFields: The header fields.
    /// - Returns: The response.
    public static func pieces(
        _ pieces: [Piece],
        status: HTTPResponse.Status = .ok,
        headerFields: HTTPFields = [:]
    ) -> MockResponse {
        MockResponse(outcome: .response(HTTPResponse(status: status, headerFields: headerFields), .pieces(pieces)))
    }

    /// A response of server-sent events in pieces of your choice.
    ///
    /// - Parameter pieces: The pieces, in order; an event ends with an empty line: `"data: 1\n\n"`.
    /// - Returns: A response of the type `text/event-stream`.
    public static func events(_ pieces: Piece...) -> MockResponse {
        .pieces(pieces, headerFields: [.contentType: "text/event-stream; charset=utf-8"])
    }

    /// Brings the body in a number of equal steps, and tells the progress of each.
    ///
    /// The head comes at once, and an interval before each step, so that the body takes `steps` of them in all. A body
    /// that was given in pieces stays in those, with the interval before each of them.
    ///
    /// - Parameters:
    ///   - steps: How many.
    ///   - interval: How long each takes, on the environment's clock; nil for no time.
    /// - Returns: The answer.
    /// - Precondition: `steps` is greater than zero, and `interval` not negative.
    public func inSteps(_ steps: Int, every interval: Duration? = nil) -> MockResponse {
        precondition(steps > 0, "steps must be greater than zero (is \(steps))")
        precondition(interval ?? .zero >= .zero, "interval must not be negative (is \(interval ?? .zero))")
        var response = self
        response.steps = steps
        response.interval = interval
        return response
    }

    /// Fails in the middle of the body.
    ///
    /// The head and what comes before the failure reach the request's sink, which hears of the error. An answer that
    /// fails before its head is ``failure(_:)-(Error)``.
    ///
    /// - Parameters:
    ///   - error: What the transport throws.
    ///   - bytes: After how many bytes of the body; zero for right after the head. A body that is shorter fails at its
    ///     end.
    /// - Returns: The answer.
    /// - Precondition: `bytes` is not negative.
    public func failing(with error: any Error, afterBytes bytes: Int) -> MockResponse {
        precondition(bytes >= 0, "bytes must not be negative (is \(bytes))")
        var response = self
        response.interruption = Interruption(error: error, place: .bytes(bytes))
        return response
    }

    /// Fails in the middle of the body, after some of its steps.
    ///
    /// - Parameters:
    ///   - error: What the transport throws.
    ///   - steps: After how many of its steps or pieces of bytes; zero for right after the head. A body that has fewer
    ///     fails at its end.
    /// - Returns: The answer.
    /// - Precondition: `steps` is not negative.
    public func failing(with error: any Error, afterSteps steps: Int) -> MockResponse {
        precondition(steps >= 0, "steps must not be negative (is \(steps))")
        var response = self
        response.interruption = Interruption(error: error, place: .steps(steps))
        return response
    }

    /// This answer, with the steps and the interruption of one that held its place, where it has none itself.
    func replacing(_ other: MockResponse) -> MockResponse {
        var response = self
        if steps == 1 && interval == nil { (response.steps, response.interval) = (other.steps, other.interval) }
        response.interruption = interruption ?? other.interruption
        return response
    }

    /// Whether the body comes as one and nothing happens meanwhile.
    var isWhole: Bool {
        steps == 1 && interval == nil && interruption == nil
    }

    /// The pieces of a body that was given as one.
    func pieces(of body: Data) -> [Piece] {
        let bounds = (0...steps).map { body.count * $0 / steps }
        return zip(bounds, bounds.dropFirst())
            .map { start, end in
                start == end ? Piece(.step) : .data(Data(body.dropFirst(start).prefix(end - start)))
            }
    }

    /// Pieces with the intervals between them, as far as the interruption.
    func scheduled(_ pieces: [Piece]) -> [Piece] {
        let failure = interruption.map { Piece.failure($0.error) }
        var rest = interruption?.place
        var schedule: [Piece] = []
        for piece in pieces {
            guard let count = piece.byteCount else {
                schedule.append(piece)
                continue
            }
            if let failure, rest?.isReached == true { return schedule + [failure] }
            if let interval { schedule.append(.wait(interval)) }
            if let failure, case .bytes(let limit) = rest, case .data(let data) = piece.kind, limit <= count {
                return schedule + [.data(Data(data.prefix(limit))), failure]
            }
            schedule.append(piece)
            rest?.pass(count)
        }
        return schedule + (failure.map { [$0] } ?? [])
    }
}

extension MockResponse.Piece: CustomStringConvertible, CustomReflectable {
    /// What it does, without its bytes: `3 bytes`, `wait 2.0 seconds`.
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

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["piece": description])
    }
}

extension MockResponse.Piece {
    /// How many bytes it brings; nil for what is no step of a body.
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
