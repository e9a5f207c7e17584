import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A sink that forwards a body to another sink and copies it for the cache, up to the maximum size of an entry.
final class CacheTee: ForwardingSink {
    private struct State {
        /// The copied bytes; `nil` if nothing is to be stored.
        var copy: Data?
        var isComplete = false
        var hasTaken = false
        var hasWithheld = false
    }

    let sink: any ResponseSink
    private let limit: Int
    /// Whether a response with this head may be stored.
    private let keeps: @Sendable (HTTPResponse) -> Bool
    /// Whether a response with this head is for the cache, which returns another response to the caller.
    private let withholds: @Sendable (HTTPResponse) -> Bool
    private let state = Mutex(State())

    init(
        _ sink: any ResponseSink,
        limit: Int,
        keeps: @escaping @Sendable (HTTPResponse) -> Bool,
        withholds: @escaping @Sendable (HTTPResponse) -> Bool
    ) {
        self.sink = sink
        self.limit = limit
        self.keeps = keeps
        self.withholds = withholds
    }

    /// The complete body that was forwarded; `nil` if there was none, or if it was truncated or too long.
    var body: Data? {
        state.withLock { $0.isComplete ? $0.copy : nil }
    }

    /// Whether the last head was withheld from the other sink.
    var hasWithheld: Bool {
        state.withLock { $0.hasWithheld }
    }

    /// Whether the other sink can receive another body from the start.
    var canTakeAnother: Bool {
        sink.canRestart || state.withLock { !$0.hasTaken }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        state.withLock { state in
            state.copy = nil
            state.isComplete = false
        }
        let isWithheld = withholds(head)
        state.withLock { $0.hasWithheld = isWithheld }
        // 1 MiB, the limit for any response that a sink does not accept.
        if isWithheld { return .collect(upTo: 1 << 20) }
        let decision = try await sink.offer(head)
        if decision == .take {
            let isKept = keeps(head)
            state.withLock { state in
                state.hasTaken = true
                state.copy = isKept ? Data() : nil
            }
        }
        return decision
    }

    func receive(_ chunk: Data) async throws {
        state.withLock { state in
            let isWithinLimit = (state.copy?.count ?? 0) + chunk.count <= limit
            if isWithinLimit {
                state.copy?.append(chunk)
            } else {
                state.copy = nil
            }
        }
        try await sink.receive(chunk)
    }

    func finish() async throws {
        try await sink.finish()
        state.withLock { $0.isComplete = true }
    }

    func fail(_ error: any Error) {
        state.withLock { $0.copy = nil }
        sink.fail(error)
    }
}
