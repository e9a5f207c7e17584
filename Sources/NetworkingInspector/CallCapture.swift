import HTTPTypes
import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What one call does, written down as it happens.
///
/// It keeps requests without their options, since those hold whoever listens, itself among them.
final class CallCapture: NetworkEventObserver {
    let id: Int
    /// The request as it came to the inspector.
    let request: CapturedRequest
    let date: Date
    let rules: CaptureRules
    private let clock: NetworkClock
    private let start: Duration
    private let shelf: CallShelf
    private let state = Mutex(State())

    init(_ id: Int, of request: HTTPRequestData, for inspector: NetworkInspector) {
        self.id = id
        rules = CaptureRules(
            redaction: inspector.redaction.hidingSecrets(of: request),
            bodyLimit: inspector.bodyLimit
        )
        self.request = CapturedRequest(request, rules)
        shelf = inspector.shelf
        clock = NetworkEnvironment.current.clock
        start = clock.now
        date = clock.date
    }

    struct State {
        var exchanges: [Exchange] = []
        var end: End?
        /// Whether it waits for an exchange that another call began: what happens in that is the other's.
        var isFollowing = false
        var hasDroppedBodies = false
    }

    struct End {
        let result: Result<CapturedResponse, CapturedFailure>
        let isCancelled: Bool
        let metrics: CallMetrics
    }

    /// One exchange of a transport; moments are counted from the beginning of the call.
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

    /// What it is now.
    var snapshot: (state: State, elapsed: Duration) {
        (state.withLock { $0 }, clock.now - start)
    }

    func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
        let now = clock.now - start
        let isNews = state.withLock { $0.note(event, of: request, at: now, rules) }
        if isNews { tell() }
    }

    func end(with response: HTTPResponseData, _ metrics: CallMetrics) {
        end(.success(CapturedResponse(response, rules)), isCancelled: false, metrics)
    }

    func end(with error: any Error, _ metrics: CallMetrics) {
        let failure = CapturedFailure(error, rules)
        end(.failure(failure), isCancelled: error is CancellationError, metrics)
    }

    private func end(
        _ result: Result<CapturedResponse, CapturedFailure>,
        isCancelled: Bool,
        _ metrics: CallMetrics
    ) {
        state.withLock { state in
            let now = clock.now - start
            // Its transport may not have told yet that it has given up.
            for index in state.exchanges.indices where state.exchanges[index].end == nil {
                state.exchanges[index].end = now
            }
            state.end = End(result: result, isCancelled: isCancelled, metrics: metrics)
        }
        tell()
    }

    /// Lets the bodies go, since others need the room.
    func dropBodies() {
        state.withLock { $0.hasDroppedBodies = true }
    }

    private func tell() {
        shelf.update(id, bodyBytes: state.withLock { $0.bodyBytes(with: request) })
    }
}

extension CallCapture.State {
    /// Writes an event down.
    ///
    /// - Returns: Whether someone who looks on would want to know at once.
    fileprivate mutating func note(
        _ event: NetworkEvent,
        of request: HTTPRequestData,
        at now: Duration,
        _ rules: CaptureRules
    ) -> Bool {
        switch event {
        case .waiting(.sharing, _): isFollowing = true
        case .waited(.sharing, _): isFollowing = false
        default: break
        }
        guard !isFollowing, end == nil else { return false }
        if case .attemptStarted = event {
            let captured = CapturedRequest(request, rules.hidingSecrets(of: request))
            exchanges.append(CallCapture.Exchange(number: request.exchangeNumber, request: captured, start: now))
            return true
        }
        guard let index = exchanges.lastIndex(where: { $0.number == request.exchangeNumber }) else { return false }
        return exchanges[index].note(event, at: now, rules.hidingSecrets(of: request))
    }

    /// How much memory the bodies take, as far as that counts.
    fileprivate func bodyBytes(with request: CapturedRequest) -> Int {
        guard !hasDroppedBodies else { return 0 }
        var bytes = request.bodyBytes
        for exchange in exchanges {
            // Most requests go out with the body that came.
            bytes += exchange.request.request.body == request.request.body ? 0 : exchange.request.bodyBytes
            bytes += exchange.response?.body.keptBytes ?? exchange.failure?.response?.body.keptBytes ?? 0
        }
        switch end?.result {
        case .success(let response) where response.body != exchanges.last?.response?.body:
            bytes += response.body.keptBytes
        default: break
        }
        return bytes
    }
}

extension CallCapture.Exchange {
    fileprivate mutating func note(_ event: NetworkEvent, at now: Duration, _ rules: CaptureRules) -> Bool {
        switch event {
        case .bodyRead: bodyRead = now
        case .connecting: connecting = now
        case .connected: connected = now
        case .headReceived(let head) where head.status.kind != .informational: (self.head, headReceived) = (head, now)
        case .connectionMeasured(let metrics): connection = metrics
        case .responseReceived(let response): self.response = CapturedResponse(response, rules)
        case .attemptEnded(let sent, _): (sentBytes, end) = (sent, now)
        case .attemptFailed(let error):
            failure = CapturedFailure(error, rules)
            end = now
        default: return false
        }
        return end != nil
    }
}
