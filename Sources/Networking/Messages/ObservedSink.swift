import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sink on whose way a modifier listens: what it answers, and when it is busy.
struct ObservedSink: ForwardingSink {
    let sink: any ResponseSink
    /// Hears what the sink answered to a head.
    var answered: @Sendable (SinkAnswer) -> Void = { _ in }
    /// Hears that the sink is busy with what it got, and that it is ready for more.
    var isBusy: @Sendable (Bool) -> Void = { _ in }

    func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        let answer = try await sink.offer(head)
        answered(answer)
        return answer
    }

    func receive(_ chunk: Data) async throws {
        isBusy(true)
        defer { isBusy(false) }
        try await sink.receive(chunk)
    }

    func finish() async throws {
        isBusy(true)
        // The exchange may go on: a request's body may still be on its way.
        defer { isBusy(false) }
        try await sink.finish()
    }
}
