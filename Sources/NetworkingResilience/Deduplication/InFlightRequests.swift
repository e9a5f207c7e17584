import HTTPTypes
import NetworkingCore
import Synchronization

/// The requests of `deduplicated` that are in flight.
///
/// Stacks that have the same object share their exchanges.
public final class InFlightRequests: Sendable {
    private let state = Mutex<[DeduplicationKey: InFlightRequest]>([:])

    /// Creates an object without exchanges.
    public init() {}

    /// The number of exchanges that can be joined.
    public var count: Int {
        state.withLock { $0.count }
    }

    /// The number of requests that wait for them.
    public var waiting: Int {
        state.withLock { $0.values.reduce(0) { $0 + $1.work.waiters } }
    }

    /// Joins the exchange of a key, or creates one.
    ///
    /// - Returns: The exchange and the waiter of the caller, which is `nil` for a new exchange: the caller must start
    ///   that.
    func join(_ key: DeduplicationKey) -> (InFlightRequest, SharedOperation<HTTPResponseData>.Waiter?) {
        state.withLock { exchanges in
            if let exchange = exchanges[key], let waiter = exchange.work.join() { return (exchange, waiter) }
            let exchange = InFlightRequest(hasListeners: key.hasListeners)
            exchanges[key] = exchange
            return (exchange, nil)
        }
    }

    /// Removes an exchange, so that later requests do not join it.
    func remove(_ key: DeduplicationKey, _ exchange: InFlightRequest) {
        state.withLock { exchanges in
            guard let index = exchanges.index(forKey: key), exchanges.values[index].work === exchange.work else {
                return
            }
            exchanges.remove(at: index)
        }
    }

    /// Keeps later requests from joining what is being read from a URL.
    ///
    /// Those that have joined still get their response.
    func detachReads(of url: DeduplicationURL) {
        state.withLock { exchanges in
            guard !exchanges.isEmpty else { return }
            for key in exchanges.keys where key.url == url && Deduplicated.reads.contains(key.method) {
                exchanges[key] = nil
            }
        }
    }
}

/// An exchange in exchange, and its listeners.
struct InFlightRequest: Sendable {
    let work = SharedExchange()
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
