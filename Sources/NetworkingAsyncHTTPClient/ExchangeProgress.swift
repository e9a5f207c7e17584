#if AsyncHTTPClient
import HTTPTypes
import NetworkingCore
import NIOCore
import Synchronization

/// The progress of an exchange, which it reports to the request's handler and to the watch for silence.
final class ExchangeProgress: Sendable {
    private let request: HTTPRequestData
    /// The watch for silence; `nil` if a modifier of the stack watches.
    private let silence: PhaseWatch?
    private let start = NIODeadline.now()
    private let state: Mutex<State>
    /// AsyncHTTPClient's task and the exchange report concurrently, and the handler receives one report at a time.
    private let reports: OrderedReports?

    init(of request: HTTPRequestData, silence: PhaseWatch?) {
        self.request = request
        self.silence = silence
        reports = request.progressHandler.map { OrderedReports(to: $0) }
        state = Mutex(State(progress: TransferProgress(sent: request.bytesToSend)))
        silence?.moved()
    }

    /// The time since the exchange began.
    var elapsed: Duration {
        Duration(.now() - start)
    }

    /// Records that there is a connection.
    func connect() {
        silence?.moved()
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

    /// Records whether the sink is busy; meanwhile the exchange may be silent.
    func sinkIs(busy isBusy: Bool) {
        silence?.sinkIs(busy: isBusy)
    }

    /// The head of the response, once it has arrived.
    var head: HTTPResponse? {
        state.withLock { $0.head }
    }

    /// Whether the whole body has been received and delivered.
    var hasEnded: Bool {
        state.withLock { $0.hasEnded }
    }

    private func move(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        silence?.moved()
        report()
    }

    /// Reports the progress, unless it is unchanged.
    func report() {
        guard let reports, let (progress, number) = state.withLock({ $0.takeProgress() }) else { return }
        reports.report(progress, number)
    }

    /// Drops all later reports.
    func stop() {
        state.withLock { $0.isOver = true }
        reports?.stop()
    }

    private struct State {
        var head: HTTPResponse?
        var progress: TransferProgress
        var hasEnded = false
        var isOver = false
        private var reported: TransferProgress?
        private var reports = 0

        init(progress: TransferProgress) {
            self.progress = progress
        }

        mutating func takeProgress() -> (TransferProgress, number: Int)? {
            guard !isOver, progress != reported else { return nil }
            reported = progress
            reports += 1
            return (progress, reports)
        }
    }
}
#endif
