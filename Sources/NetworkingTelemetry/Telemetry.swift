#if Telemetry
import HTTPTypes
public import Metrics
public import NetworkingCore
public import Tracing

extension NetworkingComponent {
    /// Records spans and metrics, for any backend of swift-distributed-tracing and swift-metrics.
    ///
    /// Each call has a span of kind internal, and in it a span of kind client for each exchange: attempts, redirects,
    /// and requests sent again with renewed credentials. Names and attributes follow OpenTelemetry's conventions for
    /// HTTP clients. The bootstrapped propagator writes the exchange's span into header fields. Without a propagator,
    /// requests get the `traceparent` that `traced` would send. Use it once in a stack, as the outermost modifier.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .retry()
    ///     .cached()
    ///     .telemetry()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The call's span is a child of the span in the request's own `traceparent`, else of the current task's span, else
    /// of `NetworkEnvironment.traceContext`. It is the current span for everything upstream, except for work shared
    /// by several calls and background work. An exchange that several calls share is a span of one of them, and counted
    /// once.
    ///
    /// Names, attributes and labels contain no secrets. URLs are redacted. Header fields are recorded only if the
    /// options name them and they are not sensitive. For an error, only its kind is recorded.
    ///
    /// - Parameters:
    ///   - tracer: The tracer; `nil` for the bootstrapped tracer at the time of a request.
    ///   - metrics: The metrics factory; `nil` for the bootstrapped factory at the time of the first metric.
    ///   - options: Additional data to record.
    /// - Returns: A component that records its calls. It throws the errors of the upstream component.
    public func telemetry(
        tracer: (any Tracer)? = nil,
        metrics: (any MetricsFactory)? = nil,
        options: TelemetryOptions = TelemetryOptions()
    ) -> some NetworkingComponent {
        let meters = TelemetryMeters(factory: metrics, maximumSeries: options.maximumSeries)
        return modified(Telemetry(tracer: tracer, meters: meters, options: options))
    }
}

struct Telemetry: UpstreamLimited, CustomStringConvertible {
    let tracer: (any Tracer)?
    let meters: TelemetryMeters
    let options: TelemetryOptions

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // An outer `telemetry` records the call.
        guard !request.hasStackObserver(CallTelemetry.self) else { return try await upstream.send(request) }
        let call = CallTelemetry(of: request, tracer: tracer, meters: meters, options: options)
        var observed = request
        call.take(&observed)
        do {
            let response = try await call.run { try await upstream.send(observed) }
            call.end(with: .success(response), status: response.status.code)
            return response
        } catch {
            call.end(with: .failure(error), status: request.response(of: error)?.status.code)
            throw error
        }
    }

    var stackPart: StackPart { StackPart(roles: [.tracing], options: [.route]) }

    var description: String {
        "telemetry"
    }
}

extension CallTelemetry {
    /// Runs the operation of a call in its span, without leaving the caller's executor.
    fileprivate func run<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async rethrows -> Value {
        var environment = NetworkEnvironment.current
        environment.spanExit = { body in InstrumentationContext.$current.withValue(nil, operation: body) }
        return try await withEnvironment(environment) {
            try await InstrumentationContext.$current.withValue(span.context) {
                _ = isolation
                return try await operation()
            }
        }
    }
}
#endif
