extension HTTPRequestData {
    /// Whether `throttled` and `rateLimited` apply to this request.
    ///
    /// They do by default, unless ``NetworkEnvironment/isThrottled`` is `false`.
    public var isThrottled: Bool {
        get { self[.isThrottled] }
        set { self[.isThrottled] = newValue }
    }

    /// Returns whether a request needs a permit of a limiter.
    ///
    /// A limiter that occurs twice in a stack gives one permit. Otherwise a request that holds a permit could wait for
    /// itself.
    package func needsPermit(of limiter: HeldLimits, in environment: NetworkEnvironment) -> Bool {
        isThrottled && environment.isThrottled && !holdsPermit(of: limiter)
    }

    /// Returns whether the request holds a permit of a limiter further out.
    package func holdsPermit(of limiter: HeldLimits) -> Bool {
        heldLimits?.contains(limiter) == true
    }

    /// Returns a copy of the request that holds a permit of a limiter.
    ///
    /// - Parameter mark: The instance of the limiter, or the mark of a group of its requests.
    /// - Returns: The request.
    package func holdingPermit(of mark: HeldLimits) -> HTTPRequestData {
        var request = self
        request.heldLimits = heldLimits?.adding(mark) ?? mark
        return request
    }
}

extension RequestOptionKey {
    // A request that needs no permit must not wait for an exchange that waits for one.
    /// ``HTTPRequestData/isThrottled``.
    public static let isThrottled = RequestOption("isThrottled", default: true, affects: .sending)
}
