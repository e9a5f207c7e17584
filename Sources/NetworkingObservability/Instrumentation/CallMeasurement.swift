import FoundationForNetworking
package import NetworkingCore

/// The measurement of one call, for `instrument` and for other components that report the timing of a call.
package struct CallMeasurement: Sendable {
    private let recorder: CallRecorder
    /// The start of this measurement in the log of an outer one; `nil` if this is the outer one.
    private let position: CallLog.Position?
    /// The date at which the measurement began.
    private let date: Date

    /// Starts a measurement.
    ///
    /// - Parameter request: The request, which an outer component may already measure.
    package init(of request: HTTPRequestData) {
        let outer = request.recorder as? CallRecorder
        recorder = outer ?? CallRecorder(on: NetworkEnvironment.current.clock)
        position = outer?.position
        date = recorder.clock.date
    }

    /// Returns the request to send, which records its events for this measurement.
    package func measured(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        request.recorder = recorder
        return request
    }

    /// Returns the metrics of a call that returned a response.
    package func end(of request: HTTPRequestData, with response: HTTPResponseData) -> CallMetrics {
        metrics(of: request, outcome: .response(response.status.code), response, bodyLength: response.body.count)
    }

    /// Returns the metrics of a call that failed or was cancelled.
    package func end(of request: HTTPRequestData, with error: any Error) -> CallMetrics {
        let isCancelled = error is CancellationError
        let outcome = isCancelled ? .cancelled : CallMetrics.Outcome.failure((error as? NetworkingError)?.kind)
        return metrics(of: request, outcome: outcome, request.response(of: error), bodyLength: 0)
    }

    private func metrics(
        of request: HTTPRequestData,
        outcome: CallMetrics.Outcome,
        _ response: HTTPResponseData?,
        bodyLength: Int64
    ) -> CallMetrics {
        let log = position.map { recorder.finish(from: $0) } ?? recorder.finish()
        return CallMetrics(
            log,
            of: request,
            at: date,
            outcome: outcome,
            statusCode: response?.status.code,
            bodyLength: bodyLength
        )
    }
}
