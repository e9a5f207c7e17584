public import HTTPTypes
public import Networking

/// Something that goes wrong with a request, and how often.
///
/// ```swift
/// Fault.error(.connectionLost, rate: 0.05)
/// Fault.latency(.milliseconds(200), jitter: .milliseconds(100), rate: 0.5)
/// Fault.truncated(after: 512, rate: 0.01)
/// ```
///
/// A ``FaultInjector`` injects them. Rates are fractions from 0 to 1 of the requests that pass it.
public struct Fault: Sendable {
    /// How often it happens: in which fraction of the requests.
    public let rate: Double
    let kind: Kind

    enum Kind: Sendable {
        case error(NetworkingError.Kind, afterSending: Bool)
        case failure(any Error, afterSending: Bool)
        case status(HTTPResponse)
        case latency(Duration, jitter: Duration)
        case corrupted(bytes: Int)
        case truncated(after: Int, NetworkingError.Kind?)
        case stalled(after: Int)
        case sliced(into: Int, every: Duration)
    }

    private init(_ kind: Kind, rate: Double) {
        precondition(rate >= 0 && rate <= 1, "rate must be from 0 to 1 (is \(rate)): it is a fraction of the requests")
        self.kind = kind
        self.rate = rate
    }

    // MARK: Instead of the exchange

    /// The request fails, as with a transport that could not make the exchange or lost it.
    ///
    /// - Parameters:
    ///   - kind: What kind of failure it is: a ``Networking/NetworkingError`` of that kind is thrown.
    ///   - afterSending: Whether the server has got the request, and only its answer is lost. A sink has the body by
    ///     then.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `rate` is from 0 to 1.
    public static func error(
        _ kind: NetworkingError.Kind,
        afterSending: Bool = false,
        rate: Double = 1
    ) -> Fault {
        Fault(.error(kind, afterSending: afterSending), rate: rate)
    }

    /// The request fails with an error that is not of the library's making.
    ///
    /// - Parameters:
    ///   - error: What is thrown, as it is.
    ///   - afterSending: Whether the server has got the request, and only its answer is lost.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `rate` is from 0 to 1.
    public static func failure(_ error: any Error, afterSending: Bool = false, rate: Double = 1) -> Fault {
        Fault(.failure(error, afterSending: afterSending), rate: rate)
    }

    /// The request is answered with a status, and not sent.
    ///
    /// A redirect is followed where `redirected` stands further out, and else is the answer.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields, such as `Retry-After`.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `rate` is from 0 to 1.
    public static func status(
        _ status: HTTPResponse.Status,
        headerFields: HTTPFields = [:],
        rate: Double = 1
    ) -> Fault {
        Fault(.status(HTTPResponse(status: status, headerFields: headerFields)), rate: rate)
    }

    // MARK: Before the exchange

    /// The request waits before it is sent, on the environment's clock.
    ///
    /// - Parameters:
    ///   - duration: How long.
    ///   - jitter: How much shorter or longer it may be.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `duration` is not negative, `jitter` is not either and not more than `duration`, and `rate` is
    ///   from 0 to 1.
    public static func latency(_ duration: Duration, jitter: Duration = .zero, rate: Double = 1) -> Fault {
        precondition(duration >= .zero, "duration must not be negative (is \(duration))")
        precondition(
            jitter >= .zero && jitter <= duration,
            "jitter must be from zero to the latency, \(duration) (is \(jitter))"
        )
        return Fault(.latency(duration, jitter: jitter), rate: rate)
    }

    // MARK: In the body of the response

    /// Bytes of the body are changed on the way: one bit in each of so many.
    ///
    /// They are spread over the length of the body; over its first KiB where a sink takes a body of unknown length.
    ///
    /// - Parameters:
    ///   - bytes: How many bytes; all of a body that has no more.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `bytes` is greater than zero, and `rate` is from 0 to 1.
    public static func corrupted(bytes: Int, rate: Double = 1) -> Fault {
        precondition(bytes > 0, "bytes must be greater than zero (is \(bytes))")
        return Fault(.corrupted(bytes: bytes), rate: rate)
    }

    /// The body ends early, and the exchange fails with that.
    ///
    /// A body that is no longer arrives in full.
    ///
    /// - Parameters:
    ///   - count: How many bytes of it arrive.
    ///   - kind: What kind of failure it is: ``Networking/NetworkingError/Kind/truncated`` when the server ended the
    ///     body, ``Networking/NetworkingError/Kind/connectionLost`` when the connection broke.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `count` is not negative, and `rate` is from 0 to 1.
    public static func truncated(
        after count: Int,
        as kind: NetworkingError.Kind = .truncated,
        rate: Double = 1
    ) -> Fault {
        precondition(count >= 0, "count must not be negative (is \(count))")
        return Fault(.truncated(after: count, kind), rate: rate)
    }

    /// The body ends early and nobody says so, as with a server that does not announce its length.
    ///
    /// A body that is no longer arrives in full.
    ///
    /// - Parameters:
    ///   - count: How many bytes of it arrive.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `count` is not negative, and `rate` is from 0 to 1.
    public static func cut(after count: Int, rate: Double = 1) -> Fault {
        precondition(count >= 0, "count must not be negative (is \(count))")
        return Fault(.truncated(after: count, nil), rate: rate)
    }

    /// Nothing more comes of the body, until a timeout or the caller ends the exchange.
    ///
    /// A body that is no longer arrives in full.
    ///
    /// - Parameters:
    ///   - count: How many bytes of it arrive.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `count` is not negative, and `rate` is from 0 to 1.
    public static func stalled(after count: Int, rate: Double = 1) -> Fault {
        precondition(count >= 0, "count must not be negative (is \(count))")
        return Fault(.stalled(after: count), rate: rate)
    }

    /// The body arrives in small pieces, with a wait on the environment's clock before each but the first.
    ///
    /// - Parameters:
    ///   - size: How long a piece is at most, in bytes.
    ///   - pause: How long it takes until the next one.
    ///   - rate: How often, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `size` is greater than zero, `pause` is not negative, and `rate` is from 0 to 1.
    public static func sliced(into size: Int, every pause: Duration, rate: Double = 1) -> Fault {
        precondition(size > 0, "size must be greater than zero (is \(size))")
        precondition(pause >= .zero, "pause must not be negative (is \(pause))")
        return Fault(.sliced(into: size, every: pause), rate: rate)
    }
}

extension Fault: CustomStringConvertible {
    /// What it does, as one would write it: `truncated(after: 512, rate: 0.01)`.
    public var description: String {
        let arguments = kind.arguments + (rate < 1 ? ["rate: \(rate)"] : [])
        return "\(kind.name)(\(arguments.joined(separator: ", ")))"
    }
}

extension Fault.Kind {
    fileprivate var name: String {
        switch self {
        case .error: "error"
        case .failure: "failure"
        case .status: "status"
        case .latency: "latency"
        case .corrupted: "corrupted"
        case .truncated(after: _, let kind): kind == nil ? "cut" : "truncated"
        case .stalled: "stalled"
        case .sliced: "sliced"
        }
    }

    fileprivate var arguments: [String] {
        switch self {
        case .error(let kind, let afterSending): [".\(kind)"] + (afterSending ? ["afterSending: true"] : [])
        case .failure(let error, let afterSending):
            // Its text may hold a secret.
            ["\(type(of: error))"] + (afterSending ? ["afterSending: true"] : [])
        case .status(let head): ["\(head.status.code)"]
        case .latency(let duration, let jitter): ["\(duration)"] + (jitter > .zero ? ["jitter: \(jitter)"] : [])
        case .corrupted(let bytes): ["bytes: \(bytes)"]
        case .truncated(after: let count, let kind):
            ["after: \(count)"] + (kind.map { $0 == .truncated ? [] : ["as: .\($0)"] } ?? [])
        case .stalled(after: let count): ["after: \(count)"]
        case .sliced(into: let size, every: let pause): ["into: \(size)", "every: \(pause)"]
        }
    }
}
