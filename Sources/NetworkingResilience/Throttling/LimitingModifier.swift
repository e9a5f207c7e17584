package import NetworkingCore

/// An object that gives permits to the requests of the stacks that share it.
package protocol RequestLimiter: AnyObject, Sendable {
    /// The mark of the requests that hold a permit.
    var held: HeldLimits { get }
}

/// A modifier that limits requests with a limiter that several stacks may share.
package protocol LimitingModifier: UpstreamLimited, CustomStringConvertible {
    associatedtype Limiter: RequestLimiter

    var limiter: Limiter { get }
    /// The maximum time that a request waits; `nil` for no limit.
    var maximumWait: Duration? { get }
    /// Whether each hop of a redirect needs a permit of its own, because its server may have another limit.
    var limitsEachHop: Bool { get }

    /// Waits for a permit, and makes an exchange with it.
    ///
    /// - Parameters:
    ///   - request: The request, which already has the mark of the limiter.
    ///   - upstream: The component that makes the exchange.
    /// - Returns: The response.
    /// - Throws: The error of a request that is refused, or of the exchange.
    func exchange(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData
}

extension LimitingModifier {
    // Inlined, because code that is generic in the limiter takes longer than the decision.
    @inline(__always)
    package func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.needsPermit(of: limiter.held, in: .current) else { return try await upstream.send(request) }
        guard limitsEachHop else {
            return try await exchange(request.holdingPermit(of: limiter.held), upstream: upstream)
        }
        // A transport would follow a redirect within one exchange, under the limit of the first host.
        let principal = { (hop: HTTPRequestData) in upstream.principal(for: hop) }
        return try await request.takingOverRedirects(for: principal, holding: limiter.held, over: upstream) {
            try await exchange($0, upstream: upstream)
        }
    }

    /// Returns the maximum time that a request waits: none if it is worth sending only at once.
    package func maximumWait(of request: HTTPRequestData) -> Duration? {
        request.waitsForPermits ? maximumWait : .zero
    }
}

/// Returns the maximum wait of a limit, which must not be negative, as a duration that any moment can be added to.
package func checked(maximumWait: Duration?) -> Duration? {
    precondition(maximumWait ?? .zero >= .zero, "maximumWait must not be negative (is \(maximumWait ?? .zero))")
    return maximumWait?.bounded
}

extension LimitingModifier {
    /// The rules that `throttled` and `rateLimited` have in common.
    ///
    /// - Parameter consequence: The consequence of a place outside `retry`: "so …".
    /// - Returns: The rules.
    package func rules(outsideRetry consequence: String) -> [StackRule] {
        [
            .not(
                "is inside a modifier with the same limiter, so requests pass it without another permit. "
                    + "Keep one of the two, or give each its own limiter."
            ) { place in place.outer.contains { ($0 as? Self)?.limiter === limiter } },
            .notOutside(.retry, "is outside retry, \(consequence)"),
            .notOutside(.caching, "is outside cached, so cached responses need a permit too. Put it inside."),
            .notOutside(
                .deduplication,
                "is outside deduplicated, so each caller of a shared exchange needs a permit. Put it inside."
            ),
        ]
    }
}
