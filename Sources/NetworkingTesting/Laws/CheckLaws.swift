public import FoundationForNetworking
public import NetworkingCore

/// Checks a modifier against the laws for all modifiers, and throws an error if it breaks one.
///
/// ```swift
/// @Test func keepsTheLaws() async throws {
///     try await checkLaws(of: RequestID())
/// }
/// ```
///
/// The check puts the modifier around transports that respond, fail, wait or truncate the body. ``Law`` lists the
/// requirements. Waits of the modifier end immediately, because its clock is `NetworkClock.immediate()`. A request
/// that still takes more than 2 seconds counts as one that never ends.
///
/// If the modifier breaks a law on purpose, state the exception with its reason:
///
/// ```swift
/// try await checkLaws(of: Mirrored(), except: [.oneSend: "every request goes to a second server too"])
/// ```
///
/// - Parameters:
///   - modifier: The modifier; all stacks of the check share it.
///   - request: The request to send. It needs an authority, and the modifier must act on it.
///   - exceptions: The laws to skip, with reasons. The check does not detect exceptions that are no longer necessary.
/// - Throws: ``LawViolations``, which lists each broken law, the observation and the remedy; `CancellationError` if the
///   caller is cancelled, which also cancels the request in flight.
public func checkLaws(
    of modifier: some NetworkingModifier,
    sending request: HTTPRequestData = .lawful,
    except exceptions: [Law: String] = [:]
) async throws {
    try await checkLaws(sending: request, except: exceptions) { upstream in
        AnyNetworkingComponent(upstream.modified(modifier))
    }
}

/// Checks a stack around a component against the laws for all modifiers, and throws an error if it breaks one.
///
/// ```swift
/// try await checkLaws { upstream in
///     AnyNetworkingComponent(upstream.timeout(.seconds(1)).logged())
/// }
/// ```
///
/// - Parameters:
///   - request: The request to send. It needs an authority.
///   - exceptions: The laws to skip, with reasons. The check does not detect exceptions that are no longer necessary.
///   - wrap: Creates the stack around a transport. It is called again for each law, so that the laws are checked
///     independently.
/// - Throws: ``LawViolations``, which lists each broken law, the observation and the remedy; `CancellationError` if the
///   caller is cancelled, which also cancels the request in flight.
public func checkLaws(
    sending request: HTTPRequestData = .lawful,
    except exceptions: [Law: String] = [:],
    around wrap: @escaping @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent
) async throws {
    let check = LawCheck(request: request, wrap: wrap)
    try await findViolations(of: Law.allCases, except: exceptions) { law in
        try await check.check(law)
    }
}

/// Checks a component, such as a custom transport or a complete stack, against the laws that can be observed from
/// outside.
///
/// ```swift
/// try await checkLaws(of: Loopback(), sending: HTTPRequestData(authority: "localhost", path: "echo"))
/// ```
///
/// The request is sent a few dozen times, and each response must have the same bytes. Use `checkConformance` to check
/// whether a transport implements HTTP correctly. A request that takes more than 10 seconds counts as one that never
/// ends. A cancelled caller that takes more than 2 seconds to return counts as one that does not return.
///
/// These laws are checked: ``Law/ownResponse``, ``Law/pureResolve``, ``Law/cancellation``, ``Law/cancelledBefore``,
/// ``Law/sinks`` and ``Law/nextRequest``. The others require access to the upstream.
///
/// - Parameters:
///   - component: The component.
///   - request: The request to send.
///   - exceptions: The laws to skip, with reasons. The check does not detect exceptions that are no longer necessary.
/// - Throws: ``LawViolations``, which lists each broken law, the observation and the remedy; `CancellationError` if the
///   caller is cancelled, which also cancels the request in flight.
public func checkLaws(
    of component: some NetworkingComponent,
    sending request: HTTPRequestData = .lawful,
    except exceptions: [Law: String] = [:]
) async throws {
    let check = ComponentCheck(request: request, component: AnyNetworkingComponent(component))
    try await findViolations(of: ComponentCheck.laws, except: exceptions) { law in
        try await check.check(law)
    }
}

private func findViolations(
    of laws: [Law],
    except exceptions: [Law: String],
    _ check: nonisolated(nonsending) (Law) async throws -> Void
) async throws {
    var violations: [LawViolations.Violation] = []
    // Check concurrency first, before the modifier has stored anything: a stored response that is returned to all
    // callers would hide a violation.
    let order = laws.filter { $0 == .concurrency } + laws.filter { $0 != .concurrency }
    for law in order where exceptions[law] == nil {
        do {
            try await check(law)
        } catch let broken as BrokenLaw {
            violations.append(LawViolations.Violation(law: law, sentence: broken.sentence))
        }
        // Observations of requests that were cancelled together with the check are not valid.
        try Task.checkCancellation()
    }
    if !violations.isEmpty {
        violations.sort { laws.firstIndex(of: $0.law) ?? 0 < laws.firstIndex(of: $1.law) ?? 0 }
        throw LawViolations(violations: violations, exceptions: exceptions)
    }
}

/// The laws that a modifier or a component breaks.
public struct LawViolations: LocalizedError, CustomStringConvertible {
    /// A broken law.
    public struct Violation: Sendable, CustomStringConvertible {
        /// The law.
        public let law: Law
        /// The observation.
        public let sentence: String

        /// The law, the observation and the remedy.
        public var description: String {
            "\(law.rawValue): \(sentence) \(law.remedy)"
        }
    }

    /// The violations, in the order of ``Law``.
    public let violations: [Violation]
    /// The skipped laws, with reasons.
    public let exceptions: [Law: String]

    /// The observations of all violations, one sentence each.
    public var sentences: [String] {
        violations.map(\.sentence)
    }

    /// The violations and then the exceptions, one per line.
    public var description: String {
        let excepted = Law.allCases.compactMap { law in
            exceptions[law].map { "Not checked: \(law.rawValue), because \($0)." }
        }
        return (violations.map(\.description) + excepted).joined(separator: "\n")
    }

    /// The same as `description`.
    public var errorDescription: String? {
        description
    }
}

extension HTTPRequestData {
    /// A request that any transport accepts: `GET https://laws.example/check`.
    public static var lawful: HTTPRequestData {
        HTTPRequestData(scheme: "https", authority: "laws.example", path: "/check")
    }
}

/// The result of a failed check.
struct BrokenLaw: Error {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

extension BrokenLaw {
    static let neverEnds = BrokenLaw("The request never ends, although nothing blocks it.")
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws {
    guard condition else { throw BrokenLaw(sentence()) }
}
