import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Adds the fields `traceparent` and `tracestate` to each exchange, so that servers can correlate the exchanges of
    /// a call.
    ///
    /// All exchanges of a call belong to one trace: attempts, redirects, and requests that are sent again with renewed
    /// credentials. Each exchange is a separate step with its own parent id. Place it outside all components that send
    /// a request more than once, and outside `cached` and `deduplicated`. Place it outside `logged` too, so that log
    /// lines have the trace's id as `trace-id`.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().logged().traced()
    ///
    /// let response = try await network.data(request)
    /// print(response.sentRequest.traceID ?? "none")
    /// ```
    ///
    /// The trace of a call is the first of these:
    /// 1. The request's own `traceparent` (``HTTPRequestData/traceContext``), if it is valid. Every exchange then has
    ///    the same parent id, because a backend knows that step. A new id would name a step that no system reports.
    /// 2. ``NetworkEnvironment/traceContext``, for a server that handles a request.
    /// 3. A new trace with a random id, from ``NetworkEnvironment/secureRandom``.
    ///
    /// A `tracestate` is propagated with its trace, and dropped if it or its `traceparent` is invalid. A `baggage`
    /// field is propagated like any other field. If several requests share an exchange, it has the trace of one of
    /// them. Background work has its own trace. If `telemetry` is outside this component, its spans form the trace, and
    /// this component does nothing.
    ///
    /// - Parameter ratio: The share of new traces that are marked for recording, from 0 for none to 1 for all;
    ///   ``HTTPRequestData/isTraceSampled`` decides for one request. Propagated traces keep their mark.
    /// - Returns: A component that traces its requests. It throws the errors of its upstream.
    /// - Precondition: `ratio` is from 0 to 1.
    public func traced(sampling ratio: Double = 1) -> some NetworkingComponent {
        precondition((0...1).contains(ratio), "ratio must be from 0 to 1 (is \(ratio))")
        return modified(Traced(ratio: ratio))
    }
}

struct Traced: UpstreamLimited, CustomStringConvertible {
    let ratio: Double

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // An outer component has already started the trace.
        guard !request.isTraced else { return try await upstream.send(request) }
        var traced = request
        traced.trace(sampling: ratio)
        return try await upstream.send(traced)
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.tracing],
            options: [.isTraceSampled],
            rules: [.notInside(.retry, "is inside retry, so each attempt starts its own trace.")]
        )
    }

    var description: String {
        ratio == 1 ? "traced" : "traced(sampling: \(ratio))"
    }
}

extension HTTPRequestData {
    /// Whether a component of the stack gives the request's exchanges their trace.
    package var isTraced: Bool {
        trace != nil
    }

    /// Records that a component gives the exchanges their trace, so that inner components do not.
    ///
    /// - Parameters:
    ///   - id: The trace's id, for log lines; `nil` if it is unknown.
    ///   - ratio: The share of new traces that are sampled.
    package mutating func markAsTraced(_ id: TraceParent.TraceID?, sampling ratio: Double = 1) {
        mark(asTracedBy: TraceMark(traceID: id, ratio: ratio))
    }

    /// Adds a listener that gives the exchanges their trace.
    fileprivate mutating func trace(sampling ratio: Double) {
        trace(by: ExchangeTrace(for: self, sampling: ratio), sampling: ratio)
    }

    fileprivate mutating func trace(by trace: ExchangeTrace, sampling ratio: Double) {
        // A cache would treat the fields as part of the request.
        traceContext = nil
        markAsTraced(trace.context.parent.traceID, sampling: ratio)
        addObserver(trace)
    }
}

private struct TraceMark: RequestTrace {
    let traceID: TraceParent.TraceID?
    /// The share of new traces that are sampled.
    let ratio: Double

    var id: (any CustomStringConvertible & Sendable)? {
        traceID
    }

    func startNewTrace(_ request: inout HTTPRequestData) {
        request.trace(by: ExchangeTrace(startingFor: request, sampling: ratio), sampling: ratio)
    }
}

/// The trace of one call, which provides the fields for each exchange.
package struct ExchangeTrace: NetworkEventObserver {
    /// The trace; its parent id applies to every exchange only if it is fixed.
    package let context: TraceContext
    private let isFixed: Bool
    private let random: SecureRandomSource

    private init(_ context: TraceContext, isFixed: Bool, _ random: SecureRandomSource) {
        self.context = context
        self.isFixed = isFixed
        self.random = random
    }

    /// Uses the trace of a request or else of the environment, or starts a new one.
    package init(for request: HTTPRequestData, sampling ratio: Double = 1) {
        let environment = NetworkEnvironment.current
        if let context = request.traceContext {
            self.init(context, isFixed: true, environment.secureRandom)
        } else if let context = environment.traceContext {
            self.init(context, isFixed: false, environment.secureRandom)
        } else {
            self.init(startingFor: request, sampling: ratio)
        }
    }

    /// Starts a new trace.
    fileprivate init(startingFor request: HTTPRequestData, sampling ratio: Double) {
        let random = NetworkEnvironment.current.secureRandom
        let id = TraceParent.TraceID.random(random)
        let isSampled = request.isTraceSampled ?? id.isWithin(ratio)
        let flags: TraceParent.Flags = isSampled ? [.sampled, .randomTraceID] : .randomTraceID
        let parent = TraceParent(traceID: id, parentID: .random(random), flags: flags)
        self.init(TraceContext(parent: parent), isFixed: false, random)
    }

    package var observesEvents: Bool {
        false
    }

    package func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}

    package func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        var context = context
        if !isFixed {
            context.parent.parentID = .random(random)
        }
        return context.headerFields
    }
}

extension TraceParent.TraceID {
    /// Whether the id is within a share of all ids, by its random part; other systems that sample by it decide the
    /// same.
    fileprivate func isWithin(_ ratio: Double) -> Bool {
        Double(low & 0xff_ffff_ffff_ffff) < ratio * 0x1p56
    }
}
