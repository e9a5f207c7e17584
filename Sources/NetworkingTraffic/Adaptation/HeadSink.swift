import HTTPTypes
import NetworkingCore

/// A sink that reports the head of the response that another sink takes.
struct HeadSink: ForwardingSink {
    let sink: any ResponseSink
    let onHead: @Sendable (HTTPResponse) -> Void

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        let decision = try await sink.offer(head)
        if case .take = decision {
            onHead(head)
        }
        return decision
    }
}
