#if AsyncHTTPClient
import HTTPTypes
import NetworkingCore
import NIOCore
import Synchronization

/// The progress of an exchange, and whether it has stalled.
final class TransferWatch: Sendable {
    private let request: HTTPRequestData
    private let group: any EventLoopGroup
    /// The group if it is a single event loop, because a test may control the time of that loop.
    private let eventLoop: (any EventLoop)?
    private let start: NIODeadline
    private let state: Mutex<State>
    /// AsyncHTTPClient's task and the exchange report concurrently, and the handler receives one report at a time.
    private let reports: OrderedReports?

    /// Creates the watch of an exchange.
    ///
    /// It takes an event loop only when it needs one. AsyncHTTPClient takes the next event loop for each request. If
    /// each watch took one as well, AsyncHTTPClient would use only every second event loop.
    init(of request: HTTPRequestData, on group: any EventLoopGroup) {
        self.request = request
        self.group = group
        eventLoop = group as? any EventLoop
        start = eventLoop?.now ?? .now()
        reports = request.progressHandler.map { OrderedReports(to: $0) }
        state = Mutex(State(sent: request.bytesToSend, now: start))
    }

    /// The time since the exchange began.
    var elapsed: Duration {
        Duration(now - start)
    }

    private var now: NIODeadline {
        eventLoop?.now ?? .now()
    }

    // MARK: Progress

    /// Records that there is a connection.
    func connect() {
        state.withLock { $0.lastMove = now }
        request.emit(ExchangeEvent.connected)
    }

    func send(_ count: Int) {
        move { $0.progress.sent.count += Int64(count) }
    }

    func receive(_ head: HTTPResponse, expecting count: Int64?) {
        move { state in
            state.head = head
            state.progress.received.expected = count
        }
    }

    func receive(_ count: Int64) {
        move { $0.progress.received.count = count }
    }

    func end(received count: Int64) {
        move { state in
            state.progress.received = BytesReceived(count: count, expected: count)
            state.hasEnded = true
        }
    }

    /// Whether the sink is busy; meanwhile the exchange may be silent.
    var isSinkBusy: Bool {
        get { state.withLock { $0.isSinkBusy } }
        set {
            state.withLock { state in
                state.isSinkBusy = newValue
                state.lastMove = now
            }
        }
    }

    /// The head of the response, once it has arrived.
    var head: HTTPResponse? {
        state.withLock { $0.head }
    }

    private func move(_ change: (inout State) -> Void) {
        state.withLock { state in
            state.lastMove = now
            change(&state)
        }
        report()
    }

    /// Reports the progress, unless it is unchanged.
    func report() {
        guard let reports, let (progress, number) = state.withLock({ $0.takeProgress() }) else { return }
        reports.report(progress, number)
    }

    /// Whether the whole body has been received and delivered.
    var hasEnded: Bool {
        state.withLock { $0.hasEnded }
    }

    // MARK: Silence

    /// The silence that ended the exchange, if that was the reason.
    var silence: Silence? {
        state.withLock { $0.isSilent } ? Silence(limit: request.allowedSilence) : nil
    }

    /// Watches until it is stopped, and calls a closure after too long a silence.
    func start(onSilence: @escaping @Sendable () -> Void) {
        watch(in: request.allowedSilence, onSilence)
    }

    /// Ends the watch, and drops all later reports.
    func stop() {
        state.withLock { $0.stop() }?.cancel()
        reports?.stop()
    }

    private func watch(in delay: Duration, _ onSilence: @escaping @Sendable () -> Void) {
        let patience = request.allowedSilence
        let alarm = (eventLoop ?? group.any())
            .scheduleTask(in: .upToADay(delay)) { [weak self] in
                guard let self, let rest = state.withLock({ $0.rest(of: patience, at: now) }) else { return }
                if rest <= .zero {
                    onSilence()
                } else {
                    watch(in: rest, onSilence)
                }
            }
        if !state.withLock({ $0.keep(alarm) }) {
            alarm.cancel()
        }
    }

    private struct State {
        var head: HTTPResponse?
        var progress: TransferProgress
        private var reported: TransferProgress?
        private var reports = 0
        var lastMove: NIODeadline
        var isSinkBusy = false
        var hasEnded = false
        private(set) var isSilent = false
        private var isOver = false
        private var alarm: Scheduled<Void>?

        init(sent: BytesSent, now: NIODeadline) {
            progress = TransferProgress(sent: sent)
            lastMove = now
        }

        mutating func takeProgress() -> (TransferProgress, number: Int)? {
            guard !isOver, progress != reported else { return nil }
            reported = progress
            reports += 1
            return (progress, reports)
        }

        /// Returns the remaining time; `nil` if the watch has ended.
        mutating func rest(of patience: Duration, at now: NIODeadline) -> Duration? {
            guard !isOver else { return nil }
            if isSinkBusy { return patience }
            let rest = patience - Duration(now - lastMove)
            isSilent = rest <= .zero
            return rest
        }

        /// Stores an alarm so that it can be cancelled; returns `false` if the watch has ended.
        mutating func keep(_ alarm: Scheduled<Void>) -> Bool {
            guard !isOver else { return false }
            self.alarm = alarm
            return true
        }

        mutating func stop() -> Scheduled<Void>? {
            isOver = true
            defer { alarm = nil }
            return alarm
        }
    }
}

extension TimeAmount {
    /// Converts a duration to NIO's type, limited to one day because a long duration could overflow.
    static func upToADay(_ duration: Duration) -> TimeAmount {
        TimeAmount(min(duration, .seconds(86_400)))
    }
}
#endif
