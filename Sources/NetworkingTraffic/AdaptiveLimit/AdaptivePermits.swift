import NetworkingCore
import NetworkingResilience

/// The requests in flight to one server and those that wait, under a limit that follows the latency.
struct AdaptivePermits {
    private(set) var gradient: Gradient
    private(set) var queue = WaitQueue()
    private var numbers = WaitNumbers()

    init(_ gradient: Gradient) {
        self.gradient = gradient
    }

    var inFlight: Int {
        gradient.inFlight
    }

    /// The permission to send a request.
    struct Permit: Sendable {
        /// The number of requests in flight when the permit was given, with this one.
        let inFlight: Int
        /// Whether the latency of the request is needed.
        let isMeasured: Bool
    }

    /// The decision about a request.
    enum Admission: Sendable {
        case admitted(Permit)
        /// The request waits, and has displaced another one; the limit is low for a time to measure the baseline.
        case waits(WaitPlace, displaced: WaitPlace?, hold: Duration?)
        case refused
    }

    /// Whether no request is in flight or waits.
    var isIdle: Bool {
        inFlight == 0 && queue.count == 0
    }

    /// Gives a permit, or a place in the queue, which has as many places as the limit.
    ///
    /// - Parameters:
    ///   - priority: The priority. A request of a higher priority displaces one of the lowest when the queue is full.
    ///   - mayWait: Whether the request may wait.
    ///   - now: The current moment.
    /// - Returns: The decision.
    mutating func admit(_ priority: RequestPriority, mayWait: Bool, at now: Duration) -> Admission {
        gradient.advance(to: now)
        if inFlight < gradient.allowed, queue.count == 0 {
            gradient.begin()
            return .admitted(permit(at: now))
        }
        guard mayWait else { return .refused }
        var displaced: WaitPlace?
        if queue.count >= Int(gradient.limit) {
            displaced = queue.yield(to: priority)
            if displaced == nil { return .refused }
        }
        let place = queue.enter(priority, numbered: &numbers)
        return .waits(place, displaced: displaced, hold: gradient.holdTime(at: now))
    }

    /// Returns the permit of the request that has received one last.
    mutating func permit(at now: Duration) -> Permit {
        Permit(inFlight: inFlight, isMeasured: gradient.measuresNext(at: now))
    }

    /// Adds a result, which changes the limit.
    mutating func add(_ sample: Gradient.Sample, of permit: Permit, at now: Duration) {
        gradient.add(sample, sentWith: permit.inFlight, at: now)
    }

    /// Takes back a permit.
    ///
    /// - Returns: Whether requests wait for one.
    mutating func giveBack() -> Bool {
        gradient.end()
        return queue.count > 0
    }

    /// Gives a permit to the next waiting request, if the limit allows one.
    mutating func serve(at now: Duration) -> WaitPlace? {
        gradient.advance(to: now)
        guard inFlight < gradient.allowed, let place = queue.serve() else { return nil }
        gradient.begin()
        return place
    }

    mutating func leave(_ place: WaitPlace) {
        queue.leave(place)
    }
}
