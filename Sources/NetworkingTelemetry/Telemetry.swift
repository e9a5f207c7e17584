#if Telemetry
import HTTPTypes
public import Metrics
public import Networking
public import Tracing

extension NetworkingComponent {
    /// Records spans and metrics, for any backend of swift-distributed-tracing and swift-metrics.
    ///
    /// Each call has a span of kind internal, and in it a span of kind client for each exchange: attempts, redirects,
    /// and what is sent again with renewed credentials. Names and attributes are those of OpenTelemetry's conventions
    /// for HTTP clients. The exchange's span goes along as header fields, written by the bootstrapped propagator;
    /// without one, `traceparent` is what `traced` would send. It belongs outermost in a stack, once.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .retry()
    ///     .cached()
    ///     .telemetry()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The call's span is a child of that of the request's own `traceparent`, else of the current task's, else of
    /// ``NetworkEnvironment/traceContext``. It is the current one for everything upstream, but for what several calls
    /// share and what is done in the background. The exchange that several calls share is a span of one of them, and
    /// counted once.
    ///
    /// No secret gets into a name, an attribute or a label: URLs are redacted, header fields recorded only where the
    /// options name them and they are not sensitive, and of an error only its kind.
    ///
    /// - Parameters:
    ///   - tracer: What makes the spans; nil for the one that is bootstrapped when a request is sent.
    ///   - metrics: What makes the metrics; nil for the factory that is bootstrapped when the first is recorded.
    ///   - options: What else to record.
    /// - Returns: A component that records its calls. It throws what upstream does.
    public func telemetry(
        tracer: (any Tracer)? = nil,
        metrics: (any MetricsFactory)? = nil,
        options: TelemetryOptions = TelemetryOptions()
    ) -> some NetworkingComponent {
        let meters = TelemetryMeters(factory: metrics, maximumSeries: options.maximumSeries)
        return modified(Telemetry(tracer: tracer, meters: meters, options: options))
    }
}

struct Telemetry: NetworkingModifier, CustomStringConvertible {
    let tracer: (any Tracer)?
    let meters: TelemetryMeters
    let options: TelemetryOptions

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // One further out records it.
        guard !request.hasStackObserver(CallTelemetry.self) else { return try await upstream.send(request) }
        let call = CallTelemetry(of: request, tracer: tracer, meters: meters, options: options)
        var observed = request
        call.take(&observed)
        do {
            let response = try await call.run { try await upstream.send(observed) }
            call.end(with: .success(response))
            return response
        } catch {
            call.end(with: .failure(error))
            throw error
        }
    }

    var roles: Set<StackRole> { [.tracing] }
    var requestOptions: Set<RequestOptionKey> { [.route] }

    var description: String {
        "telemetry"
    }
}

extension CallTelemetry {
    /// Runs what a call does, in its span, without leaving the caller's executor.
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
