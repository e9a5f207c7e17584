import HTTPTypes

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A sink on whose way a modifier listens: what it answers, and when it is busy.
package struct ObservedSink: ForwardingSink {
    package let sink: any ResponseSink
    /// Hears what the sink answered to a head.
    private let answered: @Sendable (SinkAnswer) -> Void
    /// Hears that the sink is busy with what it got, and that it is ready for more.
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
        // The exchange may go on: a request's body may still be on its way.
        defer { isBusy(false) }
        try await sink.finish()
    }
}
