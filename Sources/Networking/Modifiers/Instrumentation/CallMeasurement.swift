#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The measuring of one call, from where it begins: what `instrument` does, for whoever else tells what a call took.
package struct CallMeasurement: Sendable {
    private let recorder: CallRecorder
    /// Within another's call this one reads that one's log, of which its own is a part.
    private let position: CallLog.Position?
    /// When it began.
    private let date: Date

    /// Begins to measure.
    ///
    /// - Parameter request: The request, whose call may be measured already.
    package init(of request: HTTPRequestData) {
        let outer = request.recorder as? CallRecorder
        recorder = outer ?? CallRecorder(on: NetworkEnvironment.current.clock)
        position = outer?.position
        date = recorder.clock.date
    }

    /// The request to send, of which is recorded what it meets.
    package func measured(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        request.recorder = recorder
        request.state.insert(.isMeasured)
        return request
    }

    /// What the call took that brought a response.
    package func end(of request: HTTPRequestData, with response: HTTPResponseData) -> CallMetrics {
        metrics(of: request, outcome: .response(response.status.code), bodyLength: response.body.count)
    }

    /// What the call took that failed, or was cancelled.
    package func end(of request: HTTPRequestData, with error: any Error) -> CallMetrics {
        let isCancelled = error is CancellationError
        let outcome = isCancelled ? .cancelled : CallMetrics.Outcome.failure((error as? NetworkingError)?.kind)
        return metrics(of: request, outcome: outcome, bodyLength: 0)
    }

    private func metrics(
        of request: HTTPRequestData,
        outcome: CallMetrics.Outcome,
        bodyLength: Int64
    ) -> CallMetrics {
        let log = position.map { recorder.finish(from: $0) } ?? recorder.finish()
        return CallMetrics(log, of: request, at: date, outcome: outcome, bodyLength: bodyLength)
    }
}
