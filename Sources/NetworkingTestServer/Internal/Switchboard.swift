#if TestServer
import HTTPTypes
import Synchronization

/// Knows the script, decides who answers, and keeps the record: everything that the connections of a server share.
final class Switchboard: Sendable {
    /// How many bytes of each body are kept.
    let bodyLimit: Int
    /// Lets the time of every delay pass.
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
    /// Takes a request that has arrived and says who answers it.
    func admit(_ request: RecordedRequest) -> Exchange {
        open(state.withLock { $0.admit(request) })
    }

    /// Decides what can be decided of a request whose body is still to come.
    func admit(atHead request: RecordedRequest) -> HeadAdmission {
        open(state.withLock { $0.admit(atHead: request) })
    }

    /// What was decided when the head of a request arrived.
    enum HeadAdmission: Sendable {
        /// It is answered before its body has arrived.
        case answered(Exchange)
        /// Its answer is taken, for when its body has arrived.
        case claimed(Script.Claim)
        /// Nothing yet.
        case undecided
    }

    /// Takes a request, complete or not, that has its answer already.
    func admit(_ request: RecordedRequest, with claim: Script.Claim) -> Exchange {
        open(state.withLock { $0.admit(request, claim.answer) })
    }

    private func open<Admission>(_ admission: (Admission, gates: [Gate])) -> Admission {
        for gate in admission.gates { gate.open() }
        return admission.0
    }

    /// Stops counting an exchange as active; later calls for the same one change nothing.
    func finish(_ exchange: Exchange) {
        state.withLock { $0.finish(exchange.id) }
    }
}

extension Switchboard {
    /// Returns the answer to a request; an error of its handler, and that nobody scripted one, become answers too.
    func response(for exchange: Exchange) async -> TestResponse {
        let request = exchange.request
        do {
            guard let response = try await exchange.answer.handler(request) else { return unscripted(request) }
            guard response.actsOnRequest, !exchange.answer.isKnownAtHead else { return response }
            let way =
                exchange.answer.isResponse
                ? "was scripted after its head had arrived: script it before the client sends the request."
                : "was created after its head had arrived: use routeAtHead(…), enqueue(…) or route(…, responses: …)."
            return failure(
                "The response to \(request.method) \(request.path) controls how the request is received, but it \(way)",
                of: request
            )
        } catch {
            let text = "The handler of \(request.method) \(request.path) threw \(error)."
            // A handler whose client has gone, or whose server stops, is cancelled, which is no mistake of the script.
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

    /// Counts a new connection, and answers its number and what is done to it.
    func addConnection() -> (Int, TestServer.ConnectionEffect) {
        state.withLock { $0.addConnection() }
    }

    /// Counts a connection as closed.
    func removeConnection(_ number: Int) {
        for departure in state.withLock({ $0.removeConnection(number) }) { departure.open() }
    }

    /// Opens a gate when no more than a number of connections are open, at once if that is so.
    func open(_ departure: Gate, atOpenConnections count: Int) {
        if state.withLock({ $0.expectDepartures(to: count, departure) }) { departure.open() }
    }

    /// Opens a gate when a number of requests have arrived, at once if they have.
    func open(_ arrival: Gate, afterRequests count: Int) {
        if state.withLock({ $0.record.expect(count, arrival) }) { arrival.open() }
    }

    func forget(_ gate: Gate) {
        state.withLock { $0.forget(gate) }
    }

    /// Lets everybody go who waits for requests: none will come any more.
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
        mutating func admit(_ request: RecordedRequest) -> (Exchange, gates: [Gate]) {
            admit(request, script.takeAnswer(to: request))
        }

        mutating func admit(atHead request: RecordedRequest) -> (HeadAdmission, gates: [Gate]) {
            if script.answersAtHead(request) {
                let (exchange, gates) = admit(request)
                return (.answered(exchange), gates)
            }
            guard let claim = script.claimAnswer(to: request) else { return (.undecided, []) }
            return (.claimed(claim), [])
        }

        mutating func admit(_ request: RecordedRequest, _ answer: Script.Answer) -> (Exchange, gates: [Gate]) {
            lastID += 1
            var request = request
            request.parameters = answer.parameters
            active.insert(lastID)
            peak = max(peak, active.count)
            return (Exchange(id: lastID, request: request, answer: answer), record.add(request))
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
