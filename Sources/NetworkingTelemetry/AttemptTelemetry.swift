#if Telemetry
import HTTPTypes
import NetworkingCore
import Synchronization
import Tracing

/// The span of one exchange, and the data for its metrics.
struct AttemptTelemetry: Sendable {
    let span: any Span
    let subject: TelemetrySubject
    /// The start, relative to that of the call.
    let start: Duration
    var isStarted = false
    var head: HTTPResponse?
    var connection: ConnectionMetrics?

    /// Whether the body was decoded: the convention records the transferred size, which is then unknown.
    var isEncoded: Bool {
        head?.headerFields.contains(.contentEncoding) ?? false
    }
}

extension CallTelemetry {
    /// Records the start of an exchange.
    func start(_ number: UInt32) {
        let attempt = state.withLock { state -> AttemptTelemetry? in
            state.attempts[number]?.isStarted = true
            return state.attempts[number]
        }
        if let attempt, options.recordsActiveRequests {
            meters.record(1, .activeRequests, Dimensions(attempt.subject.dimensions))
        }
    }

    /// Records the end of an exchange with a response.
    func end(_ number: UInt32, sent: Int64, received: Int64) {
        guard let attempt = state.withLock({ $0.attempts.removeValue(forKey: number) }) else { return }
        finish(attempt, nil, at: clock.elapsed, sizes: (sent, received))
    }

    /// Records that an exchange failed, or was cancelled for a reason that the next event reports.
    func fail(_ number: UInt32, _ error: any Error) {
        let elapsed = clock.elapsed
        let attempt = state.withLock { state -> AttemptTelemetry? in
            guard let attempt = state.attempts.removeValue(forKey: number) else { return nil }
            guard error is CancellationError else { return attempt }
            state.cancelled = (attempt, elapsed)
            return nil
        }
        if let attempt {
            finish(attempt, error.telemetryType, at: elapsed)
        }
    }

    /// Ends the span of a cancelled exchange, once the reason is known.
    func settle(_ errorType: @autoclosure () -> String) {
        let cancelled = state.withLock { state in
            defer { state.cancelled = nil }
            return state.cancelled
        }
        if let cancelled {
            finish(cancelled.attempt, errorType(), at: cancelled.elapsed)
        }
    }

    func finish(
        _ attempt: AttemptTelemetry,
        _ failure: String?,
        at elapsed: Duration,
        sizes: (sent: Int64, received: Int64)? = nil
    ) {
        let status = attempt.head?.status.code
        let type = failure ?? status.flatMap { attempt.subject.errorType(of: $0) }
        let span = attempt.span
        if span.isRecording {
            span.updateAttributes { describe(attempt, status, type, sizes, in: &$0) }
        }
        if type != nil {
            // No description: it would only repeat the attributes, or reveal too much.
            span.setStatus(SpanStatus(code: .error))
        }
        span.end(at: clock.moment(after: elapsed))
        guard attempt.isStarted else { return }
        if options.recordsActiveRequests {
            meters.record(-1, .activeRequests, Dimensions(attempt.subject.dimensions))
        }
        var dimensions = Dimensions(attempt.subject.dimensions, status: status, errorType: type)
        dimensions.protocolVersion = attempt.connection?.protocolVersion
        meters.record((elapsed - attempt.start).inSeconds, .requestDuration, dimensions)
        if let sizes, options.recordsBodySizes {
            meters.record(Double(sizes.sent), .requestBodySize, dimensions)
            if !attempt.isEncoded {
                meters.record(Double(sizes.received), .responseBodySize, dimensions)
            }
        }
    }

    private func describe(
        _ attempt: AttemptTelemetry,
        _ status: Int?,
        _ type: String?,
        _ sizes: (sent: Int64, received: Int64)?,
        in attributes: inout SpanAttributes
    ) {
        attributes["http.response.status_code"] = status
        attributes["error.type"] = type
        if let connection = attempt.connection {
            attributes["network.protocol.version"] = connection.protocolVersion
            attributes["network.peer.address"] = connection.peerAddress
            attributes["network.peer.port"] = connection.peerAddress == nil ? nil : connection.peerPort
        }
        if let sizes, options.recordsBodySizes {
            attributes["http.request.body.size"] = sizes.sent
            attributes["http.response.body.size"] = attempt.isEncoded ? nil : sizes.received
        }
        attempt.head?.headerFields
            .capture(
                options.responseHeaderFields,
                as: "http.response.header",
                attempt.subject.redaction,
                into: &attributes
            )
    }
}
#endif
