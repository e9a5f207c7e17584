import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingObservability
import NetworkingResilience
import Synchronization

/// A recording of one call, updated as its events arrive.
///
/// It stores requests without their options, because the options hold the observers, including this one.
final class CallCapture: NetworkEventObserver {
    let id: Int
    let date: Date
    private let bodyLimit: Int
    /// The number of bytes that the call may take, without its bodies, before further exchanges are ignored.
    private let sizeLimit: Int
    private let clock: NetworkClock
    private let start: Duration
    private let state: Mutex<State>

    init(_ id: Int, of request: HTTPRequestData, for inspector: NetworkInspector) {
        self.id = id
        bodyLimit = inspector.bodyLimit
        sizeLimit = inspector.maximumBytes / 8
        let rules = CaptureRules(
            redaction: inspector.redaction.redactingSecrets(of: request),
            bodyLimit: inspector.bodyLimit
        )
        state = Mutex(
            State(request: CapturedRequest(request, rules), redaction: rules.redaction, shelf: inspector.shelf)
        )
        clock = NetworkEnvironment.current.clock
        start = clock.now
        date = clock.date
    }

    struct State {
        /// The request as the inspector received it.
        var request: CapturedRequest
        /// The redaction, including all secrets that the call has revealed so far.
        var redaction: Redaction
        /// The shelf to notify; `nil` after the end, because the shelf refers to this object.
        var shelf: CallShelf?
        var exchanges: [Exchange] = []
        var end: End?
        /// Whether the call waits for an exchange that another call started.
        ///
        /// The events during the wait belong to that call, and are not recorded.
        var isFollowing = false
        var hasDroppedBodies = false
        /// Whether the shelf has removed the call, so that nothing more is recorded.
        var isForgotten = false
    }

    struct End {
        var result: Result<CapturedResponse, CapturedFailure>
        let isCancelled: Bool
        let metrics: CallMetrics
    }

    /// One exchange of a transport; times are relative to the start of the call.
    struct Exchange {
        let number: UInt32
        var request: CapturedRequest
        let start: Duration
        var bodyRead: Duration?
        var connecting: Duration?
        var connected: Duration?
        var headReceived: Duration?
        var end: Duration?
        var head: HTTPResponse?
        var response: CapturedResponse?
        var failure: CapturedFailure?
        var connection: ConnectionMetrics?
        var sentBytes: Int64?
    }

    /// The approximate number of bytes of memory that the recording takes now.
    var size: CaptureSize {
        state.withLock { $0.size }
    }

    /// The current state and the elapsed time.
    var snapshot: (state: State, elapsed: Duration) {
        (state.withLock { $0 }, clock.now - start)
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        let now = clock.now - start
        let isNews = state.withLock {
            $0.note(event, of: request, at: now, bodyLimit: bodyLimit, sizeLimit: sizeLimit)
        }
        if isNews { notifyShelf() }
    }

    func end(with response: HTTPResponseData, _ metrics: CallMetrics) {
        // For an exchange that another call made, the secrets are known only from this request.
        let rules = rules(with: response.sentRequest)
        end(.success(CapturedResponse(response, rules)), isCancelled: false, metrics)
    }

    func end(with error: any Error, about response: HTTPResponseData?, _ metrics: CallMetrics) {
        let rules = rules(with: (error as? NetworkingError)?.request ?? response?.sentRequest)
        end(.failure(CapturedFailure(error, about: response, rules)), isCancelled: error is CancellationError, metrics)
    }

    private func rules(with request: HTTPRequestData?) -> CaptureRules {
        state.withLock { state in
            if let request { state.redaction = state.redaction.redactingSecrets(of: request) }
            return CaptureRules(redaction: state.redaction, bodyLimit: bodyLimit)
        }
    }

    private func end(
        _ result: Result<CapturedResponse, CapturedFailure>,
        isCancelled: Bool,
        _ metrics: CallMetrics
    ) {
        let now = clock.now - start
        state.withLock { state in
            guard !state.isForgotten else { return }
            // The transport may not have reported yet that it has stopped.
            for index in state.exchanges.indices where state.exchanges[index].end == nil {
                state.exchanges[index].end = now
            }
            state.end = End(result: result, isCancelled: isCancelled, metrics: metrics)
            if state.hasDroppedBodies { state.dropBodies() }
        }
        notifyShelf()
        state.withLock { $0.shelf = nil }
    }

    /// Drops the bodies to free memory for other calls, and also drops bodies that arrive later.
    func dropBodies() {
        // Released after unlocking, because releasing a body may run code of its creator.
        let before = state.withLock { state in
            defer { state.dropBodies() }
            return state
        }
        withExtendedLifetime(before) {}
    }

    /// Stops recording a call in progress, because the shelf has removed it.
    func forget() {
        // Released after unlocking, because releasing the contents may run code of their creator.
        let before = state.withLock { state -> State? in
            guard state.end == nil else { return nil }
            defer {
                state.isForgotten = true
                state.shelf = nil
                state.exchanges = []
                state.dropBodies()
            }
            return state
        }
        withExtendedLifetime(before) {}
    }

    private func notifyShelf() {
        let (shelf, size) = state.withLock { ($0.shelf, $0.size) }
        shelf?.update(id, size: size)
    }
}

extension CallCapture.State {
    /// Records an event.
    ///
    /// - Returns: Whether a live page should be updated at once.
    fileprivate mutating func note(
        _ event: any NetworkEvent,
        of request: HTTPRequestData,
        at now: Duration,
        bodyLimit: Int,
        sizeLimit: Int
    ) -> Bool {
        guard !isForgotten else { return false }
        switch event {
        case WaitEvent.waiting(.sharing, _): isFollowing = true
        case WaitEvent.waited(.sharing, _): isFollowing = false
        default: break
        }
        guard !isFollowing, end == nil else { return false }
        switch event {
        case let event as ExchangeEvent:
            return note(event, of: request, at: now, bodyLimit: bodyLimit, sizeLimit: sizeLimit)
        case TimeoutEvent.expired(let limit):
            return noteEnd(of: "timeout", "It timed out after \(limit.milliseconds).", at: now)
        case DeadlineEvent.exceeded(let limit):
            return noteEnd(of: "deadline", "It exceeded the deadline of \(limit.milliseconds).", at: now)
        default: return false
        }
    }

    private mutating func note(
        _ event: ExchangeEvent,
        of request: HTTPRequestData,
        at now: Duration,
        bodyLimit: Int,
        sizeLimit: Int
    ) -> Bool {
        if case .started = event {
            // A call with 1,000 exchanges, or with such a size, is probably endless, and its beginning is enough.
            guard exchanges.count < 1_000, exchanges.isEmpty || size.rest < sizeLimit else { return false }
            redaction = redaction.redactingSecrets(of: request)
            let captured = CapturedRequest(request, CaptureRules(redaction: redaction, bodyLimit: bodyLimit))
            exchanges.append(CallCapture.Exchange(number: request.exchangeNumber, request: captured, start: now))
            if hasDroppedBodies { dropBodies() }
            return true
        }
        guard let index = exchanges.lastIndex(where: { $0.number == request.exchangeNumber }) else { return false }
        defer {
            if hasDroppedBodies { dropBodies() }
        }
        return exchanges[index].note(event, at: now, CaptureRules(redaction: redaction, bodyLimit: bodyLimit))
    }

    /// Records that a limit of the stack cancelled the current exchange, unless the exchange has ended otherwise.
    ///
    /// The cancellation itself may be reported before or after the event of the limit.
    private mutating func noteEnd(of kind: String, _ reason: String, at now: Duration) -> Bool {
        guard let last = exchanges.indices.last, exchanges[last].response == nil else { return false }
        guard exchanges[last].failure == nil || exchanges[last].failure?.kind == CapturedFailure.cancelled else {
            return false
        }
        exchanges[last].failure = CapturedFailure(kind: kind, reason: reason)
        exchanges[last].end = exchanges[last].end ?? now
        return true
    }

    /// The approximate number of bytes of memory that the recording takes.
    fileprivate var size: CaptureSize {
        var size = CaptureSize(bodies: bodyBytes, rest: CaptureSize.call + request.headBytes)
        for exchange in exchanges {
            size.rest += exchange.headBytes
        }
        switch end?.result {
        case .success(let response): size.rest += response.headBytes
        case .failure(let failure): size.rest += failure.headBytes
        case nil: break
        }
        size.rest += end?.metrics.byteCount ?? 0
        return size
    }

    private var bodyBytes: Int {
        guard !hasDroppedBodies else { return 0 }
        var bytes = request.bodyBytes
        for exchange in exchanges {
            // Most requests are sent with their original body.
            bytes += exchange.request.request.body == request.request.body ? 0 : exchange.request.bodyBytes
            bytes += exchange.response?.body.keptBytes ?? exchange.failure?.response?.body.keptBytes ?? 0
        }
        if case .success(let response) = end?.result, response.body != exchanges.last?.response?.body {
            bytes += response.body.keptBytes
        }
        return bytes
    }

    /// Replaces each body with its length.
    fileprivate mutating func dropBodies() {
        hasDroppedBodies = true
        request.dropBody()
        for index in exchanges.indices {
            exchanges[index].request.dropBody()
            exchanges[index].response?.dropBody()
            exchanges[index].failure?.response?.dropBody()
        }
        switch end?.result {
        case .success(var response):
            response.dropBody()
            end?.result = .success(response)
        case .failure(var failure):
            failure.response?.dropBody()
            end?.result = .failure(failure)
        case nil: break
        }
    }
}

extension CallCapture.Exchange {
    /// The approximate number of bytes of memory that the exchange takes without its bodies.
    fileprivate var headBytes: Int {
        CaptureSize.exchange + request.headBytes + (response?.headBytes ?? head?.byteCount ?? 0)
            + (failure?.headBytes ?? 0)
    }

    fileprivate mutating func note(_ event: ExchangeEvent, at now: Duration, _ rules: CaptureRules) -> Bool {
        switch event {
        case .bodyRead: bodyRead = now
        case .connecting: connecting = now
        case .connected: connected = now
        case .headReceived(let head) where head.status.kind != .informational: (self.head, headReceived) = (head, now)
        case .connectionMeasured(let metrics): connection = metrics
        case .responseReceived(let response): self.response = CapturedResponse(response, rules)
        case .ended(let sent, _): (sentBytes, end) = (sent, now)
        case .failed(let error):
            // The event of a limit may have been recorded first.
            failure = failure ?? CapturedFailure(error, about: (error as? NetworkingError)?.response, rules)
            end = end ?? now
        default: return false
        }
        return end != nil
    }
}
