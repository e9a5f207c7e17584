#if URLSession
import Foundation
import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import Synchronization

// MARK: - Delegate calls

extension URLSessionExchange {
    func receive(_ response: URLResponse) {
        // This is an interim response; the final one follows.
        if let status = (response as? HTTPURLResponse)?.statusCode, status < 200 { return }
        if reports != nil || request.hasListeners, let head = ReceivedHead(response, to: request.method) {
            state.withLock { $0.progress.received.expected = head.length }
            notify(.headReceived(head.http))
            reportProgress()
        }
        update { $0.receive(response) }
        if isRefused(response) {
            end(with: .refusedHead)
        }
    }

    /// Returns whether a body has codings or a framing that the exchange refuses, so that it need not wait for its end.
    private func isRefused(_ response: URLResponse) -> Bool {
        guard let fields = response as? HTTPURLResponse else { return false }
        let framing = fields.value(forHTTPHeaderField: "Transfer-Encoding")
        guard
            framing != nil && framing?.lowercased() != "chunked"
                || fields.value(forHTTPHeaderField: "Content-Encoding") != nil
        else { return false }
        guard let head = ReceivedHead(response, to: request.method) else { return true }
        return head.refusal(of: request, accepting: acceptedCodings) != nil
    }

    func receive(_ data: Data) {
        let count = update { state in
            state.receive(data)
            return state.received
        }
        load.transferred(count)
        checkDecompression()
        reportProgress()
        // Nothing else slows the server down. Other exchanges need the same queue, so the wait is usually short.
        body.waitForDisk()
    }

    func sent(_ count: Int64) {
        let isFirst = state.withLock { state in
            defer { state.send(count) }
            return state.progress.sent.count == 0
        }
        load.transferred(count)
        if isFirst {
            notify(.connected)
        }
        reportProgress()
    }

    /// Ends the exchange with the head and the body that have arrived, in cases where URLSession would not end it.
    func endWithReceivedBody() {
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
        state.withLock { $0.restartCount() }
        let stream = upload?.reading.map { UploadStream($0, isRefused: $0.isRead && !request.mayBeSentTwice) }
        notify(
            ExchangeEvent.failed(
                request.error(for: URLError(.networkConnectionLost), after: nil, received: 0, wasSent: true)
            )
        )
        notify(.started)
        return stream
    }
    #endif

    /// Whether a head has arrived.
    var hasHead: Bool {
        state.withLock { $0.response != nil }
    }

    /// Changes the state, resumes the waiter if its milestone is reached, and ends the exchange if a limit is exceeded.
    func update<Result: Sendable>(_ change: (inout sending State) -> Result) -> Result {
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
        guard let (task, received, sentBefore) = state.withLock({ $0.suspectedOfDecompressing }) else { return }
        let limit = request.decompressionLimit
        if limit.isExceeded(decoded: received, encoded: task.countOfEncodedBytesReceived(sentBefore: sentBefore)) {
            end(with: .decompressionLimitExceeded)
        }
    }
}

// MARK: - Reports

extension URLSessionExchange {
    func reportProgress() {
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
        notify(.connectionMeasured(ConnectionMetrics(last)))
    }

    private func notify(_ event: ExchangeEvent) {
        // The caller was cancelled and may have started another exchange, to which this event would seem to belong.
        if case .cancelled = state.withLock({ $0.outcome }) { return }
        // The recorder is part of the library and never blocks, and its time should be exact.
        request.recorder?.record(event)
        report { $0.notifyObservers(of: event) }
    }

    private func report(_ notify: @escaping @Sendable (HTTPRequestData) -> Void) {
        reports?.async { [request] in notify(request) }
    }
}
#endif
