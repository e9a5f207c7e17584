import Networking
import Synchronization

/// Keeps the events that it observes, by their names, and the requests they happened to.
final class CapturedEvents: NetworkEventObserver {
    private let state = Mutex<[(event: NetworkEvent, request: HTTPRequestData)]>([])

    var events: [NetworkEvent] {
        state.withLock { $0.map(\.event) }
    }

    /// The events as Swift prints them, up to their values.
    var names: [String] {
        events.map { String("\($0)".prefix { $0 != "(" }) }
    }

    var requests: [HTTPRequestData] {
        state.withLock { $0.map(\.request) }
    }

    func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
        state.withLock { $0.append((event, request)) }
    }
}
