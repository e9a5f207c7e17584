import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A sink that copies the body that another sink receives, up to the cassette's maximum length.
final class CassetteTee: ForwardingSink {
    /// The outcome for the last body.
    enum Copy {
        /// The sink was offered no head, requested a collected body, or did not receive the complete body.
        case none
        case whole(HTTPResponse, Data)
        case tooLong(Int)
        case refused
        /// The body received so far, or until its reader stopped.
        case partial(HTTPResponse, Data)
    }

    private struct State {
        var head: HTTPResponse?
        var decision: SinkDecision?
        var data = Data()
        var count = 0
        var isComplete = false
    }

    let sink: any ResponseSink
    private let limit: Int
    private let state = Mutex(State())

    init(_ sink: any ResponseSink, limit: Int) {
        self.sink = sink
        self.limit = limit
    }

    var copy: Copy {
        state.withLock { state in
            switch (state.decision, state.head) {
            case (.refuse, _): return .refused
            case (.take, let head?):
                if state.count > limit { return .tooLong(state.count) }
                if state.isComplete { return .whole(head, state.data) }
                return sink.isReaderPaced && state.count > 0 ? .partial(head, state.data) : .none
            default: return .none
            }
        }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        // Another attempt starts from the beginning.
        state.withLock { $0 = State() }
        let decision = try await sink.offer(head)
        state.withLock { ($0.head, $0.decision) = (head, decision) }
        return decision
    }

    func receive(_ chunk: Data) async throws {
        state.withLock { state in
            state.count += chunk.count
            if state.count > limit {
                state.data = Data()
            } else {
                state.data.append(chunk)
            }
        }
        try await sink.receive(chunk)
    }

    func finish() async throws {
        // Set this first: the reader resumes as soon as the sink finishes, and may look for the complete body at once.
        state.withLock { $0.isComplete = true }
        try await sink.finish()
    }

    func fail(_ error: any Error) {
        // A reader that stops early has received all it wanted.
        if !(error is CancellationError) { state.withLock { $0 = State() } }
        sink.fail(error)
    }
}
