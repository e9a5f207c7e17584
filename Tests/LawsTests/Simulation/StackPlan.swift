import Networking

/// Random numbers that depend only on a list of seeds, so that removing a part of a plan leaves the others unchanged.
struct Draws: Sendable {
    private let source: RandomSource

    init(_ seeds: UInt64...) {
        source = .seeded(seeds.reduce(0) { RandomSource.seeded($0 ^ $1).next() })
    }

    func next() -> UInt64 {
        source.next()
    }

    func int(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(source.next() % UInt64(range.count))
    }

    func chance(_ probability: Double) -> Bool {
        source.fraction() < probability
    }

    func pick<Element>(_ elements: [Element]) -> Element {
        elements[int(0...elements.count - 1)]
    }

    func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(int(range))
    }
}

/// A random stack and what its callers and users do, as a function of a seed.
struct StackPlan: Sendable {
    /// A modifier, with a seed for its settings.
    struct Layer: Sendable {
        let kind: LayerKind
        let seed: UInt64
    }

    /// An action at a moment: a call, or a change of the user.
    struct Action: Sendable {
        enum Kind: Sendable {
            case call
            case signIn(String)
            case signOut
            /// The server stops to accept the access tokens of a user.
            case revoke(String)
            /// The device loses its network, or has one again.
            case network(isAvailable: Bool)
        }

        let number: Int
        let time: Duration
        let app: Int
        let kind: Kind
        let seed: UInt64
    }

    static let users = ["ada", "bob", "cyd"]

    let seed: UInt64
    /// The modifiers, innermost first.
    var layers: [Layer]
    var actions: [Action]
    /// The number of apps, each with its own users.
    ///
    /// They share the caches, jars, limiters and budgets of the modifiers.
    let apps: Int
    /// Whether the clock may advance while tasks can continue.
    let isLate: Bool

    /// Creates the plan of a seed.
    ///
    /// - Parameters:
    ///   - seed: The seed.
    ///   - calls: The number of calls.
    init(seed: UInt64, calls: Int) {
        self.seed = seed
        let draws = Draws(seed, 1)
        var kinds = LayerKind.allCases.filter { draws.chance($0.probability) }
        if draws.chance(0.1), let second = kinds.randomElement(by: draws) { kinds.append(second) }
        if draws.chance(0.2) { kinds.append(.listed) }
        // The preset checks the limits of the whole stack, and random ones would contradict its own.
        if kinds.contains(.standard) {
            kinds.removeAll { [.timeout, .phases, .deadline, .circuitBreaker].contains($0) }
        }
        // A third of the stacks have the recommended order, and the others any order.
        if !draws.chance(0.33) { kinds.shuffle(by: draws) }
        layers = kinds.map { Layer(kind: $0, seed: draws.next()) }
        let apps = draws.chance(0.4) ? 2 : 1
        self.apps = apps
        isLate = draws.chance(0.3)
        // Calls that overlap have the most interesting interleavings.
        let interval = calls * draws.pick([20, 100, 400])
        actions = (0..<calls * 5 / 4)
            .map { number in
                let draws = Draws(seed, 2, UInt64(number))
                let kind: Action.Kind =
                    if number < apps {
                        draws.chance(0.8) ? .signIn(draws.pick(Self.users)) : .call
                    } else if number >= calls {
                        draws.pick([
                            .signIn(draws.pick(Self.users)), .signIn(draws.pick(Self.users)), .signOut,
                            .revoke(draws.pick(Self.users)), .network(isAvailable: false), .network(isAvailable: true),
                        ])
                    } else {
                        .call
                    }
                return Action(
                    number: number,
                    time: number < apps ? .zero : draws.milliseconds(0...interval),
                    app: number < apps ? number : draws.int(0...apps - 1),
                    kind: kind,
                    seed: draws.next()
                )
            }
            .sorted { ($0.time, $0.number) < ($1.time, $1.number) }
    }
}

extension StackPlan: CustomStringConvertible {
    /// The modifiers, innermost first, and the actions in order.
    var description: String {
        let layers = layers.map { $0.kind.rawValue }.joined(separator: ".")
        let actions = actions.map { "  \($0.time) app \($0.app): #\($0.number) \($0.kind)" }.joined(separator: "\n")
        return "seed \(seed)\(isLate ? ", late" : ""): transport.\(layers)\n\(actions)"
    }
}

// MARK: - Shrinking

extension StackPlan {
    /// Returns the smallest plan found that still has a property, by removing modifiers and actions.
    func shrunk(while isStillFailing: nonisolated(nonsending) (StackPlan) async -> Bool) async -> StackPlan {
        var (smallest, isSmaller) = (self, true)
        while isSmaller {
            isSmaller = false
            for index in smallest.layers.indices.reversed() {
                var candidate = smallest
                candidate.layers.remove(at: index)
                guard await isStillFailing(candidate) else { continue }
                (smallest, isSmaller) = (candidate, true)
            }
            var size = max(1, smallest.actions.count / 2)
            while size > 0 {
                var start = 0
                while start < smallest.actions.count {
                    var candidate = smallest
                    candidate.actions.removeSubrange(start..<min(start + size, smallest.actions.count))
                    if await isStillFailing(candidate) {
                        (smallest, isSmaller) = (candidate, true)
                    } else {
                        start += size
                    }
                }
                size /= 2
            }
        }
        return smallest
    }
}

extension Array {
    fileprivate func randomElement(by draws: Draws) -> Element? {
        isEmpty ? nil : draws.pick(self)
    }

    fileprivate mutating func shuffle(by draws: Draws) {
        for index in indices.dropFirst() {
            swapAt(index, draws.int(0...index))
        }
    }
}
