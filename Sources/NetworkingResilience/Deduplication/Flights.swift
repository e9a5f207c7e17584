import HTTPTypes
import NetworkingCore
import Synchronization

/// The exchanges that are under way, for `deduplicated`; stacks that have the same one share them.
///
/// It holds what is in flight and nothing else.
public final class Flights: Sendable {
    private let state = Mutex<[FlightKey: Flight]>([:])

    /// Creates an empty one.
    public init() {}

    /// How many exchanges are under way that can be joined.
    public var count: Int {
        state.withLock { $0.count }
    }

    /// How many requests wait for them.
    public var waiting: Int {
        state.withLock { $0.values.reduce(0) { $0 + $1.work.passengers } }
    }

    /// Joins the exchange of a key, or makes a new one that the caller has to start: then there is no passenger.
    func board(_ key: FlightKey) -> (Flight, SharedFlight<HTTPResponseData>.Passenger?) {
        state.withLock { flights in
            if let flight = flights[key], let passenger = flight.work.join() { return (flight, passenger) }
            let flight = Flight(hasListeners: key.hasListeners)
            flights[key] = flight
            return (flight, nil)
        }
    }

    /// Removes a flight, so that later requests do not join it.
    func remove(_ key: FlightKey, _ flight: Flight) {
        state.withLock { flights in
            guard let index = flights.index(forKey: key), flights.values[index].work === flight.work else { return }
            flights.remove(at: index)
        }
    }

    /// Keeps later requests from joining what is being read from a URL.
    ///
    /// Those that have joined still get their response.
    func detachReads(of url: FlightURL) {
        state.withLock { flights in
            guard !flights.isEmpty else { return }
            for key in flights.keys where key.url == url && Deduplicated.reads.contains(key.method) {
                flights[key] = nil
            }
        }
    }
}

/// An exchange under way, and who listens to it.
struct Flight: Sendable {
    let work = SharedFlight<HTTPResponseData>(hasCommonDeadline: true)
    /// Only requests with listeners have use for it.
    let audience: Audience?

    init(hasListeners: Bool) {
        audience = hasListeners ? Audience() : nil
    }
}

/// The listeners of a shared exchange.
///
/// Each gets the events as those of its own request, while its caller waits.
final class Audience: NetworkEventObserver {
    private struct State {
        var listeners: [ObjectIdentifier: Listener] = [:]
        var progress: TransferProgress?
        /// How many have joined.
        var joined = 0
        /// How many reports there have been.
        var reports = 0
    }

    /// One request's place in the audience.
    final class Listener: Sendable {
        let request: HTTPRequestData
        let order: Int
        private let reports: OrderedReports?

        init(_ request: HTTPRequestData, order: Int) {
            // Who measures its call has nothing to do with what the exchange of several does.
            var request = request
            request.recorder = nil
            self.request = request
            self.order = order
            reports = request.progressHandler.map { OrderedReports(to: $0) }
        }

        /// Hears an event of the shared exchange as of its own request.
        func hear(_ event: any NetworkEvent, of shared: HTTPRequestData) {
            heard(shared).emit(event)
        }

        func attemptFields(of shared: HTTPRequestData) -> HTTPFields {
            heard(shared).attemptFields
        }

        private func heard(_ shared: HTTPRequestData) -> HTTPRequestData {
            // What went out is the exchange's, and who hears of it is this listener.
            var request = request
            request.takeMessage(of: shared)
            return request
        }

        /// Reports how far the transfer has come, unless a newer report was made: two threads report to a request that
        /// has just joined.
        func tell(_ progress: TransferProgress, _ number: Int) {
            reports?.report(progress, number)
        }
    }

    private let state = Mutex(State())

    /// Adds a request's handler and observers, and tells them how far the transfer has come.
    func add(_ request: HTTPRequestData) -> Listener {
        let (listener, progress, number) = state.withLock { state in
            state.joined += 1
            let listener = Listener(request, order: state.joined)
            state.listeners[ObjectIdentifier(listener)] = listener
            return (listener, state.progress, state.reports)
        }
        if let progress {
            listener.tell(progress, number)
        }
        return listener
    }

    func remove(_ listener: Listener) {
        state.withLock { $0.listeners[ObjectIdentifier(listener)] = nil }
    }

    /// The request of the exchange, which this audience hears in place of the one who made it.
    func heard(_ request: HTTPRequestData) -> HTTPRequestData {
        var request = request
        request.settings.observers = [self]
        request.settings.stackObservers = []
        request.progressHandler = { [self] progress in
            let (listeners, number) = state.withLock { state in
                state.progress = progress
                state.reports += 1
                return (state.listeners.values, state.reports)
            }
            for listener in listeners {
                listener.tell(progress, number)
            }
        }
        return request
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        for listener in state.withLock({ $0.listeners.values }) {
            listener.hear(event, of: request)
        }
    }

    func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
        // The exchange is made once, so one of them names its fields: who came first, as long as that one waits.
        let listeners = state.withLock { $0.listeners.values.sorted { $0.order < $1.order } }
        for listener in listeners {
            let fields = listener.attemptFields(of: request)
            if !fields.isEmpty { return fields }
        }
        return [:]
    }
}
