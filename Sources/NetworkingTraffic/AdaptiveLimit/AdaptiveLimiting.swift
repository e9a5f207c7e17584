public import NetworkingCore
import NetworkingResilience
import Synchronization

extension NetworkingComponent {
    /// Limits how many requests are in flight to each server, with a limit that follows the server's latency.
    ///
    /// It belongs inside `retry` and `circuitBreaker`, outside `timeout`, and in place of `throttled`. The limit falls
    /// when responses take longer than they do without load, or when attempts exceed their timeout, connections break,
    /// or the server responds with 429 or 503. It grows while the requests in flight use it.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .adaptiveLimit()
    ///     .retry()
    /// ```
    ///
    /// To learn the latency without load, it sends only 3 requests at a time for up to a second each minute, unless
    /// there is so little to send anyway. As many requests as the limit may wait, in the order of
    /// ``HTTPRequestData/priority``. When the queue is full, a new request displaces one of the lowest priority if its
    /// own is higher; otherwise it is refused. Each hop of a redirect takes a permit of its own server.
    ///
    /// A cancelled caller gets `CancellationError` at once and leaves the queue. A request holds its permit until the
    /// body has arrived, or only the head for a sink that is read at the reader's own speed
    /// (``ResponseSink/isReaderPaced``). If ``HTTPRequestData/isThrottled`` is `false`, a request passes uncounted.
    ///
    /// - Parameters:
    ///   - limits: The lowest and the highest limit of a server.
    ///   - start: The limit of a server until its latency is known. It should be below the capacity of the server.
    ///   - maximumWait: The maximum time that a request waits. Zero refuses instead of waiting; `nil` for no limit.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for requests
    ///   that the queue or `maximumWait` does not allow.
    /// - Precondition: `limits` is within 1 to 100,000, `start` is within `limits`, and `maximumWait` is not negative.
    public func adaptiveLimit(
        in limits: ClosedRange<Int> = 1...200,
        start: Int = 6,
        maximumWait: Duration? = nil
    ) -> some NetworkingComponent {
        adaptiveLimit(by: AdaptiveLimiter(in: limits, start: start), maximumWait: maximumWait)
    }

    /// Limits how many requests are in flight to each server, with limits that several stacks may share.
    ///
    /// Otherwise it works like ``adaptiveLimit(in:start:maximumWait:)``. If a stack contains the same limiter twice, a
    /// request takes one permit, at the outer position, and ``NetworkingComponent/diagnostics`` reports the duplicate.
    ///
    /// - Parameters:
    ///   - limiter: The limiter.
    ///   - maximumWait: The maximum time that a request waits. Zero refuses instead of waiting; `nil` for no limit.
    /// - Returns: A component that refuses requests in the same cases.
    /// - Precondition: `maximumWait` is not negative.
    public func adaptiveLimit(by limiter: AdaptiveLimiter, maximumWait: Duration? = nil) -> some NetworkingComponent {
        modified(AdaptiveLimiting(limiter: limiter, maximumWait: checked(maximumWait: maximumWait)))
    }
}

struct AdaptiveLimiting: LimitingModifier {
    let limiter: AdaptiveLimiter
    let maximumWait: Duration?

    var limitsEachHop: Bool { true }

    func exchange(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let environment = NetworkEnvironment.current
        let clock = environment.clock
        let key = request.authorityKey?.text ?? ""
        let start = clock.now
        let admission = limiter.admit(
            key,
            request.priority,
            mayWait: maximumWait != .zero && request.waitsForPermits,
            jitter: { environment.random.fraction() },
            on: clock
        )
        let permit: AdaptivePermits.Permit
        switch admission {
        case nil:
            return try await upstream.send(request)
        case .admitted(let admitted):
            permit = admitted
        case .refused:
            throw tooMany(request, key)
        case .waits(let place, let displaced, let hold):
            displaced?.displace()
            try await wait(for: request, at: place, key, hold, since: start, on: clock)
            permit = limiter.permit(key)
        }
        guard let sink = request.sink else {
            return try await exchange(request, permit, key, on: clock, over: upstream)
        }
        return try await download(request, into: sink, permit, key, on: clock, over: upstream)
    }

    /// Sends a request with a permit until its body has arrived, with the latency to the head.
    private func exchange(
        _ request: HTTPRequestData,
        _ permit: AdaptivePermits.Permit,
        _ key: String,
        on clock: NetworkClock,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        defer { limiter.giveBack(key, on: clock) }
        var sent = request
        let watch = permit.isMeasured ? HeadWatch(clock) : nil
        let start = watch == nil ? 0 : clock.nanoseconds
        if let watch {
            sent.addObserver(watch)
        }
        do {
            let response = try await upstream.send(sent)
            let latency = watch.map { Duration.nanoseconds(($0.moment ?? clock.nanoseconds) - start) }
            add(Gradient.Sample(status: response.status.code, latency), of: permit, key, request, on: clock)
            return response
        } catch {
            add(sample(of: error, request), of: permit, key, request, on: clock)
            throw error
        }
    }

    /// Sends a request whose body may take any time, and its reader too.
    private func download(
        _ request: HTTPRequestData,
        into sink: any ResponseSink,
        _ permit: AdaptivePermits.Permit,
        _ key: String,
        on clock: NetworkClock,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let hold = AdaptiveHold { [limiter] in limiter.giveBack(key, on: clock) }
        defer { hold.giveBack() }
        var sent = request
        let start = clock.now
        @Sendable func add(_ status: Int) {
            let sample = Gradient.Sample(status: status, permit.isMeasured ? clock.now - start : nil)
            self.add(sample, of: permit, key, request, on: clock)
        }
        sent.sink = HeadSink(sink: sink) { head in
            guard hold.receiveHead() else { return }
            add(head.status.code)
            if sink.isReaderPaced {
                hold.giveBack()
            }
        }
        do {
            let response = try await upstream.send(sent)
            if hold.receiveHead() {
                add(response.status.code)
            }
            return response
        } catch {
            if hold.receiveHead() {
                self.add(sample(of: error, request), of: permit, key, request, on: clock)
            }
            throw error
        }
    }

    // MARK: Samples

    private func sample(of error: any Error, _ request: HTTPRequestData) -> Gradient.Sample? {
        if let response = request.response(of: error), response.status.code == 429 { return .drop }
        return switch CircuitResult(error, of: request) {
        case .failure(.status(let status), _) where status.code == 503: .drop
        case .failure(.error(.timeout), _), .failure(.error(.connectionLost), _): .drop
        default: nil
        }
    }

    private func add(
        _ sample: Gradient.Sample?,
        of permit: AdaptivePermits.Permit,
        _ key: String,
        _ request: HTTPRequestData,
        on clock: NetworkClock
    ) {
        if let sample, let limit = limiter.add(sample, of: permit, key, on: clock) {
            request.emit(AdaptiveLimitEvent.changed(limit: limit))
        }
    }

    // MARK: Waits

    private func wait(
        for request: HTTPRequestData,
        at place: WaitPlace,
        _ key: String,
        _ hold: Duration?,
        since start: Duration,
        on clock: NetworkClock
    ) async throws {
        // The limit may have grown since requests began to wait, and it grows when the baseline has been measured.
        limiter.serve(key, on: clock)
        let alarm = hold.map { hold in
            clock.alarm(at: start + hold) { [limiter] in limiter.serveAfterHold(key, on: clock) }
        }
        defer { alarm?.cancel() }
        request.emit(WaitEvent.waiting(.concurrencyLimit, maximumWait))
        defer { request.emit(WaitEvent.waited(.concurrencyLimit, clock.now - start)) }
        try await place.permit(
            for: request,
            until: maximumWait.map { start + $0 },
            on: clock,
            late: tooLong(request),
            displaced: tooMany(request, key)
        ) { [limiter] in
            limiter.left(place, key)
        } giveBack: {
            limiter.giveBack(key, on: clock)
        }
    }

    private func tooLong(_ request: HTTPRequestData) -> NetworkingError {
        request.rejected(
            by: .concurrencyLimit,
            reason:
                "No permit became free within \((maximumWait ?? .zero).roundedText). Send fewer requests at a time, "
                + "or raise maximumWait."
        )
    }

    private func tooMany(_ request: HTTPRequestData, _ key: String) -> NetworkingError {
        request.rejected(
            by: .concurrencyLimit,
            reason:
                "The server takes \(limiter.limit(of: key)) requests at a time, and too many are waiting. Send fewer "
                + "requests at a time."
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.concurrencyLimit],
            options: [.priority, .isThrottled],
            rules: rules(outsideRetry: "so a request holds its permit between attempts.") + [
                .notInside(.timeout, "is inside timeout, so the wait is part of an attempt. Put it outside.")
            ]
        )
    }

    var description: String {
        "adaptiveLimit(\(limiter)\(maximumWait.map { ", maximumWait: \($0)" } ?? ""))"
    }
}

extension Gradient.Sample {
    /// Creates the sample of a response; `nil` if its latency is unknown or says nothing about the load of the server.
    init?(status: Int, _ latency: Duration?) {
        switch (status, latency) {
        case (429, _), (503, _): self = .drop
        case (..<400, let latency?): self = .latency(latency)
        default: return nil
        }
    }
}

/// A permit that is given back once, of a response whose head arrives once.
private final class AdaptiveHold: Sendable {
    private let onEnd: @Sendable () -> Void
    private let hasHead = Atomic(false)
    private let isGivenBack = Atomic(false)

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    /// Records the arrival of the head; returns `false` if it was recorded before.
    func receiveHead() -> Bool {
        !hasHead.exchange(true, ordering: .acquiringAndReleasing)
    }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            onEnd()
        }
    }
}
