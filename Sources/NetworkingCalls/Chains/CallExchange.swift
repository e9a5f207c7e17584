import HTTPTypes
import NetworkingCore
import Synchronization

/// The exchange of a prepared call: sent at most once, however many handlers and waiters the call has.
final class CallExchange: Sendable {
    typealias HeadHandler = @Sendable (HTTPResponse) -> Void

    private struct State {
        var hasStarted = false
        var isOver = false
        /// Whether the exchange continues when no task waits for it.
        var isKept = false
        var waiters = 0
        var task: OwnedTask<Void>?
        var head: HTTPResponse?
        var headHandlers: [HeadHandler] = []
        var reports: [NewestReport<TransferProgress>] = []
    }

    /// The request, as the app created it.
    let request: HTTPRequestData
    /// Returns the request as the stack rewrites it.
    let resolve: @Sendable () -> HTTPRequestData
    /// Sends a request and passes the result to the outcome.
    private let perform: @Sendable (CallExchange, HTTPRequestData) async -> Void
    /// Ends the outcome with `CancellationError`.
    private let abort: @Sendable () -> Void
    private let state = Mutex(State())

    init<Value: Sendable>(
        _ request: HTTPRequestData,
        endingIn outcome: Outcome<Value>,
        resolve: @escaping @Sendable () -> HTTPRequestData,
        send: @escaping @Sendable (HTTPRequestData) async throws -> (body: Value, response: HTTPResponseData)
    ) {
        self.request = request
        self.resolve = resolve
        perform = { exchange, request in
            do {
                let (value, response) = try await send(request)
                exchange.end(head: response.http)
                outcome.end(with: .success(value))
            } catch {
                exchange.end(head: (error as? NetworkingError)?.response?.http)
                outcome.end(with: .failure(error))
            }
        }
        abort = { outcome.end(with: .failure(CancellationError())) }
    }

    /// Sends the request, unless it was sent or cancelled before.
    ///
    /// - Parameter isKept: Whether the exchange continues when no task waits for it. If it is `false`, the caller is a
    ///   waiter, and must call ``leave()``.
    func start(isKept: Bool) {
        let isFirst = state.withLock { state in
            state.isKept = state.isKept || isKept
            state.waiters += isKept ? 0 : 1
            guard !state.hasStarted, !state.isOver else { return false }
            state.hasStarted = true
            return true
        }
        guard isFirst else { return }
        let task: OwnedTask<Void> = .immediate { [self] in await run() }
        let isOver = state.withLock { state in
            if !state.isOver {
                state.task = task
            }
            return state.isOver
        }
        // The call may have been cancelled while it was being started.
        if isOver {
            task.cancel()
        }
    }

    /// Removes a waiter; the last one cancels the exchange, unless it is kept.
    func leave() {
        let isAbandoned = state.withLock { state in
            state.waiters -= 1
            return state.waiters == 0 && !state.isKept && !state.isOver
        }
        if isAbandoned {
            cancel()
        }
    }

    /// Cancels the exchange, or keeps it from being sent; does nothing after its end.
    func cancel() {
        let (task, reports) = end()
        for report in reports {
            report.stop()
        }
        task?.cancel()
        abort()
    }

    // MARK: Handlers

    /// Adds a handler for the head of the response of each attempt.
    ///
    /// A handler that is added after the start receives the latest head that is known, and may miss earlier ones.
    func onHead(_ handler: @escaping HeadHandler) {
        let head = state.withLock { state in
            if !state.isOver {
                state.headHandlers.append(handler)
            }
            return state.head
        }
        if let head {
            handler(head)
        }
    }

    /// Passes the progress to a report, which must be added before the start.
    func onProgress(_ report: NewestReport<TransferProgress>) {
        state.withLock { state in
            if !state.isOver {
                state.reports.append(report)
            }
        }
    }

    private func arrived(_ head: HTTPResponse) {
        let handlers = state.withLock { state -> [HeadHandler] in
            guard !state.isOver else { return [] }
            state.head = head
            return state.headHandlers
        }
        for handler in handlers {
            handler(head)
        }
    }

    /// Ends the exchange with the head of its response, which the handlers receive unless a head has arrived before.
    private func end(head: HTTPResponse?) {
        if let head, state.withLock({ $0.head == nil }) {
            arrived(head)
        }
        _ = end()
    }

    private func end() -> (OwnedTask<Void>?, [NewestReport<TransferProgress>]) {
        let (task, reports, handlers) = state.withLock { state in
            defer { (state.isOver, state.task, state.reports, state.headHandlers) = (true, nil, [], []) }
            return (state.task, state.reports, state.headHandlers)
        }
        // Outside of the lock, because releasing a handler may release objects of the app.
        withExtendedLifetime(handlers) {}
        return (task, reports)
    }

    // MARK: Sending

    /// Sends the request off the caller's thread, because decoding may take long.
    @concurrent
    private func run() async {
        await perform(self, observed())
    }

    /// Returns the request with a sink and a progress handler that report to the handlers of the call.
    ///
    /// They do not retain the exchange, because a response retains its request.
    private func observed() -> HTTPRequestData {
        let (hasHeadHandlers, reports) = state.withLock { (!$0.headHandlers.isEmpty, $0.reports) }
        var request = request
        if !reports.isEmpty {
            request.addProgressHandler { [weak self] in self?.report($0) }
        }
        if hasHeadHandlers {
            let report: HeadHandler = { [weak self] head in self?.arrived(head) }
            if let sink = request.sink {
                request.sink = HeadForwardingSink(sink: sink, report: report)
            } else {
                request.sink = HeadSink(report: report)
            }
        }
        return request
    }

    private func report(_ progress: TransferProgress) {
        for report in state.withLock({ $0.reports }) {
            report.report(progress)
        }
    }
}
