#if TestServer
import HTTPTypes
import Synchronization

/// The state that the connections of a server share: its script and its record.
final class Switchboard: Sendable {
    /// The maximum number of bytes recorded of each body.
    let bodyLimit: Int
    /// The clock of all delays.
    let clock: any Clock<Duration>
    private let state = Mutex(State())

    init(bodyLimit: Int, clock: any Clock<Duration>) {
        self.bodyLimit = bodyLimit
        self.clock = clock
    }

    /// Reads or changes the script.
    func withScript<Result: Sendable>(_ body: (inout Script) -> Result) -> Result {
        state.withLock { body(&$0.script) }
    }

    /// Reads or changes the record.
    func withRecord<Result: Sendable>(_ body: (inout Record) -> Result) -> Result {
        state.withLock { body(&$0.record) }
    }
}

extension Switchboard {
    /// Records a request that has arrived and selects its handler.
    func admit(_ request: RecordedRequest) -> Exchange {
        open(state.withLock { $0.admit(request) })
    }

    /// Decides what can be decided before the body of a request has arrived.
    func admit(atHead request: RecordedRequest) -> HeadAdmission {
        open(state.withLock { $0.admit(atHead: request) })
    }

    /// The decision at the head of a request.
    enum HeadAdmission: Sendable {
        /// The handler responds before the body has arrived.
        case admitted(Exchange)
        /// The handler is taken, and responds when the body has arrived.
        case claimed(Script.Claim)
        /// The decision is made when the body has arrived.
        case undecided
    }

    /// Records a request, complete or not, for a handler that was already taken.
    func admit(_ request: RecordedRequest, with claim: Script.Claim) -> Exchange {
        open(state.withLock { $0.admit(request, claim.handler) })
    }

    private func open<Admission>(_ admission: (Admission, gates: [Gate])) -> Admission {
        for gate in admission.gates { gate.open() }
        return admission.0
    }

    /// Stops counting an exchange as active.
    ///
    /// Later calls for the same exchange have no effect.
    func finish(_ exchange: Exchange) {
        state.withLock { $0.finish(exchange.id) }
    }
}

extension Switchboard {
    /// Returns the response to a request.
    ///
    /// A thrown error or a missing script becomes an error response.
    func response(for exchange: Exchange) async -> TestResponse {
        let request = exchange.request
        do {
            guard let response = try await exchange.handler.respond(request) else { return unscripted(request) }
            guard response.actsOnRequest, !exchange.handler.isKnownAtHead else { return response }
            let way =
                exchange.handler.isResponse
                ? "was scripted after its head had arrived: script it before the client sends the request."
                : "was created after its head had arrived: use routeAtHead(…), enqueue(…) or route(…, responses: …)."
            return failure(
                "The response to \(request.method) \(request.path) controls how the request is received, but it \(way)",
                of: request
            )
        } catch {
            let text = "The handler of \(request.method) \(request.path) threw \(error)."
            // The handler is cancelled if the client disconnects or the server stops. That is no mistake in the script.
            if Task.isCancelled { return .text(text, status: .internalServerError) }
            return failure(text, of: request)
        }
    }

    private func failure(_ text: String, of request: RecordedRequest) -> TestResponse {
        withRecord { $0.addMiss("\(request) got 500: \(text)") }
        return .text(text, status: .internalServerError)
    }

    private func unscripted(_ request: RecordedRequest) -> TestResponse {
        let methods = state.withLock { state in
            state.record.addMiss("\(request) got 501: it has no scripted response")
            return state.script.methods(for: request)
        }
        var text = "No response is scripted for \(request.method) \(request.path): add a route or enqueue a response."
        if !methods.isEmpty { text += " This path is scripted for \(methods.joined(separator: ", "))." }
        return .text(text, status: .notImplemented)
    }
}

extension Switchboard {
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

    /// Counts a new connection, and returns its number and its effect.
    func addConnection() -> (Int, TestServer.ConnectionEffect) {
        state.withLock { $0.addConnection() }
    }

    /// Counts a connection as closed.
    func removeConnection(_ number: Int) {
        for departure in state.withLock({ $0.removeConnection(number) }) { departure.open() }
    }

    /// Opens a gate when at most a number of connections are open, or at once if that is already so.
    func open(_ departure: Gate, atOpenConnections count: Int) {
        if state.withLock({ $0.expectDepartures(to: count, departure) }) { departure.open() }
    }

    /// Opens a gate when a number of requests have arrived, or at once if they already have.
    func open(_ arrival: Gate, afterRequests count: Int) {
        if state.withLock({ $0.record.expect(count, arrival) }) { arrival.open() }
    }

    func forget(_ gate: Gate) {
        state.withLock { $0.forget(gate) }
    }

    /// Resumes every caller that waits for requests, because no more requests will arrive.
    func close() {
        for gate in state.withLock({ $0.record.close() }) { gate.open() }
    }
}

extension Switchboard {
    private struct State {
        var script = Script()
        var record = Record()
        private var lastID = 0
        private(set) var active: Set<Int> = []
        private(set) var peak = 0
        private(set) var acceptedConnections = 0
        private(set) var openConnections: Set<Int> = []
        private var departures: [(count: Int, gate: Gate)] = []

        mutating func addConnection() -> (Int, TestServer.ConnectionEffect) {
            acceptedConnections += 1
            openConnections.insert(acceptedConnections)
            return (acceptedConnections, script.takeEffect(ofConnection: acceptedConnections))
        }

        /// Returns the gates to open.
        mutating func removeConnection(_ number: Int) -> [Gate] {
            openConnections.remove(number)
            let due = departures.filter { openConnections.count <= $0.count }
            departures.removeAll { openConnections.count <= $0.count }
            return due.map(\.gate)
        }

        /// Returns whether the gate can open now.
        mutating func expectDepartures(to count: Int, _ gate: Gate) -> Bool {
            if openConnections.count <= count { return true }
            departures.append((count, gate))
            return false
        }

        /// Records a request, and returns its exchange and the gates to open.
        mutating func admit(_ request: RecordedRequest) -> (Exchange, gates: [Gate]) {
            admit(request, script.takeHandler(for: request))
        }

        mutating func admit(atHead request: RecordedRequest) -> (HeadAdmission, gates: [Gate]) {
            if script.respondsAfterHead(request) {
                let (exchange, gates) = admit(request)
                return (.admitted(exchange), gates)
            }
            guard let claim = script.claimHandler(for: request) else { return (.undecided, []) }
            return (.claimed(claim), [])
        }

        mutating func admit(_ request: RecordedRequest, _ handler: Script.Handler) -> (Exchange, gates: [Gate]) {
            lastID += 1
            var request = request
            request.parameters = handler.parameters
            active.insert(lastID)
            peak = max(peak, active.count)
            return (Exchange(id: lastID, request: request, handler: handler), record.add(request))
        }

        mutating func finish(_ id: Int) {
            active.remove(id)
        }

        mutating func forget(_ gate: Gate) {
            record.forget(gate)
            departures.removeAll { $0.gate === gate }
        }
    }
}
#endif
