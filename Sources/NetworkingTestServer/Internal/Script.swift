#if TestServer
import HTTPTypes
import Networking

/// Holds what a test has scripted, and decides who answers.
struct Script: Sendable {
    private(set) var queue: [TestResponse] = []
    private(set) var routes: [Route] = []
    private(set) var connectionQueue: [TestServer.ConnectionEffect] = []
    private(set) var numberedConnections: [Int: TestServer.ConnectionEffect] = [:]
    var dispatcher: TestServer.Dispatcher?
    private var lastRoute = 0

    /// Who answers one request, and what the route read from its path.
    struct Answer: Sendable {
        let handler: TestServer.Dispatcher
        var parameters: [String: String] = [:]
        /// Whether the test gave the response itself, and no handler that makes it.
        var isResponse = false
        /// Whether the answer could say how the request is received.
        var isKnownAtHead = false
    }

    /// An answer that was taken from the script when the head arrived.
    struct Claim: Sendable {
        let answer: Answer
        /// Says how the request is received; a handler is only asked behind that, and its request received as any
        /// other.
        let response: TestResponse
    }
}

extension Script {
    mutating func enqueue(_ responses: [TestResponse]) {
        queue += responses
    }

    mutating func clearQueue() {
        queue = []
        connectionQueue = []
    }

    /// Adds a route and returns its id.
    mutating func add(_ route: (_ id: Int) -> Route) -> Int {
        lastRoute += 1
        routes.append(route(lastRoute))
        return lastRoute
    }

    func uses(ofRoute id: Int) -> Int {
        routes.first { $0.id == id }?.uses ?? 0
    }

    mutating func removeRoute(_ id: Int) {
        routes.removeAll { $0.id == id }
    }

    mutating func enqueueConnections(_ effects: [TestServer.ConnectionEffect]) {
        connectionQueue += effects
    }

    mutating func setEffect(_ effect: TestServer.ConnectionEffect, ofConnection number: Int) {
        numberedConnections[number] = effect
    }
}

extension Script {
    /// Takes what answers a request that has arrived.
    mutating func takeAnswer(to request: RecordedRequest) -> Answer {
        if !queue.isEmpty {
            let response = queue.removeFirst()
            return Answer(handler: { _ in response }, isResponse: true)
        }
        if let (index, parameters) = newestMatch(for: request) {
            let route = routes[index]
            routes[index].uses += 1
            return Answer(
                handler: route.handler,
                parameters: parameters,
                isResponse: route.nextResponse != nil,
                isKnownAtHead: route.answersAtHead
            )
        }
        return Answer(handler: dispatcher ?? { _ in nil })
    }

    /// Whether the route that would answer does so at the head.
    func answersAtHead(_ request: RecordedRequest) -> Bool {
        guard queue.isEmpty, let (index, _) = newestMatch(for: request) else { return false }
        return routes[index].answersAtHead
    }

    /// Takes the answer to a request whose body is still to come, if anything says how that is received.
    ///
    /// It is taken also when it says nothing of the kind itself. Else two requests that overlap would both leave it to
    /// their ends, and the later one would find there what it had to know at its head.
    mutating func claimAnswer(to request: RecordedRequest) -> Claim? {
        guard holdsResponseThatActs(on: request) else { return nil }
        let response = queue.first ?? newestMatch(for: request).flatMap { routes[$0.0].nextResponse }
        var answer = takeAnswer(to: request)
        answer.isKnownAtHead = response != nil
        return Claim(answer: answer, response: response ?? .ok)
    }

    /// Whether this request could get a response that says how it is received, now or when others have taken theirs.
    private func holdsResponseThatActs(on request: RecordedRequest) -> Bool {
        queue.contains(where: \.actsOnRequest)
            || routes.contains { $0.mayActOnRequests && $0.parameters(of: request) != nil }
    }

    /// Takes what is done to a connection that was accepted.
    mutating func takeEffect(ofConnection number: Int) -> TestServer.ConnectionEffect {
        if let effect = numberedConnections.removeValue(forKey: number) { return effect }
        return connectionQueue.isEmpty ? .serve : connectionQueue.removeFirst()
    }

    /// The methods for which the path of a request is scripted.
    func methods(for request: RecordedRequest) -> [String] {
        var methods: [String] = []
        for route in routes where route.path.parameters(in: request.path) != nil && route.uses < route.limit {
            guard let method = route.method?.rawValue, !methods.contains(method) else { continue }
            methods.append(method)
        }
        return methods
    }

    /// The index of the route that answers, and what it reads from the path.
    private func newestMatch(for request: RecordedRequest) -> (Int, [String: String])? {
        for index in routes.indices.reversed() {
            if let parameters = routes[index].parameters(of: request) { return (index, parameters) }
        }
        return nil
    }
}

extension Script {
    /// Says what was scripted and not used, a line each.
    var unused: [String] {
        var lines = queue.map { "a queued response: \($0.summary)" }
        lines += connectionQueue.map { "a queued connection: \($0)" }
        lines += numberedConnections.sorted { $0.key < $1.key }.map { "connection \($0): \($1)" }
        for route in routes where route.missingUses > 0 {
            let times = route.missingUses == 1 ? "once" : "\(route.missingUses) times"
            lines.append("the route \(route), \(times) more")
        }
        return lines
    }
}

extension TestResponse {
    /// What it is, without its fields and its bytes.
    fileprivate var summary: String {
        switch body {
        case .hangUp: "a hang-up"
        case .raw: "a raw response"
        case .data, .chunks, .sized, .echo: "\(status.code) \(status.reasonPhrase)"
        }
    }
}
#endif
