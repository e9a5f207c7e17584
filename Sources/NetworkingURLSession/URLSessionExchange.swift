#if URLSession
import Foundation
import NetworkingCore
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
///
/// URLSession's queue is one for the whole process on Linux, so what can be done by the sending task is done there:
/// reading header fields, finding the right error.
final class URLSessionExchange: NSObject, Sendable {
    /// The most bytes that wait for a sink in memory.
    private static let maximumInMemory = 1 << 20

    private let request: HTTPRequestData
    private let cookies: URLSessionCookies?
    private let upload: URLSessionUpload?
    private let sessionAcceptsCodings: Bool
    private let calls: URLSessionCalls
    private let load: URLSessionCalls.Load
    /// The bytes of the body that wait for the sending task.
    private let body: SpillBuffer
    private let state: Mutex<State>

    /// Where progress handlers and observers are called, when there are any.
    ///
    /// Not where URLSession calls: on Linux every call into any session waits for that queue, so somebody else's code
    /// could lock up the process from there. The sending task is resumed through it too, so that it never overtakes
    /// the last report.
    private let reports: DispatchQueue?

    init(
        request: HTTPRequestData,
        cookies: URLSessionCookies?,
        upload: URLSessionUpload?,
        acceptsCodings: Bool,
        calls: URLSessionCalls = .shared
    ) {
        self.request = request
        self.cookies = cookies
        self.upload = upload
        sessionAcceptsCodings = acceptsCodings
        self.calls = calls
        load = URLSessionCalls.Load(on: calls)
        let body = SpillBuffer(inMemoryUpTo: request.sink == nil ? .max : Self.maximumInMemory)
        self.body = body
        // Without a sink nobody is asked what becomes of the body, so its limit holds from the first byte.
        state = Mutex(
            State(
                limit: request.sink == nil ? request.maximumResponseBytes : .max,
                decompressionLimit: request.decompressionLimit,
                bytesToSend: upload?.length ?? 0,
                body: body
            )
        )
        let isObserved = request.progressHandler != nil || request.isObserved
        reports = isObserved ? DispatchQueue(label: "URLSessionExchange.reports") : nil
    }

    /// Creates and starts the task, unless the exchange is over by then.
    ///
    /// Does not wait for URLSession: ``respond()`` waits for what the task brings.
    ///
    /// - Parameter makeTask: Creates the task. Called once at most, where such a call may block.
    func start(_ makeTask: @escaping @Sendable () -> URLSessionTask) {
        if upload?.length ?? 0 > 0 {
            // Bytes of a body that leave are the one thing by which URLSession tells that it has connected.
            request.emit(ExchangeEvent.connecting)
        }
        reportProgress()
        load.begin()
        calls.start { [self] in
            guard state.withLock({ $0.outcome == nil }) else {
                load.end()
                return
            }
            let task = makeTask()
            let isOver = state.withLock { state in
                guard state.outcome == nil else { return true }
                state.task = task
                return false
            }
            if isOver {
                // A task that is never resumed stays with its session unless it is cancelled.
                task.cancel()
                load.end()
                return
            }
            task.resume()
            if state.withLock({ $0.start() }) {
                cancel(task)
            }
        }
    }

    /// Brings the response, and its body to where the request wants it.
    func respond() async throws -> HTTPResponseData {
        guard request.sink != nil else {
            await wait(for: .end)
            let head = try await head()
            // The limit held from the first byte, so there is nothing to deliver.
            let whole = try await collectedBody(after: head)
            return HTTPResponseData(request: request, http: head.http, body: .collected(whole))
        }
        defer {
            end(with: .cancelled)
            body.removeAll()
        }
        await wait(for: .head)
        let head = try await head()
        return try await request.deliver(head.http) { try await deliverBody(after: head, to: &$0) }
    }

    /// Passes the body on chunk by chunk to a sink, and at once into memory.
    private func deliverBody(after head: ReceivedHead, to delivery: inout BodyDelivery) async throws {
        if let limit = delivery.limit {
            if state.withLock({ $0.setLimit(limit) }) {
                end(with: .tooLong)
            }
            await wait(for: .end)
            let whole = try await collectedBody(after: head)
            return try await delivery.receive(whole)
        }
        while case let bytes = try await nextBytes(), !bytes.isEmpty {
            try await delivery.receive(bytes)
        }
        try checkEnd(after: head)
    }

    /// Waits for the next bytes of the body; empty after the last.
    private func nextBytes() async throws -> Data {
        while true {
            await wait(for: .bytes)
            // A caller that gave up gets nothing of what had arrived.
            if case .cancelled = state.withLock({ $0.outcome }) { throw CancellationError() }
            do throws(FileFault) {
                let bytes = try body.take { [weak self] in self?.update { _ in } }
                if let bytes { return bytes }
            } catch {
                throw request.unbuffered(error)
            }
        }
    }

    /// The whole body, after the end.
    private func collectedBody(after head: ReceivedHead) async throws -> Data {
        try checkEnd(after: head)
        var whole = try await nextBytes()
        while !body.isEmpty {
            whole.append(try await nextBytes())
        }
        return whole
    }

    /// The head, or what ended the exchange before it came.
    private func head() async throws -> ReceivedHead {
        guard let response = state.withLock({ $0.response }) else {
            try checkEnd(after: nil)
            throw request.invalidAnswer
        }
        guard let head = ReceivedHead(response, to: request.method) else {
            throw request.invalidAnswer
        }
        if let coding = head.decodedCoding, head.encodedLength != 0, !acceptsCodings {
            throw request.unverifiableCoding(coding, of: head.http)
        }
        if let cookies, let response = response as? HTTPURLResponse {
            try await cookies.store(from: response, head.http)
        }
        // A cancelled caller gets no answer, even where the head had come.
        if case .cancelled = state.withLock({ $0.outcome }) { throw CancellationError() }
        return head
    }

    /// Whether the session or the request has asked for content codings.
    private var acceptsCodings: Bool {
        sessionAcceptsCodings
            || request.headerFields[.acceptEncoding].map { $0.lowercased() != "identity" } ?? false
    }

    /// Throws what ended the exchange, unless that was its regular end.
    private func checkEnd(after head: ReceivedHead?) throws {
        let (outcome, received, encoded, limit, wasSent) = state.withLock {
            ($0.outcome, $0.received, $0.encodedReceived, $0.limit, $0.wasSent)
        }
        if case .completed = outcome, let failure = upload?.failure {
            throw failure.error(
                of: request,
                response: head.map { request.response(with: $0.http) }
            )
        }
        switch outcome {
        case .cancelled:
            throw CancellationError()
        case .tooLong:
            throw NetworkingError.tooLarge(request, head: head?.http ?? HTTPResponse(status: .ok), limit: limit)
        case .unfoldedTooFar:
            throw request.unfoldedTooFar(head?.http, after: received)
        case .tooFarAhead:
            throw request.tooFarAhead
        case .unbuffered(let fault):
            throw request.unbuffered(fault)
        case .completed(let error?):
            throw request.error(for: error, after: head, received: encoded ?? received, wasSent: wasSent)
        case .completed(nil):
            guard let head, let expected = head.length, received != expected else { return }
            guard received < expected else { throw request.longerThanAnnounced(head.http, received, expected) }
            throw request.truncated(head.http, received: received, of: expected)
        case .refusedChallenge, nil:
            return
        }
    }
}

// MARK: - What URLSession tells

extension URLSessionExchange {
    func receive(_ response: URLResponse) {
        // An interim response; the final one follows.
        if let status = (response as? HTTPURLResponse)?.statusCode, status < 200 { return }
        if reports != nil || request.hasListeners, let head = ReceivedHead(response, to: request.method) {
            state.withLock { $0.progress.received.expected = head.length }
            tell(.headReceived(head.http))
            reportProgress()
        }
        update { $0.receive(response) }
    }

    func receive(_ data: Data) {
        let count = update { state in
            state.receive(data)
            return state.received
        }
        load.transferred(count)
        checkDecompression()
        reportProgress()
        // Nothing else holds the server back. Other exchanges wait too, so each wait is short.
        body.waitForDisk()
    }

    func sent(_ count: Int64) {
        let isFirst = state.withLock { state in
            defer { state.send(count) }
            return state.progress.sent.count == 0
        }
        load.transferred(count)
        if isFirst {
            tell(.connected)
        }
        reportProgress()
    }

    /// Ends with the head and the body that have arrived, when URLSession would not.
    func endWithWhatArrived() {
        reportEnd()
        end(with: .refusedChallenge)
    }

    func complete(with error: (any Error)?) {
        if error != nil {
            // Tells a body that ended early from one that could not be decoded.
            state.withLock { state in
                guard state.isDecoded else { return }
                state.encodedReceived = state.task?.countOfEncodedBytesReceived(sentBefore: state.sentBefore)
            }
        } else {
            reportEnd()
        }
        end(with: .completed(error))
    }

    #if canImport(FoundationNetworking)
    /// The body from its start, for a connection that takes the place of one that was lost without an answer.
    ///
    /// When the server may have got all of a request that must not be sent twice, the exchange fails instead
    /// (RFC 9110 section 9.2.2).
    func newBodyStream() -> InputStream? {
        state.withLock { $0.sendAnew() }
        let stream = upload?.reading.map { UploadStream($0, isRefused: $0.isRead && !request.mayBeSentTwice) }
        tell(
            ExchangeEvent.failed(
                request.error(for: URLError(.networkConnectionLost), after: nil, received: 0, wasSent: true)
            )
        )
        tell(.started)
        return stream
    }
    #endif

    /// Whether a head has arrived.
    var hasHead: Bool {
        state.withLock { $0.response != nil }
    }

    /// Changes the state, resumes whoever waited for that, and ends the exchange when its body is too long.
    private func update<Result: Sendable>(_ change: (inout sending State) -> Result) -> Result {
        let maximum = request.maximumBufferedBytes
        let (result, waiter, outcome) = state.withLock { state in
            let result = change(&state)
            return (result, state.takeWaiter(), state.brokenLimit(maximumBufferedBytes: maximum))
        }
        if let outcome {
            end(with: outcome)
        }
        resume(waiter)
        return result
    }

    /// Ends the exchange when its body unfolds too far.
    private func checkDecompression() {
        guard let (task, received, sentBefore) = state.withLock({ $0.suspectedOfUnfolding }) else { return }
        let limit = request.decompressionLimit
        if limit.isExceeded(decoded: received, encoded: task.countOfEncodedBytesReceived(sentBefore: sentBefore)) {
            end(with: .unfoldedTooFar)
        }
    }

    private func reportProgress() {
        guard reports != nil, let handler = request.progressHandler else { return }
        let progress = state.withLock { $0.takeProgress() }
        guard let progress else { return }
        report { [self] _ in
            // Not after the caller has left, who may have begun another attempt.
            if case .cancelled = state.withLock({ $0.outcome }) { return }
            handler(progress)
        }
    }

    /// Reports that all of the body has arrived, also where nobody knew how long it would be.
    private func reportEnd() {
        guard reports != nil else { return }
        state.withLock { $0.progress.received.expected = $0.progress.received.count }
        reportProgress()
    }

    func measure(_ metrics: URLSessionTaskMetrics) {
        if metrics.transactionMetrics.contains(where: { $0.requestStartDate != nil }) {
            state.withLock { $0.wasSent = true }
        }
        guard request.hasListeners, let last = metrics.transactionMetrics.last else { return }
        tell(.connectionMeasured(ConnectionMetrics(last)))
    }

    private func tell(_ event: ExchangeEvent) {
        // Its caller has left, and may have begun another exchange, whose event it would seem to be.
        if case .cancelled = state.withLock({ $0.outcome }) { return }
        // It is the library's own and never blocks, and the time should be right.
        request.recorder?.record(event)
        report { $0.notifyObservers(of: event) }
    }

    private func report(_ tell: @escaping @Sendable (HTTPRequestData) -> Void) {
        reports?.async { [request] in tell(request) }
    }
}

// MARK: - Waiting and ending

extension URLSessionExchange {
    /// What the sending task can wait for.
    private enum Milestone {
        case head
        case bytes
        case end
    }

    private enum Outcome {
        /// The caller has no more use for it.
        case cancelled
        /// The body is longer than its limit.
        case tooLong
        /// The body is longer than its compressed form may become.
        case unfoldedTooFar
        /// More waits for the sink than may.
        case tooFarAhead
        /// What waits for the sink could not be put anywhere.
        case unbuffered(FileFault)
        /// A challenge was refused, so that what had arrived is the answer.
        case refusedChallenge
        /// URLSession is done.
        case completed((any Error)?)

        /// Whether URLSession still works on the task.
        var leavesTaskRunning: Bool {
            switch self {
            case .cancelled, .tooLong, .unfoldedTooFar, .tooFarAhead, .unbuffered: true
            case .refusedChallenge, .completed: false
            }
        }
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
            end(with: .cancelled)
        }
    }

    /// Ends it, if nothing else has.
    private func end(with outcome: Outcome) {
        guard let (waiter, task) = state.withLock({ $0.end(with: outcome) }) else { return }
        if case .cancelled = outcome {
            waiter?.resume()
        } else {
            resume(waiter)
        }
        if let task {
            cancel(task)
        } else {
            load.end()
        }
    }

    private func cancel(_ task: URLSessionTask) {
        calls.interrupt { [self] in
            task.cancel()
            load.end()
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

    /// Replies to a challenge that URLSession waits for.
    func reply(_ call: @escaping @Sendable () -> Void) {
        calls.interrupt(call)
    }

    private struct State {
        var task: URLSessionTask?
        var waiter: (milestone: Milestone, continuation: CheckedContinuation<Void, Never>)?
        private(set) var response: URLResponse?
        private let body: SpillBuffer
        /// How many bytes have arrived, also when they have been taken since.
        private(set) var received: Int64 = 0
        /// How many of them there were on the wire, for a body that was decoded and did not end well.
        var encodedReceived: Int64?
        private(set) var limit: Int64
        /// The length from which on a decoded body is looked at.
        private let suspiciousLength: Int64
        var progress: TransferProgress
        private var reported: TransferProgress?
        /// How many bytes of the body have left, those of earlier sendings included.
        private var sentTotal: Int64 = 0
        private(set) var sentBefore: Int64 = 0
        private(set) var outcome: Outcome?
        /// Whether the task was resumed.
        private var isStarted = false
        /// Whether any of the request is known to have left.
        var wasSent = false

        init(limit: Int64, decompressionLimit: DecompressionLimit, bytesToSend: Int64, body: SpillBuffer) {
            self.limit = limit
            self.body = body
            progress = TransferProgress(sent: BytesSent(expected: bytesToSend))
            let free = decompressionLimit.ratio == nil ? .max : DecompressionLimit.freeBytes
            suspiciousLength = min(free, decompressionLimit.size ?? .max)
        }

        /// Whether URLSession decodes the body.
        var isDecoded: Bool {
            let coding = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding")
            return coding.map { ReceivedHead.isDecoded($0) } ?? false
        }

        /// The task, how much it has decoded and how much earlier connections have taken, once the body is long enough
        /// to check.
        var suspectedOfUnfolding: (task: URLSessionTask, received: Int64, sentBefore: Int64)? {
            guard received > suspiciousLength, outcome == nil, let task, isDecoded else { return nil }
            return (task, received, sentBefore)
        }

        var isTooLong: Bool {
            received > limit
        }

        func brokenLimit(maximumBufferedBytes: Int64) -> Outcome? {
            if isTooLong { return .tooLong }
            if let fault = body.fault { return .unbuffered(fault) }
            // Without a sink, all of it waits for the end.
            return body.spills && body.count > maximumBufferedBytes ? .tooFarAhead : nil
        }

        /// Limits the body, and answers whether it is over that already.
        mutating func setLimit(_ limit: Int64) -> Bool {
            self.limit = limit
            return isTooLong
        }

        func hasReached(_ milestone: Milestone) -> Bool {
            switch milestone {
            case .head: return outcome != nil || response != nil
            case .bytes:
                if case .cancelled = outcome { return true }
                // The last bytes may come from a file after the end.
                return body.isReady || body.isEmpty && outcome != nil
            case .end: return outcome != nil
            }
        }

        /// Whoever waits, if it waits for something that has happened.
        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            guard let waiter, hasReached(waiter.milestone) else { return nil }
            self.waiter = nil
            return waiter.continuation
        }

        /// Notes that the task was resumed, and returns whether it has to be cancelled now.
        ///
        /// It is not cancelled before, since a task that is resumed after that would run.
        mutating func start() -> Bool {
            isStarted = true
            return outcome?.leavesTaskRunning ?? false
        }

        /// Ends the exchange, and returns whoever waits and the task if it has to be cancelled now.
        ///
        /// - Returns: `nil` if it had ended.
        mutating func end(with outcome: Outcome) -> (CheckedContinuation<Void, Never>?, URLSessionTask?)? {
            guard self.outcome == nil else { return nil }
            self.outcome = outcome
            defer { task = nil }
            return (takeWaiter(), isStarted && outcome.leavesTaskRunning ? task : nil)
        }

        /// Counts the bytes of the body that have left, which URLSession counts on when a body is sent again.
        mutating func send(_ count: Int64) {
            guard outcome == nil else { return }
            wasSent = true
            sentTotal = count
            progress.sent.count = max(progress.sent.count, count - sentBefore)
        }

        /// Begins to count anew; the progress stands still until it is where it was.
        mutating func sendAnew() {
            wasSent = true
            sentBefore = sentTotal
        }

        /// How far it has come, unless that was told.
        mutating func takeProgress() -> TransferProgress? {
            guard progress != reported else { return nil }
            reported = progress
            return progress
        }

        mutating func receive(_ response: URLResponse) {
            self.response = response
            // What a server claims is believed up to a bound.
            let expected = min(response.expectedContentLength, limit, Int64(min(body.maximumInMemory, 64 << 20)))
            if expected > 16_384 {
                body.reserveCapacity(Int(expected))
            }
        }

        mutating func receive(_ data: Data) {
            guard outcome == nil else { return }
            body.append(data)
            received += Int64(data.count)
            progress.received.count = received
        }
    }
}

#endif
