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
            guard let index = flights.index(forKey: key), flights.values[index] === flight else { return }
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
final class Flight: Sendable {
    let work = SharedFlight<HTTPResponseData>()
    /// Only requests with listeners have use for it.
    let audience: Audience?

    init(hasListeners: Bool) {
        audience = hasListeners ? Audience() : nil
    }
}

/// Those who want to hear what happens to a shared exchange: each hears it as of its own request, while it waits.
final class Audience: NetworkEventObserver {
    private struct State {
        var listeners: [ObjectIdentifier: Listener] = [:]
        var progress: TransferProgress?
    }

    /// One request's place in the audience.
    final class Listener: Sendable {
        let request: HTTPRequestData

        init(_ request: HTTPRequestData) {
            self.request = request
        }
    }

    private let state = Mutex(State())

    /// Adds a request's handler and observers, and tells them how far the transfer has come.
    func add(_ request: HTTPRequestData) -> Listener {
        let listener = Listener(request)
        let progress = state.withLock { state in
            state.listeners[ObjectIdentifier(listener)] = listener
            return state.progress
        }
        if let progress {
            request.progressHandler?(progress)
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
            let listeners = state.withLock { state in
                state.progress = progress
                return state.listeners.values
            }
            for listener in listeners {
                listener.request.progressHandler?(progress)
            }
        }
        return request
    }

    func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
        for listener in state.withLock({ $0.listeners.values }) {
            listener.request.emit(event)
        }
    }
}
