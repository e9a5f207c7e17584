import NetworkingCore
import NetworkingResilience

/// The extra attempts that the calls of a route may make: each needs a place in the budget of the route, in that of the
/// stack, and among the attempts that lose.
struct HedgeAllowance: Sendable {
    enum Decision: Sendable {
        case taken(Permit)
        case refused(HedgingRefusal)
    }

    struct Permit: Sendable {
        fileprivate let retry: RetryBudget.Permit
        fileprivate let place: HedgeLosers.Place
    }

    let route: HedgeRoute
    let budget: RetryBudget
    let losers: HedgeLosers
    let server: AuthorityKey?

    /// Takes an extra attempt from both budgets, or from neither.
    func take(at now: Duration) -> Decision {
        guard let place = losers.place() else { return .refused(.tooManyLosers) }
        guard route.withdraw() else { return .refused(.budget) }
        guard let permit = budget.withdraw(server, at: now) else {
            route.refund()
            return .refused(.budget)
        }
        return .taken(Permit(retry: permit, place: place))
    }

    /// Gives back an extra attempt that was not sent.
    func giveBack(_ permit: Permit, at now: Duration) {
        route.refund()
        budget.refund(permit.retry, server, at: now)
    }
}
