public import NetworkingResilience

extension RateLimiter {
    /// The settings of a limit that several processes or machines share.
    ///
    /// ```swift
    /// let sharing = RateLimiter.Sharing(in: store, as: "payments", localShare: 1 / 20)   // 20 machines
    /// let limiter = RateLimiter(100, per: .seconds(1), burst: 10, sharing: sharing)
    /// ```
    ///
    /// A process takes permits from the store in batches: one for each request that waits, and as many as it has used
    /// lately within the time ``lead`` if they are free. It gives back what it does not use within twice that time. A
    /// process that ends suddenly loses the permits that it holds, which are those of about that time.
    ///
    /// If the store throws an error, contradicts itself or takes longer than ``timeout``, the requests that wait are
    /// sent at the *local share* of the limit, with the event `RateLimitEvent.localShare`. After three failures in a
    /// row, the ``breaker`` lets only one probe at a time through to the store, and no request waits for a probe.
    public struct Sharing: Sendable {
        /// The store of the state.
        public let store: any RateLimitStore

        /// The name of the limit, which is the same in all processes that share it and differs from that of any other
        /// limit in the store.
        public let name: String

        /// The share of the limit that this process uses while the store fails, such as 1 divided by the number of
        /// processes.
        public let localShare: Double

        /// The maximum time for which a permit is taken ahead of its use.
        ///
        /// With a longer time, there are fewer round trips to the store. A process that ends suddenly then loses more
        /// permits. With zero, a process takes a permit for each request, when it may be used.
        public let lead: Duration

        /// The maximum time of a call to the store.
        public let timeout: Duration

        /// The circuit breaker in front of the store.
        ///
        /// Its circuit has the name of the limit as its key. Share the breaker between the limits of a store, so that
        /// the app can observe and isolate them together.
        public let breaker: CircuitBreaker

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - store: The store of the state.
        ///   - name: The name of the limit in the store.
        ///   - localShare: The share of the limit that this process uses while the store fails.
        ///   - lead: The maximum time for which a permit is taken ahead of its use.
        ///   - timeout: The maximum time of a call to the store, on the environment's clock.
        ///   - breaker: The circuit breaker in front of the store; by default one with
        ///     ``CircuitBreaker/Policy/sharedStore``.
        /// - Precondition: `localShare` is a millionth to 1, `lead` is zero to 10 seconds, and `timeout` is
        ///   1 millisecond to 10 seconds.
        public init(
            in store: any RateLimitStore,
            as name: String,
            localShare: Double,
            lead: Duration = .milliseconds(100),
            timeout: Duration = .milliseconds(50),
            breaker: CircuitBreaker = CircuitBreaker(.sharedStore)
        ) {
            precondition(
                localShare >= 1e-6 && localShare <= 1,
                "localShare must be a millionth to 1 (is \(localShare))"
            )
            precondition(lead >= .zero && lead <= .seconds(10), "lead must be zero to 10 seconds (is \(lead))")
            precondition(
                timeout >= .milliseconds(1) && timeout <= .seconds(10),
                "timeout must be 1 ms to 10 seconds (is \(timeout))"
            )
            self.store = store
            self.name = name
            self.localShare = localShare
            self.lead = lead
            self.timeout = timeout
            self.breaker = breaker
        }
    }

    /// Creates a limiter whose limit several processes or machines share.
    ///
    /// The queue belongs to this process: a request of high priority overtakes those of this process only. How long a
    /// request has to wait depends on the other processes. So it may be refused only at the end of its maximum wait,
    /// and not at once. It always waits for the decision of the store, which takes at most ``Sharing/timeout``.
    ///
    /// - Parameters:
    ///   - count: The number of requests that are allowed in each period, for all processes together.
    ///   - period: The length of the period.
    ///   - burst: The number of requests that may be sent at once after a quiet time; the same as `count` by default.
    ///   - key: The rule that groups requests.
    ///   - sharing: The store, and the policy for its failures.
    /// - Precondition: `count` and `burst` are 1 to 1,000,000,000, `count` is at most 1,000,000 per second, and the
    ///   time in which a whole burst becomes available again is at most 45 days.
    public convenience init(
        _ count: Int,
        per period: Duration,
        burst: Int? = nil,
        key: Key = .everything,
        sharing: Sharing
    ) {
        self.init(count, period, burst, key) { SharedRateLimiter(sharing, interval: $0, burst: $1) }
    }
}

extension CircuitBreaker.Policy {
    /// The policy for a store that the app can do without: 3 failures in a row, or half of at least 10 calls, open the
    /// circuit for 250 ms to 2 s.
    public static let sharedStore = CircuitBreaker.Policy(
        connectionFailures: 3,
        window: .seconds(10),
        firstBreak: .milliseconds(250),
        maximumBreak: .seconds(2)
    )
}
