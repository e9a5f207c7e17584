import NetworkingCore
import NetworkingResilience

/// Limits on concurrent requests that follow the latency of each server, for
/// ``NetworkingComponent/adaptiveLimit(by:maximumWait:)``.
///
/// Share one instance between stacks to share the limits. It stores those of at most 256 authorities. The least
/// recently used one without a request makes room for a new one; if there is none, requests to further authorities
/// pass.
public final class AdaptiveLimiter: Sendable {
    let held = HeldLimits()
    private let range: ClosedRange<Int>
    private let start: Int
    private let servers = ClockedMutex(RecentTable<AdaptivePermits>())

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - limits: The lowest and the highest limit of a server.
    ///   - start: The limit of a server until its latency is known. It should be below the capacity of the server.
    /// - Precondition: `limits` is within 1 to 100,000, and `start` is within `limits`.
    public init(in limits: ClosedRange<Int> = 1...200, start: Int = 6) {
        precondition(
            limits.lowerBound >= 1 && limits.upperBound <= 100_000,
            "limits must be within 1 to 100,000 (are \(limits))"
        )
        precondition(limits.contains(start), "start must be within the limits \(limits) (is \(start))")
        range = limits
        self.start = start
    }

    /// Returns the limit of a server.
    ///
    /// - Parameter authority: The authority, in lower case and without the default port.
    /// - Returns: The number of requests that may be in flight, apart from the moments in which the limiter measures
    ///   the latency without load.
    public func limit(of authority: String) -> Int {
        servers.withLatest { [start] servers, _ in servers[authority].map { Int($0.gradient.limit) } ?? start }
    }

    /// The latency of a server without load; `nil` until it has been measured.
    func baseline(of authority: String) -> Duration? {
        servers.withLatest { servers, _ in servers[authority]?.gradient.baseline }
    }

    /// The number of requests that hold a permit.
    public var inFlight: Int {
        servers.withLatest { servers, _ in servers.values.reduce(0) { $0 + $1.inFlight } }
    }

    /// The number of requests that wait for a permit.
    public var waiting: Int {
        servers.withLatest { servers, _ in servers.values.reduce(0) { $0 + $1.queue.count } }
    }

    /// Decides about a request; `nil` if it passes without a permit, because there is no room for its server.
    func admit(
        _ key: String,
        _ priority: RequestPriority,
        mayWait: Bool,
        jitter: () -> Double,
        on clock: NetworkClock
    ) -> AdaptivePermits.Admission? {
        if let admission = admit(key, priority, mayWait: mayWait, adding: nil, on: clock) { return admission }
        return admit(key, priority, mayWait: mayWait, adding: jitter(), on: clock)
    }

    private func admit(
        _ key: String,
        _ priority: RequestPriority,
        mayWait: Bool,
        adding jitter: Double?,
        on clock: NetworkClock
    ) -> AdaptivePermits.Admission? {
        servers.withValue(on: clock) { [range, start] servers, now -> AdaptivePermits.Admission? in
            guard let jitter else {
                return servers.withValue(of: key) { $0.admit(priority, mayWait: mayWait, at: now) }
            }
            return servers.withValue(
                of: key,
                mayRemove: \.isIdle,
                adding: AdaptivePermits(Gradient(in: range, start: start, jitter: jitter, at: now))
            ) { $0.admit(priority, mayWait: mayWait, at: now) }
        }
    }

    /// Adds a result.
    ///
    /// - Returns: The new limit, if it has changed.
    func add(
        _ sample: Gradient.Sample,
        of permit: AdaptivePermits.Permit,
        _ key: String,
        on clock: NetworkClock
    ) -> Int? {
        let change = servers.withValue(on: clock) { servers, now in
            servers.withValue(of: key) { permits in
                let (limit, allowed) = (Int(permits.gradient.limit), permits.gradient.allowed)
                permits.add(sample, of: permit, at: now)
                let new = Int(permits.gradient.limit)
                return (limit: new == limit ? nil : new, allowsMore: permits.gradient.allowed > allowed)
            }
        }
        if change?.allowsMore == true {
            serve(key, on: clock)
        }
        return change?.limit
    }

    /// Returns the permit that a waiting request has received.
    func permit(_ key: String) -> AdaptivePermits.Permit {
        servers.withLatest { servers, now in servers.withValue(of: key) { $0.permit(at: now) } }
            ?? AdaptivePermits.Permit(inFlight: .max, isMeasured: false)
    }

    /// Takes back a permit, and gives those that are free to waiting requests.
    func giveBack(_ key: String, on clock: NetworkClock) {
        if takeBack(key) {
            serve(key, on: clock)
        }
    }

    /// Gives the permits that are free to waiting requests.
    func serve(_ key: String, on clock: NetworkClock) {
        while let next = next(key, on: clock) {
            // A request that has just been cancelled no longer needs the permit.
            if !next.wait.resume(with: .success(())) {
                _ = takeBack(key)
            }
        }
    }

    /// Gives permits to waiting requests at the end of a measurement.
    ///
    /// An alarm may ring early, because the time of the measurement is read after its moment is computed. It then sets
    /// another one.
    func serveAfterHold(_ key: String, on clock: NetworkClock) {
        let now = clock.now
        serve(key, on: clock)
        let rest = servers.withValue(on: clock) { servers, now in
            servers.withValue(of: key) { $0.queue.count > 0 ? $0.gradient.holdTime(at: now) : nil } ?? nil
        }
        guard let rest, rest > .zero else { return }
        _ = clock.alarm(at: now + rest) { [self] in serveAfterHold(key, on: clock) }
    }

    /// Takes back a permit.
    ///
    /// - Returns: Whether requests wait for one.
    private func takeBack(_ key: String) -> Bool {
        servers.withLatest { servers, _ in servers.withValue(of: key) { $0.giveBack() } ?? false }
    }

    private func next(_ key: String, on clock: NetworkClock) -> WaitPlace? {
        servers.withValue(on: clock) { servers, now in servers.withValue(of: key) { $0.serve(at: now) } ?? nil }
    }

    /// Removes a place after its wait has ended.
    func left(_ place: WaitPlace, _ key: String) {
        servers.withLatest { servers, _ in _ = servers.withValue(of: key) { $0.leave(place) } }
    }
}

extension AdaptiveLimiter: CustomStringConvertible {
    /// The limits, for the stack's outline: `1...200`.
    public var description: String {
        "\(range)"
    }
}

extension AdaptiveLimiter: RequestLimiter {}
