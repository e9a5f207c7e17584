import FoundationForNetworking
public import NetworkingCore
public import NetworkingResilience

/// A limiter that keeps to the limits which servers report.
///
/// It is for ``NetworkingComponent/rateLimited(by:maximumWait:)-(ServerRateLimiter,_)``.
///
/// It reads ``HTTPResponseData/serverLimits`` and `Retry-After` of each response. Each user of each
/// server has limits of their own. Share one instance between stacks to share what it has learned.
public final class ServerRateLimiter: Sendable {
    let lines = GatedLines<ServerLimitGate>()
    package let held = HeldLimits()
    private let key: RateLimiter.Key
    private let read: (@Sendable (HTTPResponseData) -> [ServerLimit]?)?

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - key: A rule that groups the requests of one user of a server further. By default, all of them count towards
    ///     the same limits.
    ///   - read: Returns the limits in a response, for fields that the library does not read, such as durations like
    ///     `6m0s`; `nil` for ``HTTPResponseData/serverLimits``.
    public init(
        key: RateLimiter.Key = .everything,
        reading read: (@Sendable (HTTPResponseData) -> [ServerLimit]?)? = nil
    ) {
        self.key = key
        self.read = read
    }

    /// The number of waiting requests.
    public var waiting: Int {
        lines.waiting
    }
}

extension ServerRateLimiter: FeedbackLimiter {
    func key(for request: HTTPRequestData, _ principal: Principal?) -> LineKey {
        var line = LineKey(of: request)
        line.user = principal?.withoutCookieValues.id
        line.group = key.value(for: request, principal)
        return line
    }

    var limitation: String { "A limit that the server reports is reached" }

    func report(on response: HTTPResponseData) -> ServerLimitGate.Report? {
        let environment = NetworkEnvironment.current
        let limits = read?(response) ?? response.serverLimits
        // A refusal that a cache has stored was for another request.
        let isRefusal =
            (response.status == .tooManyRequests || response.status == .serviceUnavailable)
            && !response.headerFields.isFromCache
        guard response.status.code >= 200, !limits.isEmpty || isRefusal else { return nil }
        return ServerLimitGate.Report(
            limits: Array(limits.prefix(16)),
            retryAfter: response.http.retryAfter(now: environment.clock.date),
            isRefusal: isRefusal,
            violatedPolicies: isRefusal ? response.rateLimitProblem?.violatedPolicies ?? [] : [],
            isRedirect: response.http.isRedirect,
            jitter: environment.random.fraction()
        )
    }

    func event(for report: ServerLimitGate.Report) -> (any NetworkEvent)? {
        report.limits.first { $0.remaining == 0 }.map { RateLimitEvent.exhausted($0) }
    }
}

extension ServerRateLimiter: CustomStringConvertible {
    /// The type, for the stack's outline.
    public var description: String {
        "ServerRateLimiter()"
    }
}
