#if TestServer
import HTTPTypes
import NetworkingCore

/// The requests that have arrived at a server.
struct Record: Sendable {
    private(set) var requests: [RecordedRequest] = []
    /// The requests that no test has taken.
    private(set) var unclaimed: [RecordedRequest] = []
    /// The requests without a scripted response, one per line.
    private(set) var misses: [String] = []
    private var arrivals: [(count: Int, gate: Gate)] = []
    /// The gates of callers that wait for any next request.
    private var takers: [Gate] = []
    private(set) var isClosed = false

    /// Adds a request and returns the gates to open.
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

    /// Returns whether the gate can open now.
    mutating func expect(_ count: Int, _ gate: Gate) -> Bool {
        if isClosed || requests.count >= count { return true }
        arrivals.append((count, gate))
        return false
    }

    /// Takes the first matching request that was not taken.
    ///
    /// Otherwise the gate opens with the next request.
    mutating func take(_ filter: RequestFilter, orExpect gate: Gate) -> Taking {
        if let index = unclaimed.firstIndex(where: filter.matches) { return .taken(unclaimed.remove(at: index)) }
        if isClosed { return .closed }
        takers.append(gate)
        return .waiting
    }

    enum Taking: Sendable {
        case taken(RecordedRequest)
        case waiting
        /// No more requests will arrive.
        case closed
    }

    mutating func forget(_ gate: Gate) {
        arrivals.removeAll { $0.gate === gate }
        takers.removeAll { $0 === gate }
    }

    /// Returns the gates to open, because no more requests will arrive.
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

/// The requests that a caller waits for.
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
