public import NetworkingCore
import NetworkingResilience

/// A limiter that finds out which rate a server accepts.
///
/// It is for ``NetworkingComponent/rateLimited(by:maximumWait:)-(AdaptiveRateLimiter,_)``.
///
/// It limits nothing until a server refuses a request because of too many. Then the rate to that authority falls to
/// 70 %, and grows again as TCP's CUBIC does: slowly up to the rate that was refused, faster beyond it. The rate is at
/// most twice the one that is measured, and at least one request in two seconds. While the server reports its limits
/// (``HTTPResponseData/serverLimits``), there is no rate, because ``ServerRateLimiter`` keeps to them
/// without a guess.
public final class AdaptiveRateLimiter: Sendable {
    let lines = GatedLines<AdaptiveRateGate>()
    let held = HeldLimits()
    private let statuses: StatusSet

    /// Creates a limiter.
    ///
    /// - Parameter statuses: The statuses of a response that refuses a request because of too many.
    public init(refusedWith statuses: StatusSet = [.tooManyRequests, .serviceUnavailable]) {
        self.statuses = statuses
    }

    /// The number of waiting requests.
    public var waiting: Int {
        lines.waiting
    }
}

extension AdaptiveRateLimiter: FeedbackLimiter {
    func key(for request: HTTPRequestData, _ principal: Principal?) -> LineKey {
        LineKey(of: request)
    }

    var limitation: String { "The rate that the server accepts is reached" }

    func report(on response: HTTPResponseData) -> AdaptiveRateGate.Report? {
        if !response.serverLimits.isEmpty { return .limited }
        guard !response.headerFields.isFromCache else { return nil }
        return statuses.contains(response.status) ? .throttled : .accepted
    }

    func event(for report: AdaptiveRateGate.Report) -> (any NetworkEvent)? {
        report == .throttled ? RateLimitEvent.reduced : nil
    }
}

extension AdaptiveRateLimiter: CustomStringConvertible {
    /// The type, for the stack's outline.
    public var description: String {
        "AdaptiveRateLimiter()"
    }
}
