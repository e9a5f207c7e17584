#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import Synchronization

/// One request on its way through URLSession: what has arrived, who waits for it, and how it ended.
///
/// It is the delegate of its task. URLSession tells it what happens, on a queue of URLSession's; the sending task waits
/// for the head, for bytes or for the end. The first thing that ends it counts: the server, an error, a limit, or the
/// caller's cancellation, which resumes the caller at once and does not wait for URLSession.
final class URLSessionExchange: NSObject, Sendable {
    /// What the sending task can wait for.
    private enum Milestone {
        case head
        case bytes
        case end
    }

    private let request: HTTPRequestData
    private let state: Mutex<State>

    /// Where progress handlers and observers are called, when there are any.
    ///
    /// Not where URLSession calls: on Linux that is a queue for which every call into any session waits, so somebody
    /// else's code could lock up the process from there. The sending task is resumed through it too, so that it never
    /// overtakes the last report.
    private let reports: DispatchQueue?

    init(request: HTTPRequestData) {
        self.request = request
        // Without a sink nobody is asked what becomes of the body, so its limit holds from the first byte.
        state = Mutex(State(limit: request.sink == nil ? request.maximumResponseBytes : nil))
        let isObserved = request.progressHandler != nil || !request.settings.observers.isEmpty
        reports = isObserved ? DispatchQueue(label: "URLSessionExchange.reports") : nil
    }

    // MARK: What the sending task does

    /// Brings the response and its body to where the request wants it.
    func respond() async throws -> HTTPResponseData {
        guard request.sink != nil else {
            await wait(for: .end)
            let body = try collectedBody()
            return HTTPResponseData(request: request, http: try head(), body: .collected(body))
        }
        defer { abandon() }
        await wait(for: .head)
        let head = try head()
        let body = try await deliverBody(to: request.bodyDestination(for: head))
        var response = HTTPResponseData(request: request, http: head, body: body)
        response.wasOfferedToSink = true
        return response
    }

    private func deliverBody(to destination: HTTPRequestData.BodyDestination) async throws -> ResponseBody {
        switch destination {
        case .nowhere:
            return .delivered(byteCount: 0)
        case .memory(let limit):
            limitBody(to: limit)
            await wait(for: .end)
            return .collected(try collectedBody())
        case .sink(let sink):
            do {
                return .delivered(byteCount: try await deliverBody(to: sink))
            } catch {
                sink.fail(error)
                throw error
            }
        }
    }

    /// Brings the body to a sink chunk by chunk, and waits for it between them.
    private func deliverBody(to sink: any ResponseSink) async throws -> Int64 {
        var count: Int64 = 0
        while true {
            await wait(for: .bytes)
            guard let bytes = try takeBytes() else { break }
            try await sink.receive(bytes)
            count += Int64(bytes.count)
        }
        try await sink.finish()
        return count
    }

    /// Starts the task, unless the caller was cancelled before.
    func start(_ task: URLSessionTask) {
        let isOver = state.withLock { state in
            state.task = task
            return state.outcome != nil
        }
        guard !isOver else { return Self.cancel(task) }
        task.resume()
    }

    /// Waits until something has happened, or the exchange is over.
    private func wait(for milestone: Milestone) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReached = state.withLock { state in
                    if state.hasReached(milestone) { return true }
                    state.waiter = (milestone, continuation)
                    return false
                }
                if isReached {
                    continuation.resume()
                }
            }
        } onCancel: {
            end(with: .failure(CancellationError()), isCancellation: true)
        }
    }

    /// The head, or what the exchange failed with before it came.
    private func head() throws -> HTTPResponse {
        try state.withLock { state in
            if let head = state.head { return head }
            try state.outcome?.get()
            throw request.invalidAnswer
        }
    }

    /// Says how much of the body is collected; what has arrived already counts.
    private func limitBody(to limit: Int64) {
        let isOver = state.withLock { state in
            state.limit = limit
            return state.count > limit
        }
        if isOver {
            endAsTooLong()
        }
    }

    /// The bytes that have arrived since the last call; nil when there are no more.
    private func takeBytes() throws -> Data? {
        try state.withLock { state in
            if !state.body.isEmpty {
                defer { state.body = Data() }
                return state.body
            }
            try state.outcome?.get()
            return nil
        }
    }

    /// The whole body, after the end.
    private func collectedBody() throws -> Data {
        try state.withLock { state in
            try state.outcome?.get()
            return state.body
        }
    }

    /// Lets go: whatever is still under way is cancelled.
    private func abandon() {
        end(with: .failure(CancellationError()), isCancellation: true)
    }

    // MARK: What URLSession tells

    func receive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse, let head = HTTPResponse(response) else {
            return end(with: .failure(request.invalidAnswer))
        }
        report { request in request.emit(.headReceived(head)) }
        let (waiter, isTooLong) = state.withLock { state in
            state.receive(head, isBodyless: request.method == .head)
            return (state.takeWaiter(), state.expected ?? 0 > state.limit ?? .max)
        }
        resume(waiter)
        if isTooLong {
            endAsTooLong()
        }
    }

    func receive(_ data: Data) {
        let (waiter, isTooLong, progress) = state.withLock { state in
            state.receive(data)
            return (state.takeWaiter(), state.count > state.limit ?? .max, state.progress)
        }
        report { request in request.progressHandler?(progress) }
        resume(waiter)
        if isTooLong {
            endAsTooLong()
        }
    }

    func sent(_ count: Int64, of expected: Int64) {
        let progress = state.withLock { state in
            state.progress.sent = BytesSent(count: count, expected: expected > 0 ? expected : nil)
            return state.progress
        }
        report { request in request.progressHandler?(progress) }
    }

    /// Ends with the head and the body that have arrived, when URLSession would not.
    func endWithWhatArrived() {
        complete(with: nil, isWhole: true)
    }

    func complete(with error: (any Error)?, isWhole: Bool = false) {
        let outcome: Result<Void, any Error> = state.withLock { state in
            if let error {
                return .failure(request.error(for: error, after: state.head, received: state.count, of: state.expected))
            }
            guard let head = state.head else { return .failure(request.invalidAnswer) }
            if !isWhole, let expected = state.expected, state.count < expected {
                return .failure(request.truncated(head, received: state.count, of: expected))
            }
            return .success(())
        }
        end(with: outcome)
    }

    /// Whether a head has arrived.
    var hasHead: Bool {
        state.withLock { $0.head != nil }
    }

    // MARK: How it ends

    private func endAsTooLong() {
        let (head, limit) = state.withLock { ($0.head, $0.limit ?? 0) }
        end(with: .failure(NetworkingError.tooLarge(request, head: head ?? HTTPResponse(status: .ok), limit: limit)))
    }

    /// Ends it, if nothing else has.
    private func end(with outcome: Result<Void, any Error>, isCancellation: Bool = false) {
        let (waiter, task) = state.withLock { state -> (CheckedContinuation<Void, Never>?, URLSessionTask?) in
            guard state.outcome == nil else { return (nil, nil) }
            state.outcome = outcome
            defer { state.task = nil }
            let isUnderway = (try? outcome.get()) == nil
            return (state.takeWaiter(), isUnderway ? state.task : nil)
        }
        if isCancellation {
            waiter?.resume()
        } else {
            resume(waiter)
        }
        if let task {
            Self.cancel(task)
        }
    }

    private func resume(_ waiter: CheckedContinuation<Void, Never>?) {
        guard let waiter else { return }
        if let reports {
            reports.async { waiter.resume() }
        } else {
            waiter.resume()
        }
    }

    private func report(_ tell: @escaping @Sendable (HTTPRequestData) -> Void) {
        reports?.async { [request] in tell(request) }
    }

    private static func cancel(_ task: URLSessionTask) {
        interruptions.async { task.cancel() }
    }

    /// Where tasks are cancelled and challenges are answered.
    ///
    /// swift-corelibs-foundation waits for the session's queue in both, which may be the one that calls here. One
    /// queue, so that many cancellations block one thread; process-wide, because what it waits for is.
    static let interruptions = DispatchQueue(label: "URLSessionExchange.interruptions")

    private struct State {
        var task: URLSessionTask?
        var waiter: (milestone: Milestone, continuation: CheckedContinuation<Void, Never>)?
        var head: HTTPResponse?
        var body = Data()
        var count: Int64 = 0
        /// How long the body will be, when the server said so and what arrives is what it counted.
        var expected: Int64?
        var limit: Int64?
        var progress = TransferProgress()
        var outcome: Result<Void, any Error>?

        init(limit: Int64?) {
            self.limit = limit
        }

        func hasReached(_ milestone: Milestone) -> Bool {
            if outcome != nil { return true }
            return switch milestone {
            case .head: head != nil
            case .bytes: !body.isEmpty
            case .end: false
            }
        }

        /// Whoever waits, if it waits for something that has happened.
        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            guard let waiter, hasReached(waiter.milestone) else { return nil }
            self.waiter = nil
            return waiter.continuation
        }

        mutating func receive(_ head: HTTPResponse, isBodyless: Bool) {
            self.head = head
            if !isBodyless, head.status.canHaveBody, !head.headerFields.contains(.contentEncoding) {
                expected = head.headerFields[.contentLength].flatMap { Int64($0) }
            }
            progress.received.expected = expected
            if let expected, expected > 16_384 {
                body.reserveCapacity(Int(min(expected, limit ?? .max, 64 << 20)))
            }
        }

        mutating func receive(_ data: Data) {
            if body.isEmpty, expected ?? 0 <= 16_384 {
                body = data
            } else {
                body.append(data)
            }
            count += Int64(data.count)
            progress.received.count = count
        }
    }
}

extension HTTPResponse.Status {
    /// RFC 9112 section 6.3: these end with their head.
    fileprivate var canHaveBody: Bool {
        code != 204 && code != 304 && code >= 200
    }
}
#endif
