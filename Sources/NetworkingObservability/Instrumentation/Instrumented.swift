public import NetworkingCore

extension NetworkingComponent {
    /// Measures each call: the whole elapsed time, and what it was spent on.
    ///
    /// It belongs outside of all that is to be measured, and inside `server`, which takes no time. The response tells
    /// what its call took (``HTTPResponseData/metrics``), and so does a ``NetworkingError``; the instrument adds up the
    /// session.
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
    /// Each moment of a call is counted once: a modifier's own time, a wait (for a slot, a permit, a backoff,
    /// credentials, a shared exchange), or a phase of an exchange as far as the transport tells. So the parts add up to
    /// the whole, also for calls that are retried, answered from the cache, shared or cancelled. Who shares an exchange
    /// that somebody else began has that as a wait.
    ///
    /// It is cheap enough to stay on. A cancelled call is counted as that, and its caller gets `CancellationError` as
    /// ever.
    ///
    /// - Parameters:
    ///   - instrument: What adds up the session; several stacks may have one.
    ///   - onEnd: Called with what each call took, however it ended, on whatever thread that is. Keep it short: the
    ///     caller waits.
    /// - Returns: A component that measures its calls. It throws what upstream does.
    public func instrument(
        _ instrument: SessionInstrument = SessionInstrument(),
        onEnd: (@Sendable (CallMetrics) -> Void)? = nil
    ) -> some NetworkingComponent {
        modified(Instrumented(instrument: instrument, onEnd: onEnd))
    }
}

struct Instrumented: NetworkingModifier, CustomStringConvertible {
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

    var requestOptions: Set<RequestOptionKey> { [.route] }

    var description: String {
        "instrument"
    }
}
