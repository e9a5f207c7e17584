import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// A server whose response a test chooses, behind a circuit breaker.
struct CircuitBench {
    let clock = ManualClock()
    let breaker: CircuitBreaker
    let transport: MockTransport
    private let response: Locked<MockResponse>

    init(_ policy: CircuitBreaker.Policy = .app, key: (@Sendable (HTTPRequestData) -> String)? = nil) {
        let response = Locked(MockResponse.ok())
        self.response = response
        breaker = CircuitBreaker(policy, key: key)
        transport = MockTransport { _ in response.value }
    }

    /// The stack, with the longest break that the jitter allows.
    var network: some NetworkingComponent {
        inEnvironment(transport.circuitBreaker(by: breaker))
    }

    func inEnvironment(_ network: some NetworkingComponent) -> some NetworkingComponent {
        network.environment(\.clock, .manual(clock)).environment(\.random, RandomSource { .max })
    }

    var state: CircuitBreaker.State {
        breaker.state(of: "laws.example")
    }

    var statistics: CircuitBreaker.Statistics? {
        breaker.statistics(of: "laws.example")
    }

    func respond(with response: MockResponse) {
        self.response.withLock { $0 = response }
    }

    /// Sends requests one after the other.
    ///
    /// - Returns: The number of requests that have reached the server.
    @discardableResult
    func send(_ count: Int = 1, _ request: HTTPRequestData = .lawful) async -> Int {
        let before = transport.requests.count
        for _ in 0..<count {
            _ = try? await network.data(request)
        }
        return transport.requests.count - before
    }

    /// Sends a request that fails.
    func failure(_ request: HTTPRequestData = .lawful) async -> NetworkingError? {
        do {
            try await network.data(request)
            return nil
        } catch {
            return error as? NetworkingError
        }
    }

    /// Opens the circuit with failed connections.
    func open() async {
        respond(with: .failure(.connection))
        await send(5)
    }
}

extension NetworkingError {
    /// The seconds until the next attempt, to the millisecond.
    var secondsToWait: Double? {
        retryAfter.map { (($0 / .seconds(1)) * 1_000).rounded() / 1_000 }
    }
}

extension HTTPRequestData {
    /// A request with a path of its own to the server of the bench.
    static func lawful(_ path: String) -> HTTPRequestData {
        HTTPRequestData(scheme: "https", authority: "laws.example", path: path)
    }
}
