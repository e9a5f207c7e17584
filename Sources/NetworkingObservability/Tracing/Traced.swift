import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Gives each exchange the fields `traceparent` and `tracestate`, so that servers can tell what belongs together.
    ///
    /// All exchanges of a call are one trace: attempts, redirects, and what is sent again with renewed credentials.
    /// Each is a step of its own, with its own parent id. It belongs outside of all that sends more than once, and of
    /// `cached` and `deduplicated`; outside of `logged` too, whose lines then have the trace's id as `trace-id`.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().logged().traced()
    ///
    /// let response = try await network.data(request)
    /// print(response.sentRequest.traceID ?? "none")
    /// ```
    ///
    /// Where a call's trace comes from, first of all:
    /// 1. The request's own `traceparent` (``HTTPRequestData/traceContext``), if it is valid. Its parent id is that of
    ///    every exchange too: whoever wrote it names a step that a backend knows, and any other would be one that
    ///    nobody reports.
    /// 2. ``NetworkEnvironment/traceContext``, for a server that handles a request.
    /// 3. A new trace with a random id, from ``NetworkEnvironment/secureRandom``.
    ///
    /// A `tracestate` is passed on with its trace, and dropped when it is not valid or its `traceparent` is not. A
    /// `baggage` field is passed on like any other. Of an exchange that several requests share, it is the trace of one
    /// that waits for it. What is done in the background has a trace of its own. Where `telemetry` stands further out,
    /// that one's spans are the trace, and this does nothing.
    ///
    /// - Parameter ratio: How many of the traces that begin here are marked as ones to record, from 0 for none to 1 for
    ///   all; ``HTTPRequestData/isTraceSampled`` decides for one request. Those passed on stay as they are marked.
    /// - Returns: A component that traces its requests. It throws what upstream does.
    /// - Precondition: `ratio` is from 0 to 1.
    public func traced(sampling ratio: Double = 1) -> some NetworkingComponent {
        precondition((0...1).contains(ratio), "ratio must be from 0 to 1 (is \(ratio))")
        return modified(Traced(ratio: ratio))
    }
}

struct Traced: NetworkingModifier, CustomStringConvertible {
    let ratio: Double

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // One further out has begun the trace.
        guard !request.isTraced else { return try await upstream.send(request) }
        var traced = request
        traced.trace(sampling: ratio)
        return try await upstream.send(traced)
    }

    var roles: Set<StackRole> { [.tracing] }
    var requestOptions: Set<RequestOptionKey> { [.isTraceSampled] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        guard stack.isInside(.retry) else { return [] }
        return [StackDiagnostic("\(self) is inside retry, so each attempt is a trace of its own.", about: self)]
    }

    var description: String {
        ratio == 1 ? "traced" : "traced(sampling: \(ratio))"
    }
}

extension HTTPRequestData {
    /// Whether something in the stack gives its exchanges their trace.
    package var isTraced: Bool {
        trace != nil
    }

    /// Notes that something gives its exchanges their trace, so that what stands further in need not.
    ///
    /// - Parameters:
    ///   - id: The trace's id, for log lines; nil where it is not known.
    ///   - ratio: Which part of the traces that begin is sampled.
    package mutating func markAsTraced(_ id: TraceParent.TraceID?, sampling ratio: Double = 1) {
        mark(asTracedBy: TraceMark(traceID: id, ratio: ratio))
    }

    /// Has a listener give its exchanges their trace.
    fileprivate mutating func trace(sampling ratio: Double) {
        trace(by: ExchangeTrace(for: self, sampling: ratio), sampling: ratio)
    }

    fileprivate mutating func trace(by trace: ExchangeTrace, sampling ratio: Double) {
        // They would be part of what a cache looks at.
        traceContext = nil
        markAsTraced(trace.context.parent.traceID, sampling: ratio)
        addObserver(trace)
    }
}

private struct TraceMark: RequestTrace {
    let traceID: TraceParent.TraceID?
    /// Which part of the traces that begin is sampled.
    let ratio: Double

    var id: (any CustomStringConvertible & Sendable)? {
        traceID
    }

    func traceAnew(_ request: inout HTTPRequestData) {
        request.trace(by: ExchangeTrace(anew: request, sampling: ratio), sampling: ratio)
    }
}

/// The trace of one call, which gives each exchange its fields.
package struct ExchangeTrace: NetworkEventObserver {
    /// The trace; the parent id in it is that of every exchange only where it is fixed.
    package let context: TraceContext
    private let isFixed: Bool
    private let random: SecureRandomSource

    private init(_ context: TraceContext, isFixed: Bool, _ random: SecureRandomSource) {
        self.context = context
        self.isFixed = isFixed
        self.random = random
    }

    /// Takes the trace of a request, else of the environment, or begins one.
    package init(for request: HTTPRequestData, sampling ratio: Double = 1) {
        let environment = NetworkEnvironment.current
        if let context = request.traceContext {
            self.init(context, isFixed: true, environment.secureRandom)
        } else if let context = environment.traceContext {
            self.init(context, isFixed: false, environment.secureRandom)
        } else {
            self.init(anew: request, sampling: ratio)
        }
    }

    /// Begins a trace.
    fileprivate init(anew request: HTTPRequestData, sampling ratio: Double) {
        let random = NetworkEnvironment.current.secureRandom
        let id = TraceParent.TraceID.random(random)
        let isSampled = request.isTraceSampled ?? id.isWithin(ratio)
        let flags: TraceParent.Flags = isSampled ? [.sampled, .randomTraceID] : .randomTraceID
        let parent = TraceParent(traceID: id, parentID: .random(random), flags: flags)
        self.init(TraceContext(parent: parent), isFixed: false, random)
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
    /// Whether it is among so many of all ids, by its random part: others who sample by it choose the same.
    fileprivate func isWithin(_ ratio: Double) -> Bool {
        Double(low & 0xff_ffff_ffff_ffff) < ratio * 0x1p56
    }
}
