public import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Tries a modifier against the laws that every modifier keeps, and throws what it breaks.
///
/// ```swift
/// @Test func keepsTheLaws() async throws {
///     try await checkLaws(of: RequestID())
/// }
/// ```
///
/// It wraps transports that answer, fail, wait and break off in the modifier; ``Law`` lists what it looks at. Waits of
/// the modifier take no time: its clock is ``Networking/NetworkClock/immediate()``. A request that takes more than 2
/// seconds all the same counts as one that never ends.
///
/// What a modifier does on purpose is said with the reason why:
///
/// ```swift
/// try await checkLaws(of: Mirrored(), except: [.oneSend: "every request goes to a second server too"])
/// ```
///
/// - Parameters:
///   - modifier: The modifier, as it is made for one stack.
///   - request: What to send. It needs an authority, and must be one that the modifier acts on.
///   - exceptions: The laws not to look at, and why. Whether one of them is kept by now does not show.
/// - Throws: ``LawViolations``, which names each law that is broken, what was seen and what to do; `CancellationError`
///   when the caller is cancelled, and then the request under way is too.
public func checkLaws(
    of modifier: some NetworkingModifier,
    sending request: HTTPRequestData = .lawful,
    except exceptions: [Law: String] = [:]
) async throws {
    try await checkLaws(sending: request, except: exceptions) { upstream in
        AnyNetworkingComponent(upstream.modified(modifier))
    }
}

/// Tries what wraps a component against the laws that every modifier keeps, and throws what it breaks.
///
/// ```swift
/// try await checkLaws { upstream in
///     AnyNetworkingComponent(upstream.timeout(.seconds(1)).logged())
/// }
/// ```
///
/// - Parameters:
///   - request: What to send. It needs an authority.
///   - exceptions: The laws not to look at, and why. Whether one of them is kept by now does not show.
///   - wrap: Makes the stack around a transport; called anew for each law, so that no law sees what another left
///     behind.
/// - Throws: ``LawViolations``, which names each law that is broken, what was seen and what to do; `CancellationError`
///   when the caller is cancelled, and then the request under way is too.
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

/// Tries a component, such as a transport of one's own or a whole stack, against the laws that can be seen from
/// outside.
///
/// ```swift
/// try await checkLaws(of: Loopback(), sending: HTTPRequestData(authority: "localhost", path: "echo"))
/// ```
///
/// The request is sent a few dozen times, and each time the answer has to have the same bytes. Whether a transport also
/// speaks HTTP as it should is a matter of `checkConformance`. A request that takes more than 10 seconds counts as one
/// that never ends, and a caller that comes back more than 2 seconds after it was cancelled as one that does not.
///
/// These laws are looked at: ``Law/ownResponse``, ``Law/pureResolve``, ``Law/cancellation``, ``Law/cancelledBefore``,
/// ``Law/sinks`` and ``Law/nextRequest``. The others need a look at what lies upstream.
///
/// - Parameters:
///   - component: The component.
///   - request: What to send.
///   - exceptions: The laws not to look at, and why. Whether one of them is kept by now does not show.
/// - Throws: ``LawViolations``, which names each law that is broken, what was seen and what to do; `CancellationError`
///   when the caller is cancelled, and then the request under way is too.
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
    // First what a modifier that has remembered something by then would not show: one whose first answer is for
    // everybody.
    let order = laws.filter { $0 == .concurrency } + laws.filter { $0 != .concurrency }
    for law in order where exceptions[law] == nil {
        do {
            try await check(law)
        } catch let broken as BrokenLaw {
            violations.append(LawViolations.Violation(law: law, sentence: broken.sentence))
        }
        // What is seen of requests that were cancelled with the check says nothing of the law.
        try Task.checkCancellation()
    }
    if !violations.isEmpty {
        violations.sort { laws.firstIndex(of: $0.law) ?? 0 < laws.firstIndex(of: $1.law) ?? 0 }
        throw LawViolations(violations: violations, exceptions: exceptions)
    }
}

/// The laws that a modifier or a component breaks.
public struct LawViolations: LocalizedError, CustomStringConvertible {
    /// A law that is broken.
    public struct Violation: Sendable, CustomStringConvertible {
        /// Which.
        public let law: Law
        /// What was seen.
        public let sentence: String

        /// The law, what was seen, and what to do.
        public var description: String {
            "\(law.rawValue): \(sentence) \(law.remedy)"
        }
    }

    /// What is broken, in the order of ``Law``.
    public let violations: [Violation]
    /// The laws that were not to be looked at, and why.
    public let exceptions: [Law: String]

    /// What was seen that must not be, a sentence each.
    public var sentences: [String] {
        violations.map(\.sentence)
    }

    /// The violations and then the exceptions, one a line.
    public var description: String {
        let excepted = Law.allCases.compactMap { law in
            exceptions[law].map { "Not looked at: \(law.rawValue), because \($0)." }
        }
        return (violations.map(\.description) + excepted).joined(separator: "\n")
    }

    /// The same.
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

/// What a check found.
struct BrokenLaw: Error {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

extension BrokenLaw {
    static let neverEnds = BrokenLaw("The request never ends, though nothing holds it up.")
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws {
    guard condition else { throw BrokenLaw(sentence()) }
}
