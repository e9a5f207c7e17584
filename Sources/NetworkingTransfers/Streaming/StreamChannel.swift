import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A sink that passes the body of one transfer to one reader.
///
/// It holds one chunk. The transfer waits until the reader has taken that chunk, which creates the back-pressure. The
/// reader waits until there is a chunk. Either side may stop, and the other is notified at once.
final class StreamChannel: ResponseSink {
    private let accepted: StatusSet
    private let chunks = Handoff<Data>()
    private let state = Mutex(State())

    /// Creates a channel.
    ///
    /// - Parameter accepted: The statuses with a streamed body. Other bodies are collected for the error.
    init(accepting accepted: StatusSet) {
        self.accepted = accepted
    }

    var isReaderPaced: Bool {
        true
    }

    // MARK: The transfer's side

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        guard accepted.contains(head.status) else { return .collect(upTo: 1 << 20) }
        guard !chunks.isAbandoned else { throw CancellationError() }
        let waiter = state.withLock { state -> Suspension<Beginning>? in
            guard !state.isAbandoned else { return nil }
            state.beginning = .success(.stream(head))
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: .success(.stream(head)))
        return .take
    }

    func receive(_ chunk: Data) async throws {
        try await chunks.give(chunk)
    }

    /// Ends the stream with the result of the transfer.
    func end(with result: Result<HTTPResponseData, any Error>) {
        let waiter = state.withLock { state -> Suspension<Beginning>? in
            guard !state.isAbandoned else { return nil }
            state.beginning = state.beginning ?? result.map { .response($0) }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result.map { .response($0) })
        switch result {
        case .success: chunks.finish()
        case .failure(let error): chunks.finish(throwing: error)
        }
    }

    // MARK: The reader's side

    /// The first result of a transfer: the head of a body that will be streamed, or a complete response.
    enum Beginning: Sendable {
        case stream(HTTPResponse)
        case response(HTTPResponseData)
    }

    func beginning() async throws -> Beginning {
        let wait = Suspension<Beginning>()
        let known = state.withLock { state -> Result<Beginning, any Error>? in
            if state.beginning == nil, !state.isAbandoned {
                state.waiter = wait
            }
            return state.isAbandoned ? .failure(CancellationError()) : state.beginning
        }
        if let known { return try known.get() }
        return try await wait.value(until: nil) { [self] in abandon() }
    }

    /// Returns the next chunk; `nil` after the last.
    func next() async throws -> Data? {
        try await chunks.take()
    }

    /// Stops reading: the current chunk and the result are dropped, and the transfer is notified.
    ///
    /// The result has a request whose sink is this channel, which would retain itself.
    func abandon() {
        chunks.abandon()
        // Released after unlocking, because releasing the result may run code of the app.
        let before = state.withLock { state in
            defer { state = State(isAbandoned: true) }
            return state
        }
        before.waiter?.resume(with: .failure(CancellationError()))
    }

    private struct State {
        var beginning: Result<Beginning, any Error>?
        var waiter: Suspension<Beginning>?
        var isAbandoned = false
    }
}
