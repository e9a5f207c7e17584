public import Networking
import Synchronization

/// Decides what goes wrong with which request, by chance from a seed or by script, and remembers it.
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
/// Requests are numbered from one in the order in which they get to it. What happens to a request is a matter of the
/// seed, its number and the list alone: not of what happens to others, of how many are under way or of what else draws
/// chance. So a test that fails prints ``description``, and the same seed brings the same faults again. A fault that is
/// added at the end of the list changes nothing about those before it.
///
/// Several stacks may have the same injector, and then count together. Each request takes a number, also when it is a
/// retry of another; those that are not meant take none.
public final class FaultInjector: Sendable {
    /// A fault that was injected.
    public struct Injection: Sendable, CustomStringConvertible {
        /// Which request it was, counted from one.
        public let number: Int
        /// The request: its method, URL and label, as they were at this place of the stack.
        public let request: HTTPRequestData
        /// What went wrong.
        public let fault: Fault

        /// The number, the request and the fault: `#3 GET https://api.example.com/users: truncated(after: 512)`.
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

    /// Creates an injector that goes by chance.
    ///
    /// - Parameters:
    ///   - seed: Where chance begins; nil for one that the environment's ``Networking/NetworkEnvironment/random``
    ///     gives, which ``description`` tells.
    ///   - faults: What may go wrong, each at its own rate. Several may happen to one request.
    ///   - isMeant: Says which requests are meant; by default all are. Called from any thread.
    public init(
        seed: UInt64? = nil,
        _ faults: [Fault],
        where isMeant: @escaping @Sendable (HTTPRequestData) -> Bool = { _ in true }
    ) {
        var random = NetworkEnvironment.current.random
        source = .chance(seed: seed ?? .random(in: 0..<1 << 32, using: &random), faults)
        self.isMeant = isMeant
    }

    /// Creates an injector that goes by script.
    ///
    /// ```swift
    /// FaultInjector(script: [nil, .error(.timeout), .status(.badGateway)])   // the second and the third request fail
    /// ```
    ///
    /// - Parameters:
    ///   - script: What goes wrong with each request in order; nil is nothing.
    ///   - repeats: Whether it begins anew at its end. Otherwise nothing goes wrong from then on.
    ///   - isMeant: Says which requests are meant; by default all are. Called from any thread.
    /// - Precondition: No fault of it has a rate: the script says when it happens.
    public init(
        script: [Fault?],
        repeats: Bool = false,
        where isMeant: @escaping @Sendable (HTTPRequestData) -> Bool = { _ in true }
    ) {
        for case let fault? in script {
            precondition(fault.rate == 1, "\(fault) must have no rate: a script says itself when it happens")
        }
        source = .script(script, repeats: repeats)
        self.isMeant = isMeant
    }

    /// Whether it injects anything; true at first.
    ///
    /// While it is false requests take no number.
    public var isEnabled: Bool {
        get { state.withLock { $0.isEnabled } }
        set { state.withLock { $0.isEnabled = newValue } }
    }

    /// The seed; nil where a script decides.
    public var seed: UInt64? {
        if case .chance(let seed, _) = source { seed } else { nil }
    }

    /// How many requests have taken a number.
    public var requestCount: Int {
        state.withLock { $0.count }
    }

    /// What was injected, in the order in which the requests came.
    ///
    /// What is to happen to a body is among it, even if that was too short for it.
    public var injected: [Injection] {
        state.withLock { $0.injected }.sorted { $0.number < $1.number }
    }

    /// Tells what happens to a request, before or after it does.
    ///
    /// - Parameter number: Which request, counted from one.
    /// - Returns: The faults, in the order of the list; one alone if it takes the place of the exchange.
    /// - Precondition: `number` is greater than zero.
    public func faults(forRequest number: Int) -> [Fault] {
        precondition(number > 0, "number must be greater than zero (is \(number)): requests are counted from one")
        return plan(for: number).faults
    }

    /// What happens to the next request; nil when that is nothing.
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
        // Not the whole, which would keep its sink.
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
                        // The bound is open, so that a rate of 0 is never and one of 1 always.
                        guard Double.random(in: 0..<1, using: &random) < fault.rate else { return nil }
                        return (fault, random)
                    }
            )
        }
    }

    /// Chance of its own for each fault and each request: nobody else's draws move it on.
    private func chance(_ number: UInt64, _ index: UInt64, seed: UInt64) -> RandomSource {
        // Mixed in turn: a sum of them would have one request draw what another has drawn.
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
    /// How to have the same again, and what was injected, a fault a line; without secrets.
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

    /// The line of an outline.
    var outlined: String {
        switch source {
        case .chance(let seed, let faults): "seed: \(seed), faults: \(faults.count)"
        case .script(let script, let repeats): "script of \(script.count)" + (repeats ? ", repeating" : "")
        }
    }
}
