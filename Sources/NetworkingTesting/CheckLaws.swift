public import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Tries a modifier against the laws that every modifier keeps, and throws what it breaks.
///
/// ```swift
/// @Test func keepsTheLaws() async throws {
///     try await checkLaws(of: RequestID())
/// }
/// ```
///
/// It wraps transports that answer, fail and wait in the modifier, and checks:
/// a request is sent once and its response comes back with the caller's own request; `resolve` gives the same for the
/// same request, and the chain upstream is resolved once a send; the upstream's principal shows; another component's
/// error passes through unwrapped; a cancelled caller gets `CancellationError` itself, whatever lies upstream is
/// cancelled with it, and a caller that was cancelled before sends nothing; a sink gets the body, once.
///
/// Waits of the modifier take no time: its clock is ``Networking/NetworkClock/immediate()``.
///
/// - Parameters:
///   - modifier: The modifier, as it is made for one stack.
///   - request: What to send. It needs an authority, and must be one that the modifier acts on.
/// - Throws: ``LawViolations`` with one sentence for each law that is broken.
public func checkLaws(
    of modifier: some NetworkingModifier,
    sending request: HTTPRequestData = .lawful
) async throws {
    try await checkLaws(sending: request) { upstream in
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
///   - wrap: Makes the stack around a transport; called once for each law, so that no law sees what another left
///     behind.
/// - Throws: ``LawViolations`` with one sentence for each law that is broken.
public func checkLaws(
    sending request: HTTPRequestData = .lawful,
    around wrap: @escaping @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent
) async throws {
    let laws = LawCheck(request: request, wrap: wrap)
    var violations: [String] = []
    for law in LawCheck.laws {
        do {
            try await law(laws)
        } catch let violation as Violation {
            violations.append(violation.sentence)
        }
    }
    if !violations.isEmpty {
        throw LawViolations(sentences: violations)
    }
}

/// The laws that a modifier or a component breaks.
public struct LawViolations: Error, CustomStringConvertible {
    /// What it does that it must not, a sentence each.
    public let sentences: [String]

    /// The sentences, one a line.
    public var description: String {
        sentences.joined(separator: "\n")
    }
}

extension HTTPRequestData {
    /// A request that any transport accepts: `GET https://laws.example/check`.
    public static var lawful: HTTPRequestData {
        HTTPRequestData(scheme: "https", authority: "laws.example", path: "/check")
    }
}

private struct Violation: Error {
    let sentence: String
}

private struct LawCheck {
    let request: HTTPRequestData
    let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent

    static let laws: [@Sendable (LawCheck) async throws -> Void] = [
        { try await $0.sendsOnce() },
        { try $0.resolvesPurely() },
        { try await $0.resolvesUpstreamOnce() },
        { try $0.showsPrincipal() },
        { try await $0.passesErrorsOn() },
        { try await $0.cancelsUpstream() },
        { try await $0.sendsNothingWhenCancelled() },
        { try await $0.fillsSinks() },
    ]

    private func stack(around transport: some NetworkingComponent) -> some NetworkingComponent {
        wrap(AnyNetworkingComponent(transport)).environment(\.clock, .immediate())
    }

    private func sendsOnce() async throws {
        let probe = Probe { HTTPResponseData(request: $0, data: Data("body".utf8)) }
        let response: HTTPResponseData
        do {
            response = try await stack(around: probe).send(request)
        } catch {
            throw Violation(sentence: "A request that is answered with 200 fails with \(type(of: error)).")
        }
        try require(probe.count == 1, "A request that is answered with 200 is sent \(probe.count) times, not once.")
        try require(response.status == .ok, "The response to a request does not come back: \(response.status).")
        try require(
            response.request.id == request.id && response.request == request,
            "response.request is not the caller's own request."
        )
    }

    private func resolvesPurely() throws {
        let stack = stack(around: Probe { HTTPResponseData(request: $0) })
        var first = request
        var second = request
        stack.resolve(&first)
        stack.resolve(&second)
        try require(first == second, "resolve is not pure: it gives different results for the same request.")
    }

    private func resolvesUpstreamOnce() async throws {
        let count = Counter()
        let counting = Probe { HTTPResponseData(request: $0) }.server { _ in count.increase() }
        _ = try? await stack(around: counting).send(request)
        try require(
            count.value == 1,
            "The chain upstream is resolved \(count.value) times a send, not once: "
                + "pass on the request that came in, and forward resolve."
        )
    }

    private func showsPrincipal() throws {
        let principal = Principal(id: "somebody")
        let stack = stack(around: Probe(principal: principal) { HTTPResponseData(request: $0) })
        try require(
            stack.principal(for: request) != nil,
            "The upstream's principal does not show: caches outside would mix up users."
        )
    }

    private func passesErrorsOn() async throws {
        struct Foreign: Error {}
        do {
            _ = try await stack(around: Probe { _ in throw Foreign() }).send(request)
            throw Violation(sentence: "An error of the upstream is swallowed.")
        } catch is Foreign {
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation(sentence: "Another component's error does not pass through as it is: \(type(of: error)).")
        }
    }

    private func cancelsUpstream() async throws {
        let arrived = Suspension<Void>()
        let wait = Suspension<HTTPResponseData>()
        let wasCancelled = Counter()
        let probe = Probe { _ in
            arrived.resume()
            return try await wait.value { wasCancelled.increase() }
        }
        let stack = stack(around: probe)
        let request = request
        let call = Task { try await stack.send(request) }
        // A modifier that never sends would leave the check waiting: its own end counts as an arrival.
        let end = Task {
            _ = await call.result
            arrived.resume()
        }
        try await arrived.value()
        call.cancel()
        // A guard, not a wait: a modifier that keeps the law never lets it run out.
        let guardian = Task {
            try await ContinuousClock().sleep(for: .seconds(5))
            wait.resume(with: .failure(Violation(sentence: "A cancelled caller does not cancel the upstream.")))
        }
        let result = await call.result
        guardian.cancel()
        await end.value
        guard case .failure(let error) = result else {
            throw Violation(sentence: "A cancelled caller gets a response.")
        }
        if let violation = error as? Violation {
            throw violation
        }
        try require(
            error is CancellationError,
            "A cancelled caller gets \(type(of: error)), not CancellationError itself."
        )
        try require(
            probe.count <= 1,
            "Something is sent after the caller was cancelled: \(probe.count) requests."
        )
        try require(wasCancelled.value == probe.count, "A cancelled caller does not cancel the upstream.")
    }

    private func sendsNothingWhenCancelled() async throws {
        let sent = Counter()
        let probe = Probe { request in
            // As every transport does: what still gets here was kept from knowing of the cancellation.
            try Task.checkCancellation()
            sent.increase()
            return HTTPResponseData(request: request)
        }
        let stack = stack(around: probe).modified(Cancelling())
        let request = request
        let result = await Task { try await stack.send(request) }.result
        try require(sent.value == 0, "A caller that was cancelled before it began still sends.")
        guard case .failure(let error) = result, error is CancellationError else {
            throw Violation(sentence: "A caller that was cancelled before it began does not get CancellationError.")
        }
    }

    private func fillsSinks() async throws {
        let sink = CollectingSink()
        var request = request
        request.sink = sink
        let body = Data("for the sink".utf8)
        let response: HTTPResponseData
        do {
            response = try await stack(around: Probe { HTTPResponseData(request: $0, data: body) }).send(request)
        } catch {
            throw Violation(sentence: "A request with a sink fails with \(type(of: error)).")
        }
        try require(sink.data == body, "The sink gets \(sink.data.count) bytes of a body of \(body.count).")
        try require(sink.finished == 1, "The sink hears \(sink.finished) times, not once, that its body is complete.")
        try require(
            response.body == .delivered(byteCount: Int64(body.count)),
            "A body that went to the sink is not reported as delivered."
        )
    }

    private func require(_ condition: Bool, _ sentence: String) throws {
        guard condition else { throw Violation(sentence: sentence) }
    }
}

/// Cancels its caller, past the outermost part's own look at it.
private struct Cancelling: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await upstream.send(request)
    }
}

/// A bare component that counts what arrives.
private struct Probe: NetworkingComponent {
    private let counter = Counter()
    private let answer: @Sendable (HTTPRequestData) async throws -> HTTPResponseData
    private let principal: Principal?

    init(
        principal: Principal? = nil,
        answer: @escaping @Sendable (HTTPRequestData) async throws -> HTTPResponseData
    ) {
        self.principal = principal
        self.answer = answer
    }

    var count: Int {
        counter.value
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        counter.increase()
        return try await answer(request)
    }

    func principal(for request: HTTPRequestData) -> Principal? {
        principal
    }
}

private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int {
        count.load(ordering: .relaxed)
    }

    func increase() {
        count.add(1, ordering: .relaxed)
    }
}
