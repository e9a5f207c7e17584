/// The trace of a request's exchanges, which a modifier that traces sets on the request.
///
/// It keeps other modifiers further in from tracing the request too, names the trace in log lines, and starts another
/// trace for background work. The fields of an exchange come from a listener of the same modifier, in
/// ``NetworkEventObserver/headerFields(forAttempt:)``. `traced` and `telemetry` do both, and so can a tracer of yours:
///
/// ```swift
/// struct VendorTrace: RequestTrace, NetworkEventObserver {
///     let number: UInt64
///
///     var id: (any CustomStringConvertible & Sendable)? { number }
///
///     func startNewTrace(_ request: inout HTTPRequestData) {
///         let trace = VendorTrace(number: .random(in: .min ... .max))
///         request.mark(asTracedBy: trace)
///         request.addObserver(trace)
///     }
///
///     var observesEvents: Bool { false }
///
///     func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}
///
///     func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
///         [.init("X-Trace")!: "\(number)"]
///     }
/// }
/// ```
public protocol RequestTrace: Sendable {
    /// The identifier of the trace, for log lines; `nil` if it is not known.
    var id: (any CustomStringConvertible & Sendable)? { get }

    /// Starts a separate trace for a request that is sent in the background, such as one that refreshes a cache.
    ///
    /// - Parameter request: The request without the listeners of the caller. The function marks it with the new trace,
    ///   and adds the listener of that trace.
    func startNewTrace(_ request: inout HTTPRequestData)
}

extension HTTPRequestData {
    /// The trace of the request's exchanges; `nil` if no modifier further out traces it.
    ///
    /// A modifier that traces sends a request that already has a trace on unchanged.
    public var trace: (any RequestTrace)? {
        passage?.value.trace
    }

    /// Marks the request as traced, so that the modifiers further in do not trace it too.
    ///
    /// The mark belongs to the send: the request of a response does not have it.
    ///
    /// - Parameter trace: The trace.
    public mutating func mark(asTracedBy trace: some RequestTrace) {
        openPassage.trace = trace
    }
}
