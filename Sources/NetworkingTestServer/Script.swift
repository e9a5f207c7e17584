#if TestServer
import HTTPTypes
import NetworkingCore

/// The script of a test.
///
/// It selects the handler for each request.
struct Script: Sendable {
    private(set) var queue: [TestResponse] = []
    private(set) var routes: [Route] = []
    private(set) var connectionQueue: [TestServer.ConnectionEffect] = []
    private(set) var numberedConnections: [Int: TestServer.ConnectionEffect] = [:]
    var dispatcher: TestServer.Dispatcher?
    private var lastRoute = 0

    /// The handler for one request, with the parameters of its route.
    struct Handler: Sendable {
        let respond: TestServer.Dispatcher
        var parameters: [String: String] = [:]
        /// Whether the test scripted the response itself, without a handler.
        var isResponse = false
        /// Whether the response can control how the request is received.
        var isKnownAtHead = false
        /// The closure that receives the body in chunks, in place of `respond`.
        var receive: Route.Receiver?
    }

    /// A handler that was taken from the script when the head arrived.
    struct Claim: Sendable {
        let handler: Handler
        /// The response that controls how the request is received.
        ///
        /// If a handler creates the response later, it is `.ok`, so that the request is received as usual.
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

    /// Adds a route and returns its ID.
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
    /// Takes the handler for a request that has arrived.
    mutating func takeHandler(for request: RecordedRequest) -> Handler {
        if !queue.isEmpty {
            let response = queue.removeFirst()
            return Handler(respond: { _ in response }, isResponse: true)
        }
        if let (index, parameters) = newestMatch(for: request) {
            let route = routes[index]
            routes[index].uses += 1
            return Handler(
                respond: route.handler,
                parameters: parameters,
                isResponse: route.nextResponse != nil,
                isKnownAtHead: route.respondsAfterHead,
                receive: route.receiver
            )
        }
        return Handler(respond: dispatcher ?? { _ in nil })
    }

    /// Whether the matching route responds before the body has arrived.
    func respondsAfterHead(_ request: RecordedRequest) -> Bool {
        guard queue.isEmpty, let (index, _) = newestMatch(for: request) else { return false }
        return routes[index].respondsAfterHead
    }

    /// Takes the handler for a request at its head, if the script has a response for such requests that controls how a
    /// request is received.
    ///
    /// The handler is taken even if its own response controls nothing. Otherwise two overlapping requests would both
    /// take their handlers after their bodies, and the later one could take a response that it needed at its head.
    mutating func claimHandler(for request: RecordedRequest) -> Claim? {
        guard holdsResponseThatActs(on: request) else { return nil }
        let response = queue.first ?? newestMatch(for: request).flatMap { routes[$0.0].nextResponse }
        var handler = takeHandler(for: request)
        handler.isKnownAtHead = response != nil
        return Claim(handler: handler, response: response ?? .ok)
    }

    /// Whether this request can get a response that controls how it is received, now or after other requests.
    private func holdsResponseThatActs(on request: RecordedRequest) -> Bool {
        queue.contains(where: \.actsOnRequest)
            || routes.contains { $0.mayActOnRequests && $0.parameters(of: request) != nil }
    }

    /// Takes the effect for an accepted connection.
    mutating func takeEffect(ofConnection number: Int) -> TestServer.ConnectionEffect {
        if let effect = numberedConnections.removeValue(forKey: number) { return effect }
        return connectionQueue.isEmpty ? .serve : connectionQueue.removeFirst()
    }

    /// The methods that are scripted for the path of a request.
    func methods(for request: RecordedRequest) -> [String] {
        var methods: [String] = []
        for route in routes where route.path.parameters(in: request.path) != nil && route.uses < route.limit {
            guard let method = route.method?.rawValue, !methods.contains(method) else { continue }
            methods.append(method)
        }
        return methods
    }

    /// The index of the matching route, with the parameters of the path.
    private func newestMatch(for request: RecordedRequest) -> (Int, [String: String])? {
        for index in routes.indices.reversed() {
            if let parameters = routes[index].parameters(of: request) { return (index, parameters) }
        }
        return nil
    }
}

extension Script {
    /// The scripted responses that were not used, one per line.
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
    /// A description without fields and bytes.
    fileprivate var summary: String {
        switch body {
        case .hangUp: "a hang-up"
        case .raw: "a raw response"
        case .data, .chunks, .sized, .echo: "\(status.code) \(status.reasonPhrase)"
        }
    }
}
#endif
