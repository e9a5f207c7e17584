/// The limiters with a permit that a request holds, innermost first, while it is on its way through a stack.
///
/// Each limiter has an instance for the requests that hold no other permit, so that these need no allocation. The
/// instance also identifies the limiter: a request can outlive the limiter, and another limiter can then have the same
/// address.
package final class HeldLimits: Sendable {
    private let limiter: HeldLimits?
    private let outer: HeldLimits?

    /// Creates the instance of a limiter.
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
    /// Returns whether a request needs a permit of a limiter.
    ///
    /// A limiter that occurs twice in a stack gives one permit. Otherwise a request that holds a permit could wait for
    /// itself.
    package func needsPermit(of limiter: HeldLimits, in environment: NetworkEnvironment) -> Bool {
        isThrottled && environment.isThrottled && heldLimits?.contains(limiter) != true
    }

    /// Returns a copy of the request that holds a permit of a limiter.
    package func holdingPermit(of limiter: HeldLimits) -> HTTPRequestData {
        var request = self
        request.heldLimits = heldLimits?.adding(limiter) ?? limiter
        return request
    }
}
