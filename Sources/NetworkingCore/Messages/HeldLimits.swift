/// The limiters that hold a permit for a request, innermost first, while it is on its way through a stack.
///
/// Each limiter has one of these for the requests that hold no other permit, so that these cost no allocation. It also
/// tells the limiter from others: a request may outlive the limiter, whose own address could be another's by then.
package final class HeldLimits: Sendable {
    private let limiter: HeldLimits?
    private let outer: HeldLimits?

    /// Creates the value of a limiter.
    package convenience init() {
        self.init(nil, inside: nil)
    }

    private init(_ limiter: HeldLimits?, inside outer: HeldLimits?) {
        self.limiter = limiter
        self.outer = outer
    }

    fileprivate func adding(_ limiter: HeldLimits) -> HeldLimits {
        HeldLimits(limiter, inside: self)
    }

    fileprivate func contains(_ limiter: HeldLimits) -> Bool {
        self === limiter || self.limiter === limiter || outer?.contains(limiter) == true
    }
}

extension HTTPRequestData {
    /// Whether a limiter has to give the request a permit.
    ///
    /// A limiter that stands in the stack twice gives one permit: a request that held one could wait for itself.
    package func needsPermit(of limiter: HeldLimits, in environment: NetworkEnvironment) -> Bool {
        isThrottled && environment.isThrottled && heldLimits?.contains(limiter) != true
    }

    /// The request as it is sent on with a permit.
    package func holdingPermit(of limiter: HeldLimits) -> HTTPRequestData {
        var request = self
        request.heldLimits = heldLimits?.adding(limiter) ?? limiter
        return request
    }
}
