import NetworkingCore

/// A modifier that limits requests with a limiter that several stacks may share.
protocol LimitingModifier: UpstreamLimited, CustomStringConvertible {
    associatedtype Limiter: AnyObject & Sendable

    var limiter: Limiter { get }
    /// The maximum time that a request waits; `nil` for no limit.
    var maximumWait: Duration? { get }
}

extension LimitingModifier {
    /// Returns the maximum time that a request waits: none if it is worth sending only at once.
    func maximumWait(of request: HTTPRequestData) -> Duration? {
        request.waitsForPermits ? maximumWait : .zero
    }
}

extension HTTPRequestData {
    /// Makes each hop of a redirect a separate exchange, for limits that may apply to the hops separately.
    ///
    /// A transport would follow the redirect within one exchange, under the limit of the first host.
    func exchangingHops(
        over upstream: some NetworkingComponent,
        _ exchange: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        try await takingOverRedirects(for: { upstream.principal(for: $0) }, over: upstream, exchange)
    }
}

/// Returns the maximum wait of a limit, which must not be negative, as a duration that any moment can be added to.
func checked(maximumWait: Duration?) -> Duration? {
    precondition(maximumWait ?? .zero >= .zero, "maximumWait must not be negative (is \(maximumWait ?? .zero))")
    return maximumWait?.bounded
}

extension LimitingModifier {
    /// The rules that `throttled` and `rateLimited` have in common.
    ///
    /// - Parameter consequence: The consequence of a place outside `retry`: "so …".
    /// - Returns: The rules.
    func rules(outsideRetry consequence: String) -> [StackRule] {
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
