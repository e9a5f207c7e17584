import CLibraryForNetworking
import NetworkingCore

/// The rate at which a server is believed to accept requests: a token bucket that CUBIC fills.
///
/// The formulas and constants are those of botocore's adaptive retry mode.
struct AdaptiveRateGate: RequestGate {
    struct Ticket: Sendable {
        /// Whether the request took a token.
        fileprivate let isCharged: Bool
    }

    enum Report: Sendable {
        /// The server has accepted the request.
        case accepted
        /// The server has refused the request because of too many.
        case throttled
        /// The server reports its limits, so the rate need not be guessed.
        case limited
    }

    /// The rate in requests per second; `nil` until the server refuses a request.
    private(set) var rate: Double?
    private var tokens = 0.0
    private var filledAt = Duration.zero
    private var cubic = Cubic()
    private var measured = MeasuredRate()
    private var inFlight = 0

    // MARK: Requests

    var isEmpty: Bool {
        rate == nil && isUnused && !measured.hasStarted
    }

    var isUnused: Bool {
        inFlight == 0
    }

    var count: Int {
        1
    }

    func overtakes(_ request: HTTPRequestData.ID) -> Bool {
        false
    }

    mutating func pass(_ request: HTTPRequestData.ID, at now: Duration) -> Ticket? {
        let isCharged = rate != nil
        if isCharged {
            fill(at: now)
            // Rounding must not make a request wait for a billionth of a token.
            guard tokens > 1 - 1e-9 else { return nil }
            tokens -= 1
        }
        inFlight += 1
        return Ticket(isCharged: isCharged)
    }

    func wait(behind others: Int, at now: Duration) -> Duration? {
        guard let rate else { return .zero }
        let missing = Double(others) + 1 - tokens(at: now)
        return missing > 1e-9 ? .seconds(min(missing / rate, 1e9)) : .zero
    }

    mutating func refund(_ ticket: Ticket) {
        inFlight -= 1
        if ticket.isCharged { tokens += 1 }
    }

    mutating func end(_ ticket: Ticket, with report: Report?, at now: Duration) {
        inFlight -= 1
        guard let report else { return }
        let measured = self.measured.count(at: now)
        switch report {
        case .limited:
            rate = nil
        case .accepted:
            if rate != nil { set(cubic.rate(at: now), atMost: 2 * measured, at: now) }
        case .throttled:
            let reduced = cubic.reduce(min(measured, rate ?? .infinity), at: now)
            if rate == nil { (tokens, filledAt) = (0, now) }
            set(reduced, atMost: 2 * measured, at: now)
        }
    }

    // MARK: The rate

    /// The lowest rate, so that the server is asked again in any case.
    private static let lowestRate = 0.5

    private mutating func set(_ rate: Double, atMost limit: Double, at now: Duration) {
        fill(at: now)
        self.rate = max(min(rate, limit), Self.lowestRate)
        tokens = min(tokens, capacity)
    }

    private var capacity: Double {
        max(rate ?? 0, 1)
    }

    private func tokens(at now: Duration) -> Double {
        min(capacity, tokens + (rate ?? 0) * max(0, (now - filledAt) / .seconds(1)))
    }

    private mutating func fill(at now: Duration) {
        tokens = tokens(at: now)
        filledAt = max(filledAt, now)
    }

    /// The rate that grows slowly up to the one at which the server refused a request, and faster beyond it.
    private struct Cubic {
        private var maximum = 0.0
        private var plateau = 0.0
        private var reducedAt = Duration.zero

        mutating func reduce(_ rate: Double, at now: Duration) -> Double {
            (maximum, reducedAt) = (rate, now)
            plateau = cbrt(rate * (1 - 0.7) / 0.4)
            return rate * 0.7
        }

        func rate(at now: Duration) -> Double {
            let time = (now - reducedAt) / .seconds(1) - plateau
            return 0.4 * time * time * time + maximum
        }
    }

    /// The rate of responses, smoothed over periods of half a second.
    private struct MeasuredRate {
        private var rate = 0.0
        private var period: Int64?
        private var count = 0

        var hasStarted: Bool { period != nil }

        mutating func count(at now: Duration) -> Double {
            let current = Int64(min(max((now / .milliseconds(500)).rounded(.down), -1e15), 1e15))
            let last = period ?? current
            count += 1
            period = last
            if current > last {
                let latest = Double(count) / (Double(current - last) / 2)
                rate = latest * 0.8 + rate * 0.2
                (count, period) = (0, current)
            }
            return rate
        }
    }
}
