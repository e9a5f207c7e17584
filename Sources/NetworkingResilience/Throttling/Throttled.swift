public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Limits how many requests are in flight at a time and queues the rest.
    ///
    /// It belongs inside `retry`, so that a request holds no permit while it waits for its next attempt, and outside
    /// `timeout`, so that the time in the queue is not part of an attempt. Waiting requests are served in the order of
    /// ``HTTPRequestData/priority``, and in the order of arrival within one priority. A request holds its permit until
    /// the body has arrived. For a sink that is read at the reader's own speed (``ResponseSink/isReaderPaced``), it
    /// holds the permit only until the head has arrived.
    ///
    /// ```swift
    /// let network = URLSession.shared.throttled(max: 6)
    /// ```
    ///
    /// A cancelled caller gets `CancellationError` at once and leaves the queue; a permit that it has just received
    /// goes to the next request. If ``HTTPRequestData/isThrottled`` is `false`, a request passes without a permit.
    ///
    /// - Parameters:
    ///   - max: The maximum number of requests in flight.
    ///   - queue: The maximum number of waiting requests. When the queue is full, a new request displaces the last
    ///     waiting request of the lowest priority if its own priority is higher; otherwise the new request is refused.
    ///   - maximumWait: The maximum time that a request waits; `nil` for no limit.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for requests
    ///   that the queue or `maximumWait` does not allow.
    /// - Precondition: `max` is greater than zero, and neither `queue` nor `maximumWait` is negative.
    public func throttled(max: Int, queue: Int = .max, maximumWait: Duration? = nil) -> some NetworkingComponent {
        throttled(by: ConcurrencyLimiter(max: max, queue: queue), maximumWait: maximumWait)
    }

    /// Limits how many requests are in flight to each host, so that a slow host does not delay requests to the others.
    ///
    /// Each hop of a redirect takes a permit of its own host, after the permit of the hop before it was released.
    /// Otherwise it works like ``throttled(max:queue:maximumWait:)``.
    ///
    /// - Parameters:
    ///   - maxPerHost: The maximum number of requests in flight to each authority. Only hosts with requests in flight
    ///     or waiting take up memory.
    ///   - queue: The maximum number of waiting requests for each host.
    ///   - maximumWait: The maximum time that a request waits; `nil` for no limit.
    /// - Returns: A component that refuses requests in the same cases.
    /// - Precondition: `maxPerHost` is greater than zero, and neither `queue` nor `maximumWait` is negative.
    public func throttled(
        maxPerHost: Int,
        queue: Int = .max,
        maximumWait: Duration? = nil
    ) -> some NetworkingComponent {
        throttled(by: ConcurrencyLimiter(maxPerHost: maxPerHost, queue: queue), maximumWait: maximumWait)
    }

    /// Limits how many requests are in flight with a limiter that several stacks may share.
    ///
    /// ```swift
    /// let limiter = ConcurrencyLimiter(max: 6)
    /// let api = URLSession.shared.throttled(by: limiter)
    /// let images = URLSession.shared.throttled(by: limiter)
    /// ```
    ///
    /// Otherwise it works like ``throttled(max:queue:maximumWait:)``. If a stack contains the same limiter twice, a
    /// request takes one permit, at the outer position, and ``NetworkingComponent/diagnostics`` reports the duplicate.
    ///
    /// Stacks that share two limiters must contain them in the same order. In opposite orders, a request of each stack
    /// could hold the permit that the other one waits for, without end. The diagnostics report that too.
    ///
    /// - Parameters:
    ///   - limiter: The limiter.
    ///   - maximumWait: The maximum time that a request waits; `nil` for no limit.
    /// - Returns: A component that refuses requests in the same cases.
    /// - Precondition: `maximumWait` is not negative.
    public func throttled(by limiter: ConcurrencyLimiter, maximumWait: Duration? = nil) -> some NetworkingComponent {
        for inner in modifiers.lazy.compactMap({ ($0 as? Throttled)?.limiter }) {
            limiter.order.note(inner.order)
        }
        return modified(Throttled(limiter: limiter, maximumWait: checked(maximumWait: maximumWait)))
    }
}

extension Wait {
    /// `throttled` waits for a permit.
    public static let concurrencyLimit = Wait("concurrency-limit")
}

struct Throttled: LimitingModifier {
    let limiter: ConcurrencyLimiter
    let maximumWait: Duration?

    var limitsEachHop: Bool {
        limiter.isPerHost
    }

    // Inlined, so that a call has one frame less.
    @inline(__always)
    func exchange(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let host = limiter.key(for: request)
        if !limiter.takeIfFree(host) {
            try await wait(for: request, host)
        }
        guard request.sink?.isReaderPaced != true else {
            return try await sendToReader(request, upstream: upstream, releasing: host)
        }
        defer { limiter.giveBack(host) }
        return try await upstream.send(request)
    }

    /// Sends a request with a reader-paced sink, and releases its permit when the head has arrived.
    private func sendToReader(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent,
        releasing host: String?
    ) async throws -> HTTPResponseData {
        let hold = PermitHold(limiter: limiter, host: host)
        defer { hold.giveBack() }
        var request = request
        // The reader may take any amount of time, and other requests must not wait for it.
        request.sink = request.sink.map { sink in
            ObservedSink(sink: sink) { decision in
                if case .take = decision {
                    hold.giveBack()
                }
            }
        }
        return try await upstream.send(request)
    }

    private func wait(for request: HTTPRequestData, _ host: String?) async throws {
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        let maximumWait = self.maximumWait(of: request)
        guard maximumWait != .zero else { throw tooLong(request) }
        // Before the request has a place, because its turn may come at once.
        request.waitObserver?.requestWaits()
        guard let place = limiter.enqueue(request.priority, host) else { throw tooMany(request) }
        request.emit(WaitEvent.waiting(.concurrencyLimit, maximumWait))
        defer { request.emit(WaitEvent.waited(.concurrencyLimit, clock.now - start)) }
        try await place.permit(
            for: request,
            until: maximumWait.map { start + $0 },
            on: clock,
            late: tooLong(request),
            displaced: tooMany(request)
        ) { [limiter] in
            limiter.left(place, host)
        } giveBack: {
            limiter.giveBack(host)
        }
    }

    private func tooLong(_ request: HTTPRequestData) -> NetworkingError {
        request.rejected(
            by: .concurrencyLimit,
            reason:
                "No permit became free within \((maximumWait(of: request) ?? .zero).roundedText). Send fewer requests "
                + "at a time, or raise maximumWait."
        )
    }

    private func tooMany(_ request: HTTPRequestData) -> NetworkingError {
        request.rejected(
            by: .concurrencyLimit,
            reason: "The queue of the limiter is full. Send fewer requests at a time, or allow a longer queue."
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.concurrencyLimit],
            options: [.priority, .isThrottled],
            rules: rules(outsideRetry: "so a request holds its permit between attempts.") + [
                .not(
                    "and the throttled outside of it have limiters that another stack contains in the opposite order, "
                        + "so requests of the two stacks can wait for each other without end. Use one order in all "
                        + "stacks."
                ) { place in
                    place.outer.contains {
                        ($0 as? Throttled).map { limiter.order.contains($0.limiter.order) } ?? false
                    }
                }
            ]
        )
    }

    var description: String {
        "throttled(\(limiter)\(maximumWait.map { ", maximumWait: \($0)" } ?? ""))"
    }
}

/// A permit that is released only once.
private final class PermitHold: Sendable {
    private let limiter: ConcurrencyLimiter
    private let host: String?
    private let isGivenBack = Atomic(false)

    init(limiter: ConcurrencyLimiter, host: String?) {
        self.limiter = limiter
        self.host = host
    }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            limiter.giveBack(host)
        }
    }
}
