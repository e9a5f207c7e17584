import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A sink that reports the head of a response and leaves its body in memory.
///
/// Every transport, mock and cache offers the head of a final response to the sink of the request.
final class HeadSink: ResponseSink {
    private let report: @Sendable (HTTPResponse) -> Void
    private let limit = Atomic<Int64>(.max)

    init(report: @escaping @Sendable (HTTPResponse) -> Void) {
        self.report = report
    }

    var canRestart: Bool {
        true
    }

    func prepare(_ request: inout HTTPRequestData) {
        limit.store(request.maximumResponseBytes, ordering: .relaxed)
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        report(head)
        return .collect(upTo: limit.load(ordering: .relaxed))
    }

    /// Not called, because the sink takes no body.
    func receive(_ chunk: Data) async throws {}
}

/// A sink that reports the head of a response before the app's own sink receives it.
struct HeadForwardingSink: ForwardingSink {
    let sink: any ResponseSink
    let report: @Sendable (HTTPResponse) -> Void

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        report(head)
        return try await sink.offer(head)
    }
}
