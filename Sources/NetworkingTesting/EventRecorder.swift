public import NetworkingCore
import Synchronization

/// Records the events that it observes, together with their requests.
///
/// ```swift
/// let events = EventRecorder()
/// let network = transport.retry().observed(by: events)
/// // …
/// #expect(events.names.filter { $0 == "retrying" }.count == 2)
/// ```
///
/// It observes everything upstream of its place in the stack. Concurrent events are recorded in the order in which they
/// arrive.
public final class EventRecorder: NetworkEventObserver {
    private let state = Mutex<[(event: any NetworkEvent, request: HTTPRequestData)]>([])

    /// Creates an empty recorder.
    public init() {}

    /// The recorded events, in order.
    public var events: [any NetworkEvent] {
        state.withLock { $0.map(\.event) }
    }

    /// The names of the events, without timing-dependent values.
    public var names: [String] {
        events.map(\.record.name)
    }

    /// The requests of the events, one per event.
    public var requests: [HTTPRequestData] {
        state.withLock { $0.map(\.request) }
    }

    /// Records the event.
    public func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        state.withLock { $0.append((event, request)) }
    }
}
