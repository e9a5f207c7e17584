import HTTPTypes
import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sink that keeps a copy of what goes into another, up to the length that a cassette keeps.
final class CassetteTee: ForwardingSink {
    /// What became of the last body.
    enum Copy {
        /// The sink was not asked, or asked for the body to be collected, or did not get it whole.
        case none
        case whole(HTTPResponse, Data)
        case tooLong(Int)
        case refused
        /// What came until the reader left, or has come so far.
        case partial(HTTPResponse, Data)
    }

    private struct State {
        var head: HTTPResponse?
        var answer: SinkAnswer?
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
            switch (state.answer, state.head) {
            case (.refuse, _): return .refused
            case (.take, let head?):
                if state.count > limit { return .tooLong(state.count) }
                if state.isComplete { return .whole(head, state.data) }
                return sink.isReaderPaced && state.count > 0 ? .partial(head, state.data) : .none
            default: return .none
            }
        }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        // Another attempt begins anew.
        state.withLock { $0 = State() }
        let answer = try await sink.offer(head)
        state.withLock { ($0.head, $0.answer) = (head, answer) }
        return answer
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
        // Before: who reads goes on once the sink knows, and may look for the whole on the cassette at once.
        state.withLock { $0.isComplete = true }
        try await sink.finish()
    }

    func fail(_ error: any Error) {
        // A reader that leaves has got what it wanted.
        if !(error is CancellationError) { state.withLock { $0 = State() } }
        sink.fail(error)
    }
}
