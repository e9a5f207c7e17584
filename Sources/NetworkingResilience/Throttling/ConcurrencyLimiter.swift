import NetworkingCore
import Synchronization

/// So many requests at a time, for ``NetworkingComponent/throttled(by:maximumWait:)``; one object may serve several
/// stacks.
public final class ConcurrencyLimiter: Sendable {
    let held = HeldLimits()
    private let limit: Int
    private let queue: Int
    private let isPerHost: Bool
    private let state: Mutex<State>

    /// Creates slots for all requests together.
    ///
    /// - Parameters:
    ///   - max: How many.
    ///   - queue: How many requests may wait for one.
    /// - Precondition: `max` is greater than zero, and `queue` is not negative.
    public convenience init(max: Int, queue: Int = .max) {
        precondition(max > 0, "max must be greater than zero (is \(max))")
        self.init(limit: max, queue: queue, isPerHost: false)
    }

    /// Creates slots for each host, by the authority of the requests.
    ///
    /// A host takes memory as long as it has requests under way.
    ///
    /// - Parameters:
    ///   - maxPerHost: How many for each.
    ///   - queue: How many requests may wait for one of each.
    /// - Precondition: `maxPerHost` is greater than zero, and `queue` is not negative.
    public convenience init(maxPerHost: Int, queue: Int = .max) {
        precondition(maxPerHost > 0, "maxPerHost must be greater than zero (is \(maxPerHost))")
        self.init(limit: maxPerHost, queue: queue, isPerHost: true)
    }

    private init(limit: Int, queue: Int, isPerHost: Bool) {
        precondition(queue >= 0, "queue must not be negative (is \(queue))")
        self.limit = limit
        self.queue = queue
        self.isPerHost = isPerHost
        state = Mutex(State())
    }

    /// How many requests hold a slot.
    public var inFlight: Int {
        state.withLock { $0.all.inFlight + $0.hosts.values.reduce(0) { $0 + $1.inFlight } }
    }

    /// How many requests wait for one.
    public var waiting: Int {
        state.withLock { $0.all.queue.count + $0.hosts.values.reduce(0) { $0 + $1.queue.count } }
    }

    /// The number of hosts that take memory.
    var hosts: Int {
        state.withLock { $0.hosts.count }
    }

    /// Whose slots a request takes: nil when all share them.
    func key(for request: HTTPRequestData) -> String? {
        isPerHost ? request.authority?.lowercased() ?? "" : nil
    }

    /// Takes a slot, if one is free.
    ///
    /// None is while anybody waits: a slot that is given back goes to them.
    func takeIfFree(_ host: String?) -> Bool {
        state.withLock { state in
            state.withHost(host) { slots, _ in
                guard slots.inFlight < limit else { return false }
                slots.inFlight += 1
                return true
            }
        }
    }

    /// Enters the queue; nil when it is full.
    ///
    /// One of lower priority that has to give way is refused with the error.
    func enqueue(_ priority: RequestPriority, _ host: String?, refusal: @autoclosure () -> any Error) -> WaitPlace? {
        let (place, displaced) = state.withLock { state in
            state.withHost(host) { slots, numbers -> (WaitPlace?, WaitPlace?) in
                // One may have come free since.
                if slots.inFlight < limit {
                    slots.inFlight += 1
                    let place = slots.queue.enter(priority, numbered: &numbers)
                    slots.queue.leave(place)
                    place.wait.resume()
                    return (place, nil)
                }
                var displaced: WaitPlace?
                if slots.queue.count >= queue {
                    displaced = slots.queue.yield(to: priority)
                    if displaced == nil { return (nil, nil) }
                }
                return (slots.queue.enter(priority, numbered: &numbers), displaced)
            }
        }
        displaced?.wait.resume(with: .failure(refusal()))
        return place
    }

    /// Gives a slot back, to whose turn it is.
    func giveBack(_ host: String?) {
        while true {
            let next = state.withLock { state in
                state.withHost(host) { slots, _ in
                    let next = slots.queue.serve()
                    if next == nil {
                        slots.inFlight -= 1
                    }
                    return next
                }
            }
            guard let next else { return }
            // One that has just been cancelled does not want it any more.
            if next.wait.resume(with: .success(())) { return }
        }
    }

    /// Ends a wait with an error, unless it is over.
    func leave(_ place: WaitPlace, _ host: String?, with error: any Error) {
        if place.wait.resume(with: .failure(error)) {
            left(place, host)
        }
    }

    /// Counts one out whose wait is over.
    func left(_ place: WaitPlace, _ host: String?) {
        state.withLock { state in state.withHost(host) { slots, _ in slots.queue.leave(place) } }
    }

    private struct State {
        var all = HostSlots()
        var hosts: [String: HostSlots] = [:]
        private var numbers = WaitNumbers()

        mutating func withHost<Result>(
            _ host: String?,
            _ body: (inout HostSlots, inout WaitNumbers) -> Result
        ) -> Result {
            guard let host else { return body(&all, &numbers) }
            defer {
                if let slots = hosts[host], slots.inFlight == 0, slots.queue.count == 0 {
                    hosts[host] = nil
                }
            }
            return body(&hosts[host, default: HostSlots()], &numbers)
        }
    }

    private struct HostSlots {
        var inFlight = 0
        var queue = WaitQueue()
    }
}

extension ConcurrencyLimiter: CustomStringConvertible {
    /// The limits, as an outline shows them: `max: 6`.
    public var description: String {
        "\(isPerHost ? "maxPerHost" : "max"): \(limit)" + (queue == .max ? "" : ", queue: \(queue)")
    }
}
