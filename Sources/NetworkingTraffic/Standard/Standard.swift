public import NetworkingCore
import NetworkingResilience

extension NetworkingComponent {
    /// Adds the modifiers that most clients need, with settings that fit each other.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .standard(.app)
    ///     .server(authority: "api.example.com")
    ///
    /// print(network.outline)
    /// ```
    ///
    /// ``StandardStack/app`` and ``StandardStack/server`` list the modifiers with their numbers. A call takes no longer
    /// than the deadline until its response starts. Downloads, streams and long uploads have no deadline, and end if
    /// they make no progress. A request that may not be sent twice, such as a POST without an `Idempotency-Key`, is
    /// retried only if it was not sent. A call fails at once if the server asks it to wait beyond the deadline.
    ///
    /// It belongs next to the transport. `cached`, `authenticated`, `checkedStatusCode`, `logged` and `server` are
    /// further out. If every attempt needs current credentials, insert `authenticated`:
    /// `.standard(.app.inserting(inside: .retry) { $0.authenticated(with: tokens) })`.
    ///
    /// - Parameter stack: The preset.
    /// - Returns: A component that sends through the modifiers.
    /// - Precondition: No attempt may take longer than the deadline, until its head arrives, and the window of the
    ///   circuit breaker is at least twice as long as such an attempt.
    public func standard(_ stack: StandardStack) -> some NetworkingComponent {
        let built = stack.applied(to: self)
        check(built.modifiers)
        return Standard(upstream: built, stack: stack, count: built.modifiers.count - modifiers.count)
    }
}

/// Stops the program if the limits of a preset contradict each other.
private func check(_ modifiers: [any NetworkingModifier]) {
    let limits = modifiers.compactMap { ($0 as? Timeout)?.limits }
    guard let attempt = limits.compactMap({ $0.whole ?? [$0.connect, $0.head].compactMap { $0 }.max() }).min() else {
        return
    }
    if let deadline = modifiers.compactMap(\.stackPart.deadline).min() {
        precondition(
            deadline >= attempt,
            "deadline must not be shorter than the time limit of an attempt (is \(deadline), and the timeout is "
                + "\(attempt))"
        )
    }
    for breaker in modifiers.compactMap({ ($0 as? CircuitBreaking)?.breaker }) {
        let window = breaker.circuits.policy.window
        precondition(
            window >= attempt * 2,
            "the window of circuitBreaker must be at least twice the time limit of an attempt (is \(window), and the "
                + "timeout is \(attempt))"
        )
    }
}

/// The outermost component of a preset, which the outline shows as the parent of its parts.
struct Standard: ForwardingComponent, CustomStringConvertible {
    let upstream: any NetworkingComponent
    let stack: StandardStack
    /// The number of modifiers of the preset.
    let count: Int

    /// The parts of which a stack needs only one.
    ///
    /// A second `retry` is reported by its own rule. A further limiter or deadline may be another limit.
    private static let singleParts: [(StandardStack.Part, StackRole)] = [
        (.timeout, .timeout), (.circuitBreaker, .circuitBreaker), (.deduplication, .deduplication),
    ]

    var stackPart: StackPart {
        StackPart(groupedModifiers: count, rules: Self.singleParts.filter { stack.has($0.0) }.map(onlyOne))
    }

    private func onlyOne(_ part: StandardStack.Part, _ role: StackRole) -> StackRule {
        StackRule { [count] place in
            let others = place.outer + place.inner.dropFirst(count)
            return others.first { $0.stackPart.roles.contains(role) }
                .map { other in
                    "\(place.name) has a \(role), and so has the stack around or inside of it: \(other.outlineName). "
                        + "Remove that one, or the part of the preset: .removing(.\(part))."
                }
        }
    }

    var description: String {
        "standard(\(stack))"
    }
}
