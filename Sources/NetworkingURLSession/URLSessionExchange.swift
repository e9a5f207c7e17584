#if URLSession
import Foundation
import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import Synchronization

/// One request in progress over URLSession, with the data that has arrived, the waiter, and the outcome.
///
/// The exchange is the delegate of its task. URLSession calls it on a queue of URLSession's; the sending task waits for
/// the head, for bytes or for the end. The first outcome counts: the server's response, an error, a limit, or the
/// cancellation of the caller. A cancelled caller is resumed at once, without waiting for URLSession.
///
/// On Linux, the whole process shares one queue of URLSession. Work that the sending task can do is therefore done
/// there, such as reading header fields and choosing the error.
final class URLSessionExchange: NSObject, Sendable {
    /// The maximum number of bytes that are kept in memory for a sink.
    private static let maximumInMemory = 1 << 20

    private let request: HTTPRequestData
    private let cookies: URLSessionCookies?
    private let upload: URLSessionUpload?
    private let sessionAcceptsCodings: Bool
    private let calls: URLSessionCalls
    private let load: URLSessionCalls.Load
    /// The bytes of the body that the sending task has not taken yet.
    private let body: SpillBuffer
    private let state: Mutex<State>

    /// The queue for calls to progress handlers and observers; `nil` if there are none.
    ///
    /// URLSession's queue is not suitable: on Linux every call into any session waits for it, so code of the app could
    /// block the whole process from there. The sending task is also resumed through this queue, so that it never
    /// overtakes the last report.
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
        // Without a sink, the whole body is collected, so its limit applies from the first byte.
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

    /// Creates and starts the task, unless the exchange has ended by then.
    ///
    /// Does not wait for URLSession; ``respond()`` waits for the response.
    ///
    /// - Parameter makeTask: Creates the task. Called at most once, on a thread where that call may block.
    func start(_ makeTask: @escaping @Sendable () -> URLSessionTask) {
        if upload?.length ?? 0 > 0 {
            // The first bytes of the body that are sent are the only sign from URLSession that it has connected.
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
                // A task that is never resumed remains in its session unless it is cancelled.
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

    /// Returns the response, after delivering its body to memory or to the request's sink.
    func respond() async throws -> HTTPResponseData {
        guard request.sink != nil else {
            await wait(for: .end)
            let head = try await head()
            // The limit was enforced from the first byte, so nothing has to be delivered here.
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

    /// Delivers the body to a sink chunk by chunk, or into memory at once.
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

    /// Waits for the next bytes of the body, and returns empty data after the last.
    private func nextBytes() async throws -> Data {
        while true {
            await wait(for: .bytes)
            // A cancelled caller does not receive bytes that have already arrived.
            if case .cancelled = state.withLock({ $0.outcome }) { throw CancellationError() }
            do throws(FileFault) {
                let bytes = try body.take { [weak self] in self?.update { _ in } }
                if let bytes { return bytes }
            } catch {
                throw request.unbuffered(error)
            }
        }
    }

    /// Returns the whole body after the exchange has ended.
    private func collectedBody(after head: ReceivedHead) async throws -> Data {
        try checkEnd(after: head)
        var whole = try await nextBytes()
        while !body.isEmpty {
            whole.append(try await nextBytes())
        }
        return whole
    }

    /// Returns the head, or throws the error that ended the exchange before it arrived.
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
        // A cancelled caller receives no response, even if the head has arrived.
        if case .cancelled = state.withLock({ $0.outcome }) { throw CancellationError() }
        return head
    }

    /// Whether the session or the request has requested content codings.
    private var acceptsCodings: Bool {
        sessionAcceptsCodings
            || request.headerFields[.acceptEncoding].map { $0.lowercased() != "identity" } ?? false
    }

    /// Throws the error that ended the exchange, unless it ended normally.
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

// MARK: - Delegate calls

extension URLSessionExchange {
    func receive(_ response: URLResponse) {
        // This is an interim response; the final one follows.
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
        // Nothing else slows the server down. Other exchanges are waiting too, so each wait is short.
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

    /// Ends the exchange with the head and the body that have arrived, in cases where URLSession would not end it.
    func endWithWhatArrived() {
        reportEnd()
        end(with: .refusedChallenge)
    }

    func complete(with error: (any Error)?) {
        if error != nil {
            // Distinguishes a body that ended early from a body that cannot be decoded.
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
    /// Returns the body from its start, for a connection that replaces one that was lost without a response.
    ///
    /// The exchange fails instead (RFC 9110 section 9.2.2) if the server may have received all of a request that must
    /// not be sent twice.
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

    /// Changes the state, resumes the waiter if its milestone is reached, and ends the exchange if a limit is exceeded.
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

    /// Ends the exchange if its body exceeds the decompression limit.
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
            // Does not report after the caller was cancelled, because the caller may have started another attempt.
            if case .cancelled = state.withLock({ $0.outcome }) { return }
            handler(progress)
        }
    }

    /// Reports that the whole body has arrived, even if its length was not known.
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
        // The caller was cancelled and may have started another exchange, to which this event would seem to belong.
        if case .cancelled = state.withLock({ $0.outcome }) { return }
        // The recorder is part of the library and never blocks, and its time should be exact.
        request.recorder?.record(event)
        report { $0.notifyObservers(of: event) }
    }

    private func report(_ tell: @escaping @Sendable (HTTPRequestData) -> Void) {
        reports?.async { [request] in tell(request) }
    }
}

// MARK: - Waiting and ending

extension URLSessionExchange {
    /// A milestone that the sending task can wait for.
    private enum Milestone {
        case head
        case bytes
        case end
    }

    private enum Outcome {
        /// The caller was cancelled.
        case cancelled
        /// The body exceeds its limit.
        case tooLong
        /// The body exceeds the decompression limit.
        case unfoldedTooFar
        /// The sink is too far behind: more bytes are waiting for it than the limit allows.
        case tooFarAhead
        /// Bytes that are waiting for the sink could not be stored.
        case unbuffered(FileFault)
        /// A challenge was refused, so the data that has arrived is the response.
        case refusedChallenge
        /// URLSession has completed the task.
        case completed((any Error)?)

        /// Whether URLSession is still working on the task.
        var leavesTaskRunning: Bool {
            switch self {
            case .cancelled, .tooLong, .unfoldedTooFar, .tooFarAhead, .unbuffered: true
            case .refusedChallenge, .completed: false
            }
        }
    }

    /// Waits until a milestone is reached or the exchange has ended.
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

    /// Ends the exchange, unless it has already ended.
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

    /// Replies to a challenge for which URLSession is waiting.
    func reply(_ call: @escaping @Sendable () -> Void) {
        calls.interrupt(call)
    }

    private struct State {
        var task: URLSessionTask?
        var waiter: (milestone: Milestone, continuation: CheckedContinuation<Void, Never>)?
        private(set) var response: URLResponse?
        private let body: SpillBuffer
        /// The number of bytes that have arrived, including those that have been taken since.
        private(set) var received: Int64 = 0
        /// The number of those bytes on the wire, for a decoded body that ended with an error.
        var encodedReceived: Int64?
        private(set) var limit: Int64
        /// The length above which a decoded body is checked against the decompression limit.
        private let suspiciousLength: Int64
        var progress: TransferProgress
        private var reported: TransferProgress?
        /// The number of bytes of the body that have been sent, including those of earlier attempts to send it.
        private var sentTotal: Int64 = 0
        private(set) var sentBefore: Int64 = 0
        private(set) var outcome: Outcome?
        /// Whether the task was resumed.
        private var isStarted = false
        /// Whether any part of the request is known to have been sent.
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

        /// The task, the number of bytes it has decoded and the number of bytes earlier connections have taken; `nil`
        /// until the body is long enough to check.
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
            // Without a sink, the whole body stays in memory until the end.
            return body.spills && body.count > maximumBufferedBytes ? .tooFarAhead : nil
        }

        /// Sets the limit of the body, and returns whether the body already exceeds it.
        mutating func setLimit(_ limit: Int64) -> Bool {
            self.limit = limit
            return isTooLong
        }

        func hasReached(_ milestone: Milestone) -> Bool {
            switch milestone {
            case .head: return outcome != nil || response != nil
            case .bytes:
                if case .cancelled = outcome { return true }
                // The last bytes may be read from a file after the end.
                return body.isReady || body.isEmpty && outcome != nil
            case .end: return outcome != nil
            }
        }

        /// Returns the waiter if its milestone is reached.
        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            guard let waiter, hasReached(waiter.milestone) else { return nil }
            self.waiter = nil
            return waiter.continuation
        }

        /// Records that the task was resumed, and returns whether it has to be cancelled now.
        ///
        /// The task is not cancelled earlier, because a task that is resumed after its cancellation would run.
        mutating func start() -> Bool {
            isStarted = true
            return outcome?.leavesTaskRunning ?? false
        }

        /// Ends the exchange, and returns the waiter, and the task if it has to be cancelled now.
        ///
        /// - Returns: `nil` if the exchange had already ended.
        mutating func end(with outcome: Outcome) -> (CheckedContinuation<Void, Never>?, URLSessionTask?)? {
            guard self.outcome == nil else { return nil }
            self.outcome = outcome
            defer { task = nil }
            return (takeWaiter(), isStarted && outcome.leavesTaskRunning ? task : nil)
        }

        /// Counts the bytes of the body that have been sent; URLSession continues its count when a body is sent again.
        mutating func send(_ count: Int64) {
            guard outcome == nil else { return }
            wasSent = true
            sentTotal = count
            progress.sent.count = max(progress.sent.count, count - sentBefore)
        }

        /// Restarts the count; the progress does not change until the count reaches its previous value.
        mutating func sendAnew() {
            wasSent = true
            sentBefore = sentTotal
        }

        /// Returns the progress; `nil` if it has already been reported.
        mutating func takeProgress() -> TransferProgress? {
            guard progress != reported else { return nil }
            reported = progress
            return progress
        }

        mutating func receive(_ response: URLResponse) {
            self.response = response
            // The length that a server announces is used only up to a limit.
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
