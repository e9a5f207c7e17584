public import NetworkingCore
import Synchronization

/// Selects faults for requests, either randomly from a seed or from a script, and records them.
///
/// ```swift
/// let faults = FaultInjector(
///     seed: 42,
///     [
///         .error(.connectionLost, rate: 0.05),
///         .latency(.milliseconds(200), jitter: .milliseconds(100), rate: 0.5),
///         .status(.serviceUnavailable, rate: 0.1),
///         .sliced(into: 16, every: .milliseconds(5), rate: 0.2),
///     ]
/// )
/// let network = transport.faultInjected(by: faults).retry()
/// ```
///
/// Requests are numbered from one, in the order in which they reach the injector. The faults of a request depend only
/// on the seed, its number and the list: not on other requests, on concurrency or on other random draws. A failing test
/// can therefore print ``description``, and the same seed reproduces the same faults. Adding a fault at the end of the
/// list does not change the ones before it.
///
/// Several stacks can share an injector and then share its count. Each request takes a number, including retries.
/// Requests that `isMeant` excludes take none.
public final class FaultInjector: Sendable {
    /// An injected fault.
    public struct Injection: Sendable, CustomStringConvertible {
        /// The number of the request, counted from one.
        public let number: Int
        /// The request, with the method, URL and id that it had at this place of the stack.
        public let request: HTTPRequestData
        /// The fault.
        public let fault: Fault

        /// The number, request and fault, such as `#3 GET https://api.example.com/users: truncated(after: 512)`.
        public var description: String {
            "#\(number) \(request): \(fault)"
        }
    }

    private enum Source {
        case chance(seed: UInt64, [Fault])
        case script([Fault?], repeats: Bool)
    }

    private let source: Source
    private let isMeant: @Sendable (HTTPRequestData) -> Bool
    private let state = Mutex(State())

    /// Creates an injector that selects faults randomly.
    ///
    /// - Parameters:
    ///   - seed: The seed of the random numbers; nil to draw one from the environment's
    ///     `NetworkEnvironment.random`. ``description`` contains the seed.
    ///   - faults: The possible faults, each with its own rate. Several may affect the same request.
    ///   - isMeant: Returns whether faults may affect a request; by default all requests. Called from any thread.
    public init(
        seed: UInt64? = nil,
        _ faults: [Fault],
        where isMeant: @escaping @Sendable (HTTPRequestData) -> Bool = { _ in true }
    ) {
        var random = NetworkEnvironment.current.random
        source = .chance(seed: seed ?? .random(in: 0..<1 << 32, using: &random), faults)
        self.isMeant = isMeant
    }

    /// Creates an injector that follows a script.
    ///
    /// ```swift
    /// FaultInjector(script: [nil, .error(.timeout), .status(.badGateway)])   // the second and the third request fail
    /// ```
    ///
    /// - Parameters:
    ///   - script: The fault of each request, in order; nil for none.
    ///   - repeats: Whether the script starts again after its end. Otherwise, no faults occur after that.
    ///   - isMeant: Returns whether faults may affect a request; by default all requests. Called from any thread.
    /// - Precondition: The faults have no rate, because the script determines when they occur.
    public init(
        script: [Fault?],
        repeats: Bool = false,
        where isMeant: @escaping @Sendable (HTTPRequestData) -> Bool = { _ in true }
    ) {
        for case let fault? in script {
            precondition(fault.rate == 1, "\(fault) must have no rate: its position in the script says when it happens")
        }
        source = .script(script, repeats: repeats)
        self.isMeant = isMeant
    }

    /// Whether faults are injected; initially true.
    ///
    /// While it is false, requests take no number.
    public var isEnabled: Bool {
        get { state.withLock { $0.isEnabled } }
        set { state.withLock { $0.isEnabled = newValue } }
    }

    /// The seed; nil if a script is used.
    public var seed: UInt64? {
        if case .chance(let seed, _) = source { seed } else { nil }
    }

    /// The number of requests that have taken a number.
    public var requestCount: Int {
        state.withLock { $0.count }
    }

    /// The injected faults, in the order of the requests.
    ///
    /// This includes faults selected for a body that was too short for them to occur.
    public var injected: [Injection] {
        state.withLock { $0.injected }.sorted { $0.number < $1.number }
    }

    /// Returns the faults of the request with a number, whether or not it has been sent.
    ///
    /// - Parameter number: The number of the request, counted from one.
    /// - Returns: The faults, in the order of the list; only one if it replaces the exchange.
    /// - Precondition: `number` is greater than zero.
    public func faults(forRequest number: Int) -> [Fault] {
        precondition(number > 0, "number must be greater than zero (is \(number)): requests are counted from one")
        return plan(for: number).faults
    }

    /// Returns the faults for the next request; nil if there are none.
    func next(for request: HTTPRequestData) -> FaultPlan? {
        guard request.allowsFaults, isMeant(request) else { return nil }
        let number: Int? = state.withLock { state in
            guard state.isEnabled else { return nil }
            state.count += 1
            return state.count
        }
        guard let number else { return nil }
        let plan = plan(for: number)
        guard !plan.faults.isEmpty else { return nil }
        // Do not store the complete request, which would retain its sink.
        let named = request.compact.outsideStack
        let injections = plan.faults.map { Injection(number: number, request: named, fault: $0) }
        state.withLock { $0.injected += injections }
        return plan
    }

    private func plan(for number: Int) -> FaultPlan {
        switch source {
        case .script(let script, let repeats):
            let index = repeats && !script.isEmpty ? (number - 1) % script.count : number - 1
            let fault = script.indices.contains(index) ? script[index] : nil
            return FaultPlan(fault.map { [(fault: $0, random: chance(UInt64(number), 0, seed: 0))] } ?? [])
        case .chance(let seed, let faults):
            return FaultPlan(
                faults.enumerated()
                    .compactMap { index, fault in
                        var random = chance(UInt64(number), UInt64(index), seed: seed)
                        // The range excludes its upper bound, so a rate of 0 means never and a rate of 1 means always.
                        guard Double.random(in: 0..<1, using: &random) < fault.rate else { return nil }
                        return (fault, random)
                    }
            )
        }
    }

    /// A separate random source for each fault of each request, independent of all other draws.
    private func chance(_ number: UInt64, _ index: UInt64, seed: UInt64) -> RandomSource {
        // Mix the values one after another; with a sum, different requests would draw the same values.
        let ofRequest = RandomSource.seeded(RandomSource.seeded(seed).next() ^ number).next()
        return .seeded(RandomSource.seeded(ofRequest ^ index).next())
    }

    private struct State {
        var isEnabled = true
        var count = 0
        var injected: [Injection] = []
    }
}

extension FaultInjector: CustomStringConvertible {
    /// How to reproduce the faults, and the injected faults, one per line; without secrets.
    public var description: String {
        let injected = injected
        let source =
            switch source {
            case .chance(let seed, let faults): "seed: \(seed), \(faults)"
            case .script(let script, let repeats):
                "script: [\(script.map { $0.map { "\($0)" } ?? "nil" }.joined(separator: ", "))]"
                    + (repeats ? ", repeats: true" : "")
            }
        return "FaultInjector(\(source)): \(injected.count) in \(requestCount) requests"
            + injected.map { "\n  \($0)" }.joined()
    }

    /// The injector in an outline.
    var outlined: String {
        switch source {
        case .chance(let seed, let faults): "seed: \(seed), faults: \(faults.count)"
        case .script(let script, let repeats): "script of \(script.count)" + (repeats ? ", repeating" : "")
        }
    }
}
