public import NetworkingCore

extension NetworkingComponent {
    /// Measures each call: its total elapsed time, and a breakdown of that time.
    ///
    /// Place it outside all components that it should measure, and inside `server`, which takes no time. The response
    /// has the metrics of its call (``HTTPResponseData/metrics``), and so does a ``NetworkingError``. The instrument
    /// adds up the metrics of the session.
    ///
    /// ```swift
    /// let instrument = SessionInstrument()
    /// let network = URLSession.shared
    ///     .throttled(max: 6)
    ///     .retry()
    ///     .cached()
    ///     .instrument(instrument)
    ///
    /// let response = try await network.data(request)
    /// print(response.metrics?.waterfall() ?? "")
    /// ```
    ///
    /// Each moment of a call counts once: as a modifier's own time, as a wait (for a permit, a rate, a backoff,
    /// credentials, a shared exchange), or as a phase of an exchange, if the transport reports phases. The parts
    /// therefore add up to the total, even for calls that are retried, served from the cache, shared or cancelled. A
    /// call that joins another call's exchange has that time as a wait.
    ///
    /// The overhead is small enough for production. A cancelled call is counted as such, and its caller gets
    /// `CancellationError`.
    ///
    /// - Parameters:
    ///   - instrument: The instrument that adds up the session; several stacks may share one.
    ///   - onEnd: Called with the metrics of each call when it returns or throws, on any thread. It should return
    ///     quickly, because the caller waits for it.
    /// - Returns: A component that measures its calls. It throws the errors of its upstream.
    public func instrument(
        _ instrument: SessionInstrument = SessionInstrument(),
        onEnd: (@Sendable (CallMetrics) -> Void)? = nil
    ) -> some NetworkingComponent {
        modified(Instrumented(instrument: instrument, onEnd: onEnd))
    }
}

struct Instrumented: UpstreamLimited, CustomStringConvertible {
    let instrument: SessionInstrument
    let onEnd: (@Sendable (CallMetrics) -> Void)?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let measurement = CallMeasurement(of: request)
        do {
            var response = try await upstream.send(measurement.measured(request))
            let metrics = measurement.end(of: request, with: response)
            report(metrics)
            response.metrics = metrics
            return response
        } catch {
            let metrics = measurement.end(of: request, with: error)
            report(metrics)
            guard var failure = error as? NetworkingError else { throw error }
            failure.metrics = metrics
            throw failure
        }
    }

    private func report(_ metrics: CallMetrics) {
        instrument.add(metrics)
        onEnd?(metrics)
    }

    var stackPart: StackPart { StackPart(options: [.route]) }

    var description: String {
        "instrument"
    }
}
