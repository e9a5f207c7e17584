#if TestServer
import Synchronization

/// Knows the script, decides who answers, and keeps the record: everything that the connections of a server share.
final class Switchboard: Sendable {
    /// How many bytes of each body are kept.
    let bodyLimit: Int
    private let state = Mutex(State())

    init(bodyLimit: Int) {
        self.bodyLimit = bodyLimit
    }

    /// Takes a request that has arrived and says who answers it.
    func admit(_ request: RecordedRequest) -> Exchange {
        let (exchange, arrivals) = state.withLock { $0.admit(request) }
        for arrival in arrivals { arrival.open() }
        return exchange
    }

    /// Takes a request whose body is still to come, if the route that would answer it does so at the head.
    func admit(atHead request: RecordedRequest) -> Exchange? {
        guard let (exchange, arrivals) = state.withLock({ $0.admit(atHead: request) }) else { return nil }
        for arrival in arrivals { arrival.open() }
        return exchange
    }

    /// Stops counting an exchange as active; later calls for the same one change nothing.
    func finish(_ exchange: Exchange) {
        state.withLock { $0.finish(exchange.id) }
    }

    /// Counts a new connection, and answers its number.
    func addConnection() -> Int {
        state.withLock { $0.addConnection() }
    }

    /// Counts a connection as closed.
    func removeConnection(_ number: Int) {
        for departure in state.withLock({ $0.removeConnection(number) }) { departure.open() }
    }

    /// Lets everybody go who waits for requests: none will come any more.
    func close() {
        for arrival in state.withLock({ $0.close() }) { arrival.open() }
    }
}

extension Switchboard {
    func add(_ route: Route) {
        state.withLock { $0.routes.append(route) }
    }

    func enqueue(_ responses: [TestResponse]) {
        state.withLock { $0.queue += responses }
    }
}

extension Switchboard {
    var requests: [RecordedRequest] {
        state.withLock { $0.requests }
    }

    func forgetRequests() {
        state.withLock { $0.forgetRequests() }
    }

    var activeRequests: Int {
        state.withLock { $0.active.count }
    }

    var peakActiveRequests: Int {
        state.withLock { $0.peak }
    }

    var acceptedConnections: Int {
        state.withLock { $0.acceptedConnections }
    }

    var openConnections: Int {
        state.withLock { $0.openConnections.count }
    }

    /// Opens a gate when no more than a number of connections are open, at once if that is so.
    func open(_ departure: Gate, atOpenConnections count: Int) {
        if state.withLock({ $0.expectDepartures(to: count, departure) }) { departure.open() }
    }

    /// Opens a gate when a number of requests have arrived, at once if they have.
    func open(_ arrival: Gate, afterRequests count: Int) {
        if state.withLock({ $0.expect(count, arrival) }) { arrival.open() }
    }

    func forget(_ arrival: Gate) {
        state.withLock { $0.forget(arrival) }
    }
}

extension Switchboard {
    private struct State {
        var routes: [Route] = []
        var queue: [TestResponse] = []
        private(set) var requests: [RecordedRequest] = []
        private var lastID = 0
        private(set) var active: Set<Int> = []
        private(set) var peak = 0
        private(set) var acceptedConnections = 0
        private(set) var openConnections: Set<Int> = []
        private var departures: [(count: Int, gate: Gate)] = []
        private var arrivals: [(count: Int, gate: Gate)] = []
        private var isClosed = false

        mutating func addConnection() -> Int {
            acceptedConnections += 1
            openConnections.insert(acceptedConnections)
            return acceptedConnections
        }

        /// Returns the gates that have to be opened.
        mutating func removeConnection(_ number: Int) -> [Gate] {
            openConnections.remove(number)
            let due = departures.filter { openConnections.count <= $0.count }
            departures.removeAll { openConnections.count <= $0.count }
            return due.map(\.gate)
        }

        /// Answers whether the gate may open now.
        mutating func expectDepartures(to count: Int, _ gate: Gate) -> Bool {
            if openConnections.count <= count { return true }
            departures.append((count, gate))
            return false
        }

        /// Records a request; returns its exchange and the gates that have to be opened.
        mutating func admit(_ request: RecordedRequest) -> (Exchange, [Gate]) {
            lastID += 1
            var exchange = Exchange(id: lastID, request: request, handler: Exchange.unscripted)
            if !queue.isEmpty {
                let response = queue.removeFirst()
                exchange.handler = { _ in response }
            } else if let (route, parameters) = newestMatch(for: request) {
                exchange.handler = route.handler
                exchange.request.parameters = parameters
            }
            requests.append(exchange.request)
            active.insert(exchange.id)
            peak = max(peak, active.count)
            return (exchange, takeArrivals(upTo: requests.count))
        }

        mutating func admit(atHead request: RecordedRequest) -> (Exchange, [Gate])? {
            guard queue.isEmpty, newestMatch(for: request)?.0.answersAtHead == true else { return nil }
            return admit(request)
        }

        mutating func forgetRequests() {
            requests = []
        }

        mutating func finish(_ id: Int) {
            active.remove(id)
        }

        /// Answers whether the gate may open now.
        mutating func expect(_ count: Int, _ gate: Gate) -> Bool {
            if isClosed || requests.count >= count { return true }
            arrivals.append((count, gate))
            return false
        }

        mutating func forget(_ gate: Gate) {
            arrivals.removeAll { $0.gate === gate }
            departures.removeAll { $0.gate === gate }
        }

        mutating func close() -> [Gate] {
            isClosed = true
            return takeArrivals(upTo: .max)
        }

        private func newestMatch(for request: RecordedRequest) -> (Route, [String: String])? {
            for route in routes.reversed() {
                if let parameters = route.parameters(of: request) { return (route, parameters) }
            }
            return nil
        }

        private mutating func takeArrivals(upTo count: Int) -> [Gate] {
            let due = arrivals.filter { $0.count <= count }
            arrivals.removeAll { $0.count <= count }
            return due.map(\.gate)
        }
    }
}
#endif
