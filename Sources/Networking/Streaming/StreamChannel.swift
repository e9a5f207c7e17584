import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The sink through which one transfer brings its body to one reader.
///
/// It holds one portion. Whoever brings the next waits until that has been taken, which is the back-pressure; whoever reads
/// waits until there is one. Either may give up, and the other hears of it at once.
final class StreamChannel: ResponseSink {
    private let accepted: StatusSet
    private let state = Mutex(State())

    /// Creates a channel.
    ///
    /// - Parameter accepted: The statuses whose bodies it takes; others are collected, for an error to show.
    init(accepting accepted: StatusSet) {
        self.accepted = accepted
    }

    var isReaderPaced: Bool {
        true
    }

    // MARK: The transfer's side

    func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        guard accepted.contains(head.status) else { return .collect(upTo: 1 << 20) }
        let waiter = try state.withLock { state in
            guard !state.isAbandoned else { throw CancellationError() }
            state.head = head
            defer { state.headWaiter = nil }
            return state.headWaiter
        }
        waiter?.resume(with: .success(.stream(head)))
        return .take
    }

    func receive(_ chunk: Data) async throws {
        while true {
            let step = try state.withLock { try $0.bring(chunk) }
            switch step {
            case .taken(let reader):
                reader?.resume(with: .success(chunk))
                return
            case .wait(let turn):
                try await turn.value { [self] in state.withLock { $0.writer = nil } }
            }
        }
    }

    /// Ends the stream with what the transfer came to.
    func end(with result: Result<HTTPResponseData, any Error>) {
        let (headWaiter, reader) = state.withLock { state in
            state.end = result
            defer { (state.headWaiter, state.reader) = (nil, nil) }
            return (state.headWaiter, state.reader)
        }
        headWaiter?.resume(with: result.map { .response($0) })
        reader?.resume(with: result.map { _ in nil })
    }

    // MARK: The reader's side

    /// What comes first: the head of a body that will stream, or a response that does not.
    enum Beginning: Sendable {
        case stream(HTTPResponse)
        case response(HTTPResponseData)
    }

    func beginning() async throws -> Beginning {
        let wait = Suspension<Beginning>()
        let known = state.withLock { state -> Result<Beginning, any Error>? in
            if let head = state.head { return .success(.stream(head)) }
            if let end = state.end { return end.map { .response($0) } }
            state.headWaiter = wait
            return nil
        }
        if let known { return try known.get() }
        return try await wait.value { [self] in abandon() }
    }

    /// Brings the next portion; nil after the last.
    func next() async throws -> Data? {
        try Task.checkCancellation()
        let wait = Suspension<Data?>()
        let step = state.withLock { $0.take(orWait: wait) }
        switch step {
        case .portion(let chunk, let writer):
            writer?.resume()
            return chunk
        case .end(let result):
            return try result.get()
        case .wait:
            return try await wait.value { [self] in abandon() }
        }
    }

    /// Nobody reads any more: what has been brought is dropped, and who brings more is told.
    func abandon() {
        let (writer, headWaiter, reader) = state.withLock { state in
            state.isAbandoned = true
            state.chunk = nil
            defer { (state.writer, state.headWaiter, state.reader) = (nil, nil, nil) }
            return (state.writer, state.headWaiter, state.reader)
        }
        writer?.resume(with: .failure(CancellationError()))
        headWaiter?.resume(with: .failure(CancellationError()))
        reader?.resume(with: .failure(CancellationError()))
    }

    private enum Bringing {
        case taken(by: Suspension<Data?>?)
        case wait(Suspension<Void>)
    }

    private enum Taking {
        case portion(Data, Suspension<Void>?)
        case end(Result<Data?, any Error>)
        case wait
    }

    private struct State {
        var head: HTTPResponse?
        var headWaiter: Suspension<Beginning>?
        var chunk: Data?
        var writer: Suspension<Void>?
        var reader: Suspension<Data?>?
        var end: Result<HTTPResponseData, any Error>?
        var isAbandoned = false

        mutating func bring(_ chunk: Data) throws -> Bringing {
            guard !isAbandoned else { throw CancellationError() }
            if let reader {
                self.reader = nil
                return .taken(by: reader)
            }
            guard self.chunk != nil else {
                self.chunk = chunk
                return .taken(by: nil)
            }
            let turn = Suspension<Void>()
            writer = turn
            return .wait(turn)
        }

        mutating func take(orWait wait: Suspension<Data?>) -> Taking {
            if let chunk {
                self.chunk = nil
                defer { writer = nil }
                return .portion(chunk, writer)
            }
            if isAbandoned { return .end(.failure(CancellationError())) }
            if let end { return .end(end.map { _ in nil }) }
            reader = wait
            return .wait
        }
    }
}
