package import FoundationForNetworking
import HTTPTypes

/// A sink that reports to a modifier how the wrapped sink answers a head, and when it is busy.
package struct ObservedSink: ForwardingSink {
    package let sink: any ResponseSink
    /// Receives the wrapped sink's answer to a head.
    private let answered: @Sendable (SinkAnswer) -> Void
    /// Receives `true` when the wrapped sink starts to process a chunk, and `false` when it is ready for the next one.
    private let isBusy: @Sendable (Bool) -> Void

    package init(
        sink: any ResponseSink,
        answered: @escaping @Sendable (SinkAnswer) -> Void = { _ in },
        isBusy: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.sink = sink
        self.answered = answered
        self.isBusy = isBusy
    }

    package func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        let answer = try await sink.offer(head)
        answered(answer)
        return answer
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
