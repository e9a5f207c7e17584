public import HTTPTypes
public import NetworkingCore

/// A failure or disturbance of requests, with the rate at which it occurs.
///
/// ```swift
/// Fault.error(.connectionLost, rate: 0.05)
/// Fault.latency(.milliseconds(200), jitter: .milliseconds(100), rate: 0.5)
/// Fault.truncated(after: 512, rate: 0.01)
/// ```
///
/// A ``FaultInjector`` injects the faults. A rate is the affected fraction of the requests, from 0 to 1.
public struct Fault: Sendable {
    /// The fraction of the requests in which the fault occurs.
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

    /// The request fails, as if the transport could not perform the exchange or lost its response.
    ///
    /// - Parameters:
    ///   - kind: The kind of the thrown `NetworkingError`.
    ///   - afterSending: Whether the server receives the request and only its response is lost. A sink then has already
    ///     received the body.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `rate` is from 0 to 1.
    public static func error(
        _ kind: NetworkingError.Kind,
        afterSending: Bool = false,
        rate: Double = 1
    ) -> Fault {
        Fault(.error(kind, afterSending: afterSending), rate: rate)
    }

    /// The request fails with an error from outside of the library.
    ///
    /// - Parameters:
    ///   - error: The error, which is thrown unchanged.
    ///   - afterSending: Whether the server receives the request and only its response is lost.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `rate` is from 0 to 1.
    public static func failure(_ error: any Error, afterSending: Bool = false, rate: Double = 1) -> Fault {
        Fault(.failure(error, afterSending: afterSending), rate: rate)
    }

    /// The request gets a response with a status, and is not sent.
    ///
    /// A redirect is followed if `redirected` is further out in the stack; otherwise it is the response.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields, such as `Retry-After`.
    ///   - rate: The fraction of the requests, from 0 to 1.
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

    /// The request is delayed before it is sent, on the environment's clock.
    ///
    /// - Parameters:
    ///   - duration: The delay.
    ///   - jitter: The maximum random deviation from the delay, in both directions.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `duration` is not negative, `jitter` is from zero to `duration`, and `rate` is from 0 to 1.
    public static func latency(_ duration: Duration, jitter: Duration = .zero, rate: Double = 1) -> Fault {
        precondition(duration >= .zero, "duration must not be negative (is \(duration))")
        precondition(
            jitter >= .zero && jitter <= duration,
            "jitter must be from zero to the latency, \(duration) (is \(jitter))"
        )
        return Fault(.latency(duration, jitter: jitter), rate: rate)
    }

    // MARK: In the body of the response

    /// Some bytes of the body are corrupted in transit: one bit in each of them is flipped.
    ///
    /// The bytes are spread over the length of the body. If a sink receives a body of unknown length, they are in the
    /// first KiB.
    ///
    /// - Parameters:
    ///   - bytes: The number of corrupted bytes; a shorter body is corrupted completely.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `bytes` is greater than zero, and `rate` is from 0 to 1.
    public static func corrupted(bytes: Int, rate: Double = 1) -> Fault {
        precondition(bytes > 0, "bytes must be greater than zero (is \(bytes))")
        return Fault(.corrupted(bytes: bytes), rate: rate)
    }

    /// The body ends early, and the exchange fails.
    ///
    /// A body that is not longer than `count` arrives completely.
    ///
    /// - Parameters:
    ///   - count: The number of bytes that arrive.
    ///   - kind: The kind of the failure: `NetworkingError.Kind.truncated` if the server ended the body,
    ///     `NetworkingError.Kind.connectionLost` if the connection was lost.
    ///   - rate: The fraction of the requests, from 0 to 1.
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

    /// The body ends early without an error, as with a server that does not announce the length.
    ///
    /// A body that is not longer than `count` arrives completely.
    ///
    /// - Parameters:
    ///   - count: The number of bytes that arrive.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `count` is not negative, and `rate` is from 0 to 1.
    public static func cut(after count: Int, rate: Double = 1) -> Fault {
        precondition(count >= 0, "count must not be negative (is \(count))")
        return Fault(.truncated(after: count, nil), rate: rate)
    }

    /// The body stalls until a timeout or the caller ends the exchange.
    ///
    /// A body that is not longer than `count` arrives completely.
    ///
    /// - Parameters:
    ///   - count: The number of bytes that arrive.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `count` is not negative, and `rate` is from 0 to 1.
    public static func stalled(after count: Int, rate: Double = 1) -> Fault {
        precondition(count >= 0, "count must not be negative (is \(count))")
        return Fault(.stalled(after: count), rate: rate)
    }

    /// The body arrives in small chunks, with a pause on the environment's clock before each one except the first.
    ///
    /// - Parameters:
    ///   - size: The maximum size of a chunk, in bytes.
    ///   - pause: The pause between two chunks.
    ///   - rate: The fraction of the requests, from 0 to 1.
    /// - Returns: The fault.
    /// - Precondition: `size` is greater than zero, `pause` is not negative, and `rate` is from 0 to 1.
    public static func sliced(into size: Int, every pause: Duration, rate: Double = 1) -> Fault {
        precondition(size > 0, "size must be greater than zero (is \(size))")
        precondition(pause >= .zero, "pause must not be negative (is \(pause))")
        return Fault(.sliced(into: size, every: pause), rate: rate)
    }
}

extension Fault: CustomStringConvertible {
    /// The fault as in code, such as `truncated(after: 512, rate: 0.01)`.
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
            // The text of the error may contain a secret.
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
