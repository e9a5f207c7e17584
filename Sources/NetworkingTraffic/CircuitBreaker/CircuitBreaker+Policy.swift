extension CircuitBreaker {
    /// The rules by which a circuit opens and closes.
    ///
    /// ```swift
    /// var policy = CircuitBreaker.Policy.server
    /// policy.slowCalls = .init(after: .seconds(2))
    /// let network = URLSession.shared.circuitBreaker(policy)
    /// ```
    public struct Policy: Sendable, Hashable {
        /// The share of failures in the calls of the window that opens the circuit.
        public var failureRatio: Double

        /// The number of calls in the window below which no ratio opens the circuit.
        public var minimumCalls: Int

        /// The number of connection failures in a row that opens the circuit, however few calls there are; `nil` for no
        /// limit.
        ///
        /// A connection failure has the kind `nameResolution`, `connection`, `tls` or `connectionLost`. A response
        /// ends the row.
        public var connectionFailures: Int?

        /// The rule about slow calls; `nil`, the default, if the time of a call does not matter.
        public var slowCalls: SlowCalls?

        /// The length of the sliding window in which calls are counted.
        ///
        /// It should be at least twice the time limit of an attempt.
        public var window: Duration

        /// The time for which the circuit stays open after its first trip.
        ///
        /// It doubles with each trip in succession, up to ``maximumBreak``, and a random part of up to a half is
        /// subtracted. After one whole window without a trip it is back at this value. A `Retry-After` of the response
        /// that opens the circuit lengthens it, up to ``maximumBreak``.
        public var firstBreak: Duration

        /// The maximum time for which the circuit stays open before it lets a probe through.
        public var maximumBreak: Duration

        /// The maximum number of probes in flight while the circuit is half-open.
        public var probes: Int

        /// The number of successful probes that closes the circuit.
        public var closesAfter: Int

        /// Creates a policy; the defaults are those of ``app``.
        ///
        /// - Parameters:
        ///   - failureRatio: The share of failures that opens the circuit.
        ///   - minimumCalls: The number of calls below which no ratio opens the circuit.
        ///   - connectionFailures: The number of connection failures in a row that opens the circuit; `nil` for no
        ///     limit.
        ///   - slowCalls: The rule about slow calls; `nil` for none.
        ///   - window: The length of the sliding window.
        ///   - firstBreak: The time for which the circuit stays open after its first trip.
        ///   - maximumBreak: The maximum time for which the circuit stays open.
        ///   - probes: The maximum number of probes in flight.
        ///   - closesAfter: The number of successful probes that closes the circuit.
        public init(
            failureRatio: Double = 0.5,
            minimumCalls: Int = 10,
            connectionFailures: Int? = 5,
            slowCalls: SlowCalls? = nil,
            window: Duration = .seconds(30),
            firstBreak: Duration = .seconds(5),
            maximumBreak: Duration = .seconds(60),
            probes: Int = 1,
            closesAfter: Int = 1
        ) {
            self.failureRatio = failureRatio
            self.minimumCalls = minimumCalls
            self.connectionFailures = connectionFailures
            self.slowCalls = slowCalls
            self.window = window
            self.firstBreak = firstBreak
            self.maximumBreak = maximumBreak
            self.probes = probes
            self.closesAfter = closesAfter
        }

        /// The policy for an app with few calls: half of at least 10 calls, or 5 connection failures in a row.
        public static let app = Policy()

        /// The policy for a server with many calls: a fifth of at least 50 calls, or 5 connection failures in a row; 3
        /// successful probes close the circuit.
        public static let server = Policy(failureRatio: 0.2, minimumCalls: 50, closesAfter: 3)
    }

    /// A rule about slow calls.
    public struct SlowCalls: Sendable, Hashable {
        /// The time after which a call is slow, whether or not it has ended.
        ///
        /// It does not include the time in which a call waits for a permit further in.
        public var threshold: Duration

        /// The share of slow calls in the calls of the window that opens the circuit.
        public var ratio: Double

        /// Creates a rule.
        ///
        /// A call that exceeds the threshold counts when the next call starts, and not only when it ends, so a server
        /// that hangs is noticed soon. If ``Policy/minimumCalls`` calls are slow and in flight, and no response has
        /// arrived for as long as the threshold, the circuit opens whatever the ratio.
        ///
        /// - Parameters:
        ///   - threshold: The time after which a call is slow.
        ///   - ratio: The share of slow calls that opens the circuit.
        public init(after threshold: Duration, ratio: Double = 0.5) {
            self.threshold = threshold
            self.ratio = ratio
        }
    }
}

extension CircuitBreaker.Policy {
    /// The minimum time after which a probe counts as failed.
    private static let minimumProbeLimit = Duration.seconds(10)

    /// Traps if a value makes no sense.
    func check() {
        check(ratio: failureRatio, "failureRatio")
        check(count: minimumCalls, "minimumCalls")
        if let connectionFailures { check(count: connectionFailures, "connectionFailures") }
        check(time: window, "window")
        check(time: firstBreak, "firstBreak")
        check(time: maximumBreak, "maximumBreak")
        precondition(
            maximumBreak >= firstBreak,
            "maximumBreak must not be shorter than firstBreak (is \(maximumBreak), and firstBreak is \(firstBreak))"
        )
        check(count: probes, "probes")
        check(count: closesAfter, "closesAfter")
        if let slowCalls {
            check(time: slowCalls.threshold, "the threshold of slowCalls")
            check(ratio: slowCalls.ratio, "the ratio of slowCalls")
        }
    }

    private func check(ratio: Double, _ name: String) {
        precondition(ratio > 0 && ratio <= 1, "\(name) must be greater than 0 and at most 1 (is \(ratio))")
    }

    private func check(count: Int, _ name: String) {
        precondition((1...1_000_000).contains(count), "\(name) must be 1 to 1,000,000 (is \(count))")
    }

    private func check(time: Duration, _ name: String) {
        precondition(
            time >= .milliseconds(1) && time <= .seconds(86_400),
            "\(name) must be 1 ms to 1 day (is \(time))"
        )
    }

    /// Returns the time for which the circuit stays open after a number of trips in succession, without its jitter.
    func fullBreak(afterTrips trips: Int) -> Duration {
        var length = firstBreak
        for _ in 1..<max(2, trips) where trips > 1 && length < maximumBreak {
            length *= 2
        }
        return min(length, maximumBreak)
    }

    /// Returns the time after which a probe counts as failed.
    ///
    /// - Parameter attemptLimit: The time limit of an attempt. More than a day is no limit.
    /// - Returns: The time.
    func probeLimit(forAttemptsOf attemptLimit: Duration?) -> Duration {
        guard let attemptLimit, attemptLimit <= .seconds(86_400) else { return Self.minimumProbeLimit }
        return max(attemptLimit, Self.minimumProbeLimit)
    }

    /// Returns whether the results in a window open the circuit.
    func trips(_ counts: CallWindow.Counts) -> Bool {
        // A slow call that fails after it has left the window adds a failure without a call.
        let calls = max(counts.calls, counts.failures)
        guard calls >= minimumCalls else { return false }
        if Double(counts.failures) >= failureRatio * Double(calls) { return true }
        return slowCalls.map { Double(counts.slow) >= $0.ratio * Double(calls) } ?? false
    }
}

extension CircuitBreaker.Policy: CustomStringConvertible {
    /// The rules, for the stack's outline, such as `50.0% of at least 10 calls in 30.0 seconds, or 5 connection
    /// failures, for 5.0 seconds to 60.0 seconds`.
    public var description: String {
        let share = (failureRatio * 1_000).rounded() / 10
        let slow = slowCalls.map { ", slow after \($0.threshold)" } ?? ""
        let connections = connectionFailures.map { ", or \($0) connection failures" } ?? ""
        return "\(share)% of at least \(minimumCalls) calls in \(window)\(slow)\(connections), for \(firstBreak) to "
            + "\(maximumBreak)"
    }
}
