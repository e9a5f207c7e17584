/// The limiters that hold a permit for a request, innermost first, while it is on its way through a stack.
final class HeldLimits: Sendable {
    private let limiter: any AnyObject & Sendable
    private let outer: HeldLimits?

    init(_ limiter: any AnyObject & Sendable, _ outer: HeldLimits?) {
        self.limiter = limiter
        self.outer = outer
    }

    func contains(_ limiter: some AnyObject) -> Bool {
        self.limiter === limiter || outer?.contains(limiter) == true
    }
}

extension HTTPRequestData {
    /// Whether a limiter has to give the request a permit.
    ///
    /// A limiter that stands in the stack twice gives one permit: a request that held one could wait for itself.
    func needsPermit(of limiter: some AnyObject, in environment: NetworkEnvironment) -> Bool {
        isThrottled && environment.isThrottled && heldLimits?.contains(limiter) != true
    }

    /// The request as it is sent on with a permit.
    func holdingPermit(of limiter: some AnyObject & Sendable) -> HTTPRequestData {
        var request = self
        request.heldLimits = HeldLimits(limiter, heldLimits)
        return request
    }
}
