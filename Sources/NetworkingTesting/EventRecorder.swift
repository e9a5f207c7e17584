public import Networking
import Synchronization

/// Remembers the events that it observes, and the requests they happened to.
///
/// ```swift
/// let events = EventRecorder()
/// let network = transport.retry().observed(by: events)
/// // …
/// #expect(events.names.filter { $0 == "retrying" }.count == 2)
/// ```
///
/// It sees what happens upstream of its place in the stack. Events that happen at the same time are in the order in
/// which they reached it.
public final class EventRecorder: NetworkEventObserver {
    private let state = Mutex<[(event: any NetworkEvent, request: HTTPRequestData)]>([])

    /// Creates a record of nothing.
    public init() {}

    /// What happened, in order.
    public var events: [any NetworkEvent] {
        state.withLock { $0.map(\.event) }
    }

    /// The names of the events: their descriptions up to the first parenthesis, without the values that depend on
    /// times.
    public var names: [String] {
        events.map { String("\($0)".prefix { $0 != "(" }) }
    }

    /// The requests to which it happened, one for each event.
    public var requests: [HTTPRequestData] {
        state.withLock { $0.map(\.request) }
    }

    /// Remembers the event.
    public func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        state.withLock { $0.append((event, request)) }
    }
}
