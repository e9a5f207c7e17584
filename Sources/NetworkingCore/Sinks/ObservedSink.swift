package import FoundationForNetworking
import HTTPTypes

/// A sink that reports to a modifier the wrapped sink's decision about a head, and when the sink is busy.
package struct ObservedSink: ForwardingSink {
    package let sink: any ResponseSink
    /// Receives the wrapped sink's decision about a head.
    private let onDecision: @Sendable (SinkDecision) -> Void
    /// Receives `true` when the wrapped sink starts to process a chunk, and `false` when it is ready for the next one.
    private let isBusy: @Sendable (Bool) -> Void

    package init(
        sink: any ResponseSink,
        onDecision: @escaping @Sendable (SinkDecision) -> Void = { _ in },
        isBusy: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.sink = sink
        self.onDecision = onDecision
        self.isBusy = isBusy
    }

    package func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        let decision = try await sink.offer(head)
        onDecision(decision)
        return decision
    }

    package func receive(_ chunk: Data) async throws {
        isBusy(true)
        defer { isBusy(false) }
        try await sink.receive(chunk)
    }

    package func finish() async throws {
        isBusy(true)
        // The exchange may continue, because the request's body may still be in transfer.
        defer { isBusy(false) }
        try await sink.finish()
    }
}
