#if Telemetry
import HTTPTypes
import NetworkingResilience
import NetworkingCore
import NetworkingObservability
import Synchronization
import Tracing

/// The spans and metrics of one call.
final class CallTelemetry: NetworkEventObserver {
    /// The span of the call.
    let span: any Span
    let options: TelemetryOptions
    let meters: TelemetryMeters
    let clock: CallClock
    let subject: TelemetrySubject
    private let tracer: any Tracer
    private let propagator: any Instrumentation.Instrument
    /// The context to send if no propagator writes one; `nil` if another modifier traces the request.
    private let trace: ExchangeTrace?
    let state = Mutex(State())

    init(of request: HTTPRequestData, tracer: (any Tracer)?, meters: TelemetryMeters, options: TelemetryOptions) {
        let environment = NetworkEnvironment.current
        self.options = options
        self.meters = meters
        self.tracer = tracer ?? InstrumentationSystem.tracer
        propagator = tracer ?? InstrumentationSystem.instrument
        clock = CallClock(environment.clock)
        subject = TelemetrySubject(request, options)
        trace = request.isTraced ? nil : ExchangeTrace(for: request)
        var context = InstrumentationContext.current ?? .topLevel
        if request.headerFields.contains(.traceParent) {
            propagator.extract(request.headerFields.httpFields, into: &context, using: FieldCarrier())
        } else if InstrumentationContext.current == nil, let outer = environment.traceContext {
            propagator.extract(outer.headerFields, into: &context, using: FieldCarrier())
        }
        span = self.tracer.startSpan(
            "call \(subject.spanName)",
            context: context,
            ofKind: .internal,
            at: clock.moment(after: .zero)
        )
        if span.isRecording {
            var attributes = subject.attributes(of: request, options)
            attributes["networking.request.id"] = "\(request.id)"
            span.attributes = attributes
        }
    }

    /// Prepares a request: this object observes its events and provides the trace fields of its exchanges.
    func take(_ request: inout HTTPRequestData) {
        var fields = HTTPFields()
        propagator.inject(span.context, into: &fields, using: FieldCarrier())
        let context = fields.isEmpty ? trace?.context : TraceContext(headerFields: fields)
        if let context {
            // The sent fields replace the caller's, so a cache need not consider them.
            request.traceContext = nil
            // Background work is not recorded, so its requests must not be sampled either.
            request.markAsTraced(context.parent.traceID, sampling: 0)
        } else if !fields.isEmpty {
            request.markAsTraced(nil, sampling: 0)
        }
        request.addObserver(self)
    }

    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        guard let resends = state.withLock({ $0.beginAttempt() }) else { return [:] }
        let start = clock.elapsed
        let subject = TelemetrySubject(request, options)
        let span = tracer.startSpan(
            subject.spanName,
            context: span.context,
            ofKind: .client,
            at: clock.moment(after: start)
        )
        if span.isRecording {
            span.attributes = attributes(of: request, subject, resends: resends)
        }
        let attempt = AttemptTelemetry(span: span, subject: subject, start: start)
        // If the call has ended meanwhile, nothing else would end the span.
        guard state.withLock({ $0.add(attempt, request.exchangeNumber) }) else {
            finish(attempt, "cancelled", at: start)
            return [:]
        }
        var fields = HTTPFields()
        propagator.inject(span.context, into: &fields, using: FieldCarrier())
        return fields.isEmpty ? trace?.headerFields(forAttempt: request) ?? [:] : fields
    }

    private func attributes(
        of request: HTTPRequestData,
        _ subject: TelemetrySubject,
        resends: Int
    ) -> SpanAttributes {
        var attributes = subject.attributes(of: request, options)
        if resends > 0 {
            attributes["http.request.resend_count"] = resends
        }
        if options.recordsUserAgent {
            attributes["user_agent.original"] = request.headerFields[.userAgent].map { subject.redaction.shown($0) }
        }
        request.headerFields.httpFields
            .capture(options.requestHeaderFields, as: "http.request.header", subject.redaction, into: &attributes)
        return attributes
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        if let event = event as? ExchangeEvent {
            observe(event, ofExchange: request.exchangeNumber)
        } else {
            let record = event.record
            // If a limit of the stack cancelled an exchange, the event follows right after it.
            settle(record.kind == .timeout || record.kind == .deadline ? "timeout" : "cancelled")
            note(event, record, of: request)
        }
    }

    private func observe(_ event: ExchangeEvent, ofExchange number: UInt32) {
        switch event {
        // A transport may report these events late, for the cancelled exchange.
        case .headReceived, .connected, .connectionMeasured: break
        default: settle("cancelled")
        }
        switch event {
        case .started: start(number)
        case .headReceived(let head) where head.status.kind != .informational:
            state.withLock { $0.attempts[number]?.head = head }
        case .connectionMeasured(let connection): state.withLock { $0.attempts[number]?.connection = connection }
        case .ended(let sent, let received): end(number, sent: sent, received: received)
        case .failed(let error): fail(number, error)
        default: break
        }
    }

    /// Ends the call, and its remaining exchanges and waits.
    ///
    /// - Parameters:
    ///   - result: The result of the call.
    ///   - status: The status of the response, or of that which the error is about.
    func end(with result: Result<HTTPResponseData, any Error>, status: Int?) {
        settle("cancelled")
        let type: String? =
            switch result {
            case .success(let response): subject.errorType(of: response.status.code)
            case .failure(let error): error.telemetryType
            }
        let (attempts, waits, count) = state.withLock { $0.end() }
        for attempt in attempts {
            // Such an exchange never started because its request was invalid, or it continues for other callers.
            finish(attempt, type ?? "cancelled", at: clock.elapsed)
        }
        for wait in waits {
            meters.record(-1, .waiting, Dimensions("networking.wait.reason", wait.name))
        }
        let elapsed = clock.elapsed
        if span.isRecording {
            span.updateAttributes { attributes in
                attributes["networking.attempts"] = count
                attributes["http.response.status_code"] = status
                attributes["error.type"] = type
            }
        }
        if type != nil {
            span.setStatus(SpanStatus(code: .error))
        }
        span.end(at: clock.moment(after: elapsed))
        let dimensions = Dimensions(subject.dimensions, status: status, errorType: type)
        meters.record(elapsed.inSeconds, .callDuration, dimensions)
        meters.record(Double(count), .callAttempts, dimensions)
    }

    struct State {
        /// The exchanges in flight that this call started, by number.
        var attempts: [UInt32: AttemptTelemetry] = [:]
        /// A cancelled exchange and the time of its end, until the reason is known.
        var cancelled: (attempt: AttemptTelemetry, elapsed: Duration)?
        var waits: [Wait] = []
        private var count = 0
        private var isOver = false

        /// Whether the call waits for an exchange that another call started.
        ///
        /// The events during the wait belong to that call, and are not recorded.
        var isFollowing: Bool {
            waits.contains(.sharing)
        }

        /// Returns the number of exchanges so far; `nil` if the call is over.
        mutating func beginAttempt() -> Int? {
            guard !isOver else { return nil }
            defer { count += 1 }
            return count
        }

        /// Stores an exchange until it ends; `false` if the call is over.
        mutating func add(_ attempt: AttemptTelemetry, _ number: UInt32) -> Bool {
            guard !isOver else { return false }
            attempts[number] = attempt
            return true
        }

        mutating func end() -> ([AttemptTelemetry], [Wait], Int) {
            isOver = true
            defer { (attempts, waits) = ([:], []) }
            return (Array(attempts.values), waits, count)
        }
    }
}

extension CallTelemetry {
    /// Records other events, in the call's span and the stack's metrics.
    private func note(_ event: any NetworkEvent, _ record: EventRecord, of request: HTTPRequestData) {
        switch event {
        case WaitEvent.waiting(let wait, _):
            guard state.withLock({ $0.begin(wait) }) else { return }
            meters.record(1, .waiting, Dimensions("networking.wait.reason", wait.name))
            return
        case WaitEvent.waited(let wait, let duration):
            guard state.withLock({ $0.end(wait) }) else { return }
            meters.record(-1, .waiting, Dimensions("networking.wait.reason", wait.name))
            meters.record(duration.inSeconds, .waitDuration, Dimensions("networking.wait.reason", wait.name))
        default:
            guard state.withLock({ !$0.isFollowing }) else { return }
        }
        guard let kind = ShownKind(record, isInSpan: span.isRecording) else { return }
        if let metric = kind.metric, let value = kind.value {
            meters.record(value, metric, kind.dimensions(of: request, options, subject.redaction))
        }
        guard span.isRecording, kind.isInSpan else { return }
        let attributes = kind.spanAttributes(redactedBy: subject.redaction)
        if let outcome = attributes["networking.cache.outcome"] {
            span.updateAttributes { $0["networking.cache.outcome"] = outcome }
        }
        let name = kind.name ?? record.name
        span.addEvent(SpanEvent(name: name, at: clock.moment(after: clock.elapsed), attributes: attributes))
    }
}

extension CallTelemetry.State {
    /// Records the start of a wait; `false` if it belongs to another call.
    fileprivate mutating func begin(_ wait: Wait) -> Bool {
        guard !isFollowing else { return false }
        waits.append(wait)
        return true
    }

    /// Records the end of a wait; `false` if it belongs to another call.
    fileprivate mutating func end(_ wait: Wait) -> Bool {
        guard !isFollowing || wait == .sharing, let index = waits.lastIndex(of: wait) else { return false }
        waits.remove(at: index)
        return true
    }
}
#endif
