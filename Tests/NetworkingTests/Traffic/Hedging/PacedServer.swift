import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization

/// A transport whose exchanges take scripted times on the clock of the stack.
///
/// It ends an exchange at its time limit by itself, unless it ignores limits and cancellations.
final class PacedServer: NetworkingTransport {
    struct Answer: Sendable {
        var head: Duration
        var body = Duration.zero
        var status = HTTPResponse.Status.ok
        var headerFields: HTTPFields = [:]
        var error: NetworkingError.Kind?
    }

    private struct State {
        var requests: [HTTPRequestData] = []
        var begun = 0
        var ended = 0
        var cancelled: [Int] = []
        var answered = 0
        var tasks: [Int] = []
    }

    private let state = Mutex(State())
    private let answers: @Sendable (Int) -> Answer
    private let ignoresCancellation: Bool

    /// Creates a server that answers each exchange by its number, from 1.
    init(ignoringCancellation: Bool = false, _ answers: @escaping @Sendable (Int) -> Answer) {
        self.answers = answers
        ignoresCancellation = ignoringCancellation
    }

    convenience init(_ answers: [Answer]) {
        self.init { answers[min($0, answers.count) - 1] }
    }

    var requests: [HTTPRequestData] { state.withLock { $0.requests } }
    /// The number of exchanges whose wait for the head has begun.
    var count: Int { state.withLock { $0.begun } }
    /// The numbers of the exchanges that were cancelled or ended by a limit.
    var cancelled: [Int] { state.withLock { $0.cancelled } }
    /// The number of exchanges that have ended.
    var ended: Int { state.withLock { $0.ended } }
    /// The number of waits that have ended because their time was over.
    var answered: Int { state.withLock { $0.answered } }
    /// The identities of the tasks in which exchanges began.
    var tasks: [Int] { state.withLock { $0.tasks } }

    func enforcesLimit(of request: HTTPRequestData) -> Bool {
        !ignoresCancellation
    }

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let number = state.withLock { state in
            state.requests.append(request)
            state.tasks.append(withUnsafeCurrentTask { $0.hashValue })
            return state.requests.count
        }
        let answer = answers(number)
        defer { state.withLock { $0.ended += 1 } }
        try await wait(answer.head, number, request, isFirst: true)
        if let error = answer.error { throw NetworkingError(error, request: request) }
        let head = HTTPResponse(status: answer.status, headerFields: answer.headerFields)
        request.emit(ExchangeEvent.headReceived(head))
        if answer.body > .zero { try await wait(answer.body, number, request) }
        return HTTPResponseData(request: request, http: head, body: .collected(Data("\(number)".utf8)))
    }

    private func wait(
        _ duration: Duration,
        _ number: Int,
        _ request: HTTPRequestData,
        isFirst: Bool = false
    ) async throws {
        let clock = NetworkEnvironment.current.clock
        let gate = Gate()
        let alarm = clock.alarm(at: clock.now + duration) { [self] in
            if gate.open(with: .success(())) { state.withLock { $0.answered += 1 } }
        }
        if isFirst { state.withLock { $0.begun += 1 } }
        let cancel: @Sendable () -> Void = { [self] in
            alarm.cancel()
            if gate.open(with: .failure(CancellationError())) {
                state.withLock { $0.cancelled.append(number) }
            }
        }
        guard !ignoresCancellation else { return try await gate.wait() }
        let limit = request.exchangeLimit?.alarm(cancel)
        defer { limit?.cancel() }
        try await withTaskCancellationHandler {
            try await gate.wait()
        } onCancel: {
            cancel()
        }
    }
}

/// A wait that another thread ends.
private final class Gate: Sendable {
    private enum State {
        case closed
        case waiting(CheckedContinuation<Void, any Error>)
        case open(Result<Void, any Error>)
    }

    private let state = Mutex(State.closed)

    /// Ends the wait; returns `false` if it has ended before.
    func open(with result: Result<Void, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, CheckedContinuation<Void, any Error>?) in
            defer { if case .open = state {} else { state = .open(result) } }
            return switch state {
            case .closed: (true, nil)
            case .waiting(let continuation): (true, continuation)
            case .open: (false, nil)
            }
        }
        continuation?.resume(with: result)
        return isFirst
    }

    func wait() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<Void, any Error>? in
                if case .open(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}

extension HTTPResponseData {
    /// The body as text.
    var bodyText: String? {
        String(data: data, encoding: .utf8)
    }
}
