public import NetworkingCore
import Synchronization

extension NetworkingComponent {
    /// Lets at most so many requests through at a time; the others wait their turn.
    ///
    /// It belongs inside `retry`, so that a request that waits for its next attempt holds no slot, and outside
    /// `timeout`, so that waiting here is no part of an attempt. Who waits goes in the order of
    /// ``HTTPRequestData/priority``, and in the order of arrival within one. A slot is held until the body has arrived,
    /// or, for a sink that somebody reads from at their own speed (``ResponseSink/isReaderPaced``), until the head has.
    ///
    /// ```swift
    /// let network = URLSession.shared.throttled(max: 6)
    /// ```
    ///
    /// A cancelled caller gets `CancellationError` at once and leaves no gap; a slot that it had just been given goes
    /// to the next. ``HTTPRequestData/isThrottled`` lets one request pass without a slot.
    ///
    /// - Parameters:
    ///   - max: How many.
    ///   - queue: How many may wait. When they are too many, the last of the lowest priority gives way to one of a
    ///     higher; otherwise the one that comes is refused.
    ///   - maximumWait: How long one may wait; nil for as long as it takes.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for what the
    ///   queue or the wait does not allow.
    /// - Precondition: `max` is greater than zero, and neither `queue` nor `maximumWait` is negative.
    public func throttled(max: Int, queue: Int = .max, maximumWait: Duration? = nil) -> some NetworkingComponent {
        throttled(by: ConcurrencyLimiter(max: max, queue: queue), maximumWait: maximumWait)
    }

    /// Lets at most so many requests to each host through at a time, so that a slow one does not hold up the others.
    ///
    /// For the rest it is ``throttled(max:queue:maximumWait:)``.
    ///
    /// - Parameters:
    ///   - maxPerHost: How many for each authority. Only hosts with requests under way take memory.
    ///   - queue: How many may wait for each.
    ///   - maximumWait: How long one may wait; nil for as long as it takes.
    /// - Returns: A component that refuses as that one does.
    /// - Precondition: `maxPerHost` is greater than zero, and neither `queue` nor `maximumWait` is negative.
    public func throttled(
        maxPerHost: Int,
        queue: Int = .max,
        maximumWait: Duration? = nil
    ) -> some NetworkingComponent {
        throttled(by: ConcurrencyLimiter(maxPerHost: maxPerHost, queue: queue), maximumWait: maximumWait)
    }

    /// Lets as many requests through at a time as there are slots, which several stacks may share.
    ///
    /// ```swift
    /// let slots = ConcurrencyLimiter(max: 6)
    /// let api = URLSession.shared.throttled(by: slots)
    /// let images = URLSession.shared.throttled(by: slots)
    /// ```
    ///
    /// For the rest it is ``throttled(max:queue:maximumWait:)``. If the same slots stand in a stack twice, a request
    /// takes one slot, at the outer place, and ``NetworkingComponent/diagnostics`` reports it.
    ///
    /// - Parameters:
    ///   - slots: The slots.
    ///   - maximumWait: How long one may wait; nil for as long as it takes.
    /// - Returns: A component that refuses as that one does.
    /// - Precondition: `maximumWait` is not negative.
    public func throttled(by slots: ConcurrencyLimiter, maximumWait: Duration? = nil) -> some NetworkingComponent {
        precondition(
            maximumWait ?? .zero >= .zero,
            "maximumWait must not be negative (is \(maximumWait ?? .zero))"
        )
        return modified(Throttled(slots: slots, maximumWait: maximumWait))
    }
}

extension Wait {
    /// `throttled` waits for a slot.
    public static let slot = Wait("slot")
}

struct Throttled: NetworkingModifier, CustomStringConvertible {
    let slots: ConcurrencyLimiter
    let maximumWait: Duration?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.needsPermit(of: slots.held, in: .current) else { return try await upstream.send(request) }
        let host = slots.key(for: request)
        if !slots.takeIfFree(host) {
            try await wait(for: request, host)
        }
        guard request.sink?.isReaderPaced == true, let sink = request.sink else {
            defer { slots.giveBack(host) }
            return try await upstream.send(request.holdingPermit(of: slots.held))
        }
        let hold = SlotHold(slots: slots, host: host)
        defer { hold.giveBack() }
        var request = request.holdingPermit(of: slots.held)
        // Its reader may take as long as it likes, and the others need not wait for that.
        request.sink = ObservedSink(sink: sink) { answer in
            if case .take = answer {
                hold.giveBack()
            }
        }
        return try await upstream.send(request)
    }

    private func wait(for request: HTTPRequestData, _ host: String?) async throws {
        let clock = NetworkEnvironment.current.clock
        let start = clock.now
        guard maximumWait != .zero else { throw tooLong(request) }
        guard let place = slots.enqueue(request.priority, host, refusal: tooMany(request)) else {
            throw tooMany(request)
        }
        request.emit(WaitEvent.waiting(.slot, maximumWait))
        defer { request.emit(WaitEvent.waited(.slot, clock.now - start)) }
        let alarm = maximumWait.map { limit in
            clock.alarm(at: start + limit) { [slots] in slots.leave(place, host, with: tooLong(request)) }
        }
        defer { alarm?.cancel() }
        try await place.wait.value { [slots] in slots.left(place, host) }
        // A slot that comes with the cancellation goes to the next.
        guard !Task.isCancelled else {
            slots.giveBack(host)
            throw CancellationError()
        }
    }

    private func tooLong(_ request: HTTPRequestData) -> NetworkingError {
        NetworkingError(
            .rejected,
            request: request,
            reason: "No slot came free within \(maximumWait ?? .zero). Send fewer requests at a time, or wait longer."
        )
    }

    private func tooMany(_ request: HTTPRequestData) -> NetworkingError {
        NetworkingError(
            .rejected,
            request: request,
            reason: "Too many requests wait for a slot already. Send fewer at a time, or allow a longer queue."
        )
    }

    var roles: Set<StackRole> { [.concurrencyLimit] }
    var requestOptions: Set<RequestOptionKey> { [.priority, .isThrottled] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        var diagnostics: [StackDiagnostic] = []
        if stack.outer.contains(where: { ($0 as? Self)?.slots === slots }) {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is inside a modifier with the same limiter, so requests pass it without another permit. Keep one "
                        + "of the two, or give each its own limiter.",
                    about: self
                )
            )
        }
        if stack.isOutside(.retry) {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is outside retry, so a request holds its permit between attempts.",
                    about: self
                )
            )
        }
        if stack.isOutside(.caching) {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is outside cached, so cached responses need a permit too. Put it inside.",
                    about: self
                )
            )
        }
        if stack.isOutside(.deduplication) {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is outside deduplicated, so each caller of a shared exchange needs a permit. Put it inside.",
                    about: self
                )
            )
        }
        return diagnostics
    }

    var description: String {
        "throttled(\(slots)\(maximumWait.map { ", maximumWait: \($0)" } ?? ""))"
    }
}

/// A slot that is given back once.
private final class SlotHold: Sendable {
    private let slots: ConcurrencyLimiter
    private let host: String?
    private let isGivenBack = Atomic(false)

    init(slots: ConcurrencyLimiter, host: String?) {
        self.slots = slots
        self.host = host
    }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            slots.giveBack(host)
        }
    }
}
