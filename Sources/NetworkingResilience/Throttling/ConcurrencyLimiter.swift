package import NetworkingCore
import Synchronization

/// A limit on concurrent requests, for ``NetworkingComponent/throttled(by:maximumWait:)``.
///
/// Share one instance between stacks to share the limit.
public final class ConcurrencyLimiter: Sendable {
    package let held = HeldLimits()
    let order = LimiterOrder()
    private let limit: Int
    private let queue: Int
    let isPerHost: Bool
    private let state: Mutex<State>

    /// Creates a limiter for all requests together.
    ///
    /// - Parameters:
    ///   - max: The maximum number of requests in flight.
    ///   - queue: The maximum number of waiting requests.
    /// - Precondition: `max` is greater than zero, and `queue` is not negative.
    public convenience init(max: Int, queue: Int = .max) {
        precondition(max > 0, "max must be greater than zero (is \(max))")
        self.init(limit: max, queue: queue, isPerHost: false)
    }

    /// Creates a limiter with a separate limit for each host, identified by the authority of the requests.
    ///
    /// A host takes up memory only while it has requests in flight or waiting.
    ///
    /// - Parameters:
    ///   - maxPerHost: The maximum number of requests in flight to each host.
    ///   - queue: The maximum number of waiting requests for each host.
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

    /// The number of requests that hold a permit.
    public var inFlight: Int {
        state.withLock { $0.all.inFlight + $0.hosts.values.reduce(0) { $0 + $1.inFlight } }
    }

    /// The number of requests that wait for a permit.
    public var waiting: Int {
        state.withLock { $0.all.queue.count + $0.hosts.values.reduce(0) { $0 + $1.queue.count } }
    }

    /// The number of hosts that take up memory.
    var hosts: Int {
        state.withLock { $0.hosts.count }
    }

    /// Returns the host with the limit for a request; `nil` if all requests share one limit.
    func key(for request: HTTPRequestData) -> String? {
        isPerHost ? request.authorityKey?.text ?? "" : nil
    }

    /// Takes a permit, if one is free.
    ///
    /// Fails while other requests are queued, because a released permit goes to the first of them.
    func takeIfFree(_ host: String?) -> Bool {
        state.withLock { state in
            state.withHost(host) { permits, _ in
                guard permits.inFlight < limit else { return false }
                permits.inFlight += 1
                return true
            }
        }
    }

    /// Enters the queue; `nil` when it is full.
    ///
    /// It may take the place of a waiting request of lower priority.
    func enqueue(_ priority: RequestPriority, _ host: String?) -> WaitPlace? {
        let (place, displaced) = state.withLock { state in
            state.withHost(host) { permits, numbers -> (WaitPlace?, WaitPlace?) in
                // A permit may have been released in the meantime.
                if permits.inFlight < limit {
                    permits.inFlight += 1
                    let place = permits.queue.enter(priority, numbered: &numbers)
                    permits.queue.leave(place)
                    place.wait.resume()
                    return (place, nil)
                }
                var displaced: WaitPlace?
                if permits.queue.count >= queue {
                    displaced = permits.queue.yield(to: priority)
                    if displaced == nil { return (nil, nil) }
                }
                return (permits.queue.enter(priority, numbered: &numbers), displaced)
            }
        }
        displaced?.displace()
        return place
    }

    /// Releases a permit, which goes to the next waiting request.
    func giveBack(_ host: String?) {
        while true {
            let next = state.withLock { state in
                state.withHost(host) { permits, _ in
                    let next = permits.queue.serve()
                    if next == nil {
                        permits.inFlight -= 1
                    }
                    return next
                }
            }
            guard let next else { return }
            // A request that has just been cancelled no longer needs the permit.
            if next.wait.resume(with: .success(())) { return }
        }
    }

    /// Removes a place after its wait has ended.
    func left(_ place: WaitPlace, _ host: String?) {
        state.withLock { state in state.withHost(host) { permits, _ in permits.queue.leave(place) } }
    }

    private struct State {
        var all = HostPermits()
        var hosts: [String: HostPermits] = [:]
        private var numbers = WaitNumbers()

        mutating func withHost<Result>(
            _ host: String?,
            _ body: (inout HostPermits, inout WaitNumbers) -> Result
        ) -> Result {
            guard let host else { return body(&all, &numbers) }
            defer {
                if let permits = hosts[host], permits.inFlight == 0, permits.queue.count == 0 {
                    hosts[host] = nil
                }
            }
            return body(&hosts[host, default: HostPermits()], &numbers)
        }
    }

    private struct HostPermits {
        var inFlight = 0
        package var queue = WaitQueue()
    }
}

extension ConcurrencyLimiter: CustomStringConvertible {
    /// The limits for the stack's outline: `max: 6`.
    public var description: String {
        "\(isPerHost ? "maxPerHost" : "max"): \(limit)" + (queue == .max ? "" : ", queue: \(queue)")
    }
}

extension ConcurrencyLimiter: RequestLimiter {}
