import Synchronization

/// A record of whether a sink has taken the body of a response, for the parts of a stack that send a request several
/// times.
package final class SinkUse: Sendable {
    private let sink: any ResponseSink
    private let hasTaken = Atomic(false)

    fileprivate init(of sink: any ResponseSink) {
        self.sink = sink
    }

    fileprivate var observed: ObservedSink {
        ObservedSink(sink: sink) { [self] decision in
            if case .take = decision {
                hasTaken.store(true, ordering: .releasing)
            }
        }
    }

    /// Whether the sink can take the body of another response from the start.
    package var canStartOver: Bool {
        sink.canRestart || !hasTaken.load(ordering: .acquiring)
    }
}

extension HTTPRequestData {
    /// Records from now on whether the sink of the request takes a body.
    ///
    /// - Returns: The record; `nil` if the request has no sink.
    package mutating func observeSink() -> SinkUse? {
        guard let sink else { return nil }
        let use = SinkUse(of: sink)
        self.sink = use.observed
        return use
    }

    /// Whether the body and the sink can both be used again.
    package func canBeSentAgain(_ sinkUse: SinkUse?) -> Bool {
        body?.isReplayable ?? true && sinkUse?.canStartOver ?? true
    }
}
