#if TestServer
import HTTPTypes
import Networking

/// Holds what has arrived at a server.
struct Record: Sendable {
    private(set) var requests: [RecordedRequest] = []
    /// The requests that nobody has taken.
    private(set) var unclaimed: [RecordedRequest] = []
    /// What was not answered by the script, a line each.
    private(set) var misses: [String] = []
    private var arrivals: [(count: Int, gate: Gate)] = []
    /// Those who wait for the next request, whichever it is.
    private var takers: [Gate] = []
    private(set) var isClosed = false

    /// Adds a request and returns the gates that have to be opened.
    mutating func add(_ request: RecordedRequest) -> [Gate] {
        requests.append(request)
        unclaimed.append(request)
        return takeGates(upTo: requests.count)
    }

    mutating func addMiss(_ line: String) {
        misses.append(line)
    }

    mutating func forgetRequests() {
        requests = []
        unclaimed = []
    }

    /// Answers whether the gate may open now.
    mutating func expect(_ count: Int, _ gate: Gate) -> Bool {
        if isClosed || requests.count >= count { return true }
        arrivals.append((count, gate))
        return false
    }

    /// Takes the first request that matches and that nobody has taken; else the gate opens with the next request.
    mutating func take(_ filter: RequestFilter, orExpect gate: Gate) -> Taking {
        if let index = unclaimed.firstIndex(where: filter.matches) { return .taken(unclaimed.remove(at: index)) }
        if isClosed { return .closed }
        takers.append(gate)
        return .waiting
    }

    enum Taking: Sendable {
        case taken(RecordedRequest)
        case waiting
        /// No request will come any more.
        case closed
    }

    mutating func forget(_ gate: Gate) {
        arrivals.removeAll { $0.gate === gate }
        takers.removeAll { $0 === gate }
    }

    /// Returns the gates that have to be opened, since nothing arrives any more.
    mutating func close() -> [Gate] {
        isClosed = true
        return takeGates(upTo: .max)
    }

    mutating func reopen() {
        isClosed = false
    }

    private mutating func takeGates(upTo count: Int) -> [Gate] {
        let due = arrivals.filter { $0.count <= count }.map(\.gate) + takers
        arrivals.removeAll { $0.count <= count }
        takers = []
        return due
    }
}

/// Says which requests somebody waits for.
struct RequestFilter: Sendable {
    var method: HTTPRequest.Method?
    var path: PathPattern?

    func matches(_ request: RecordedRequest) -> Bool {
        if let method, method != request.method { return false }
        if let path, path.parameters(in: request.path) == nil { return false }
        return true
    }
}

extension RequestFilter: CustomStringConvertible {
    var description: String {
        let parts = [method?.rawValue, path?.description].compactMap(\.self)
        return parts.isEmpty ? "any request" : "a request " + parts.joined(separator: " ")
    }
}
#endif
