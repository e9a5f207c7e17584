public import NetworkingCore
import NetworkingResilience

extension NetworkingComponent {
    /// Keeps to the limits that the server reports in its responses.
    ///
    /// It belongs inside `retry`, so that each attempt counts, inside `cached`, and outside `throttled`. Requests are
    /// sent without a delay while the server reports nothing, or that enough of them remain.
    ///
    /// ```swift
    /// let network = URLSession.shared.rateLimited(by: ServerRateLimiter(), maximumWait: .seconds(20))
    /// ```
    ///
    /// - At most the remaining number of requests is sent until the window ends. If fewer than a tenth of the quota
    ///   remain, they are spread over that time. If none remain, requests wait until the window has ended, and up to a
    ///   tenth longer.
    /// - After a response 429 or 503 with `Retry-After`, requests wait for that time. `Retry-After` takes precedence
    ///   over the end of a window. If the body names the violated policies, only those are closed
    ///   (``HTTPResponseData/rateLimitProblem``).
    /// - A policy that counts concurrent requests limits those in flight.
    /// - Responses of a cache do not count. A redirect to the same server is not delayed by the response that asks for
    ///   it.
    ///
    /// Limits apply to a user of a server: the authority and the principal of a request. Waiting requests are served in
    /// the order of ``HTTPRequestData/priority``. A request that would wait longer than `maximumWait`, its deadline or
    /// an hour is refused at once, and the error's ``NetworkingError/retryAfter`` says when to try again. A cancelled
    /// caller gets `CancellationError` at once. If ``HTTPRequestData/isThrottled`` is `false`, a request passes
    /// uncounted.
    ///
    /// - Parameters:
    ///   - limiter: The limiter.
    ///   - maximumWait: The maximum time that a request waits. Zero refuses instead of waiting; `nil`, the default, is
    ///     an hour.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for requests
    ///   that it refuses.
    /// - Precondition: `maximumWait` is not negative.
    public func rateLimited(
        by limiter: ServerRateLimiter,
        maximumWait: Duration? = nil
    ) -> some NetworkingComponent {
        modified(ServerRateLimited(limiter: limiter, maximumWait: checked(maximumWait: maximumWait)))
    }

    /// Limits the rate of requests to the one that the server accepts, if it refuses requests because of too many.
    ///
    /// It is for servers that report no limits. It belongs inside `retry`, so that each attempt counts, inside
    /// `cached`, and outside `throttled`.
    ///
    /// ```swift
    /// let network = URLSession.shared.rateLimited(by: AdaptiveRateLimiter()).retry()
    /// ```
    ///
    /// Waiting, refusals and cancellation are those of
    /// ``rateLimited(by:maximumWait:)-(ServerRateLimiter,_)``, and the rate applies to an authority.
    ///
    /// - Parameters:
    ///   - limiter: The limiter.
    ///   - maximumWait: The maximum time that a request waits. Zero refuses instead of waiting; `nil`, the default, is
    ///     an hour.
    /// - Returns: A component that refuses requests in the same cases.
    /// - Precondition: `maximumWait` is not negative.
    public func rateLimited(
        by limiter: AdaptiveRateLimiter,
        maximumWait: Duration? = nil
    ) -> some NetworkingComponent {
        modified(AdaptiveRateLimited(limiter: limiter, maximumWait: checked(maximumWait: maximumWait)))
    }
}

/// A limiter that learns from responses.
protocol FeedbackLimiter: RequestLimiter, CustomStringConvertible {
    associatedtype Gate: RequestGate

    var lines: GatedLines<Gate> { get }

    /// The reason of a refusal.
    var limitation: String { get }

    /// Returns the key of the gate that a request passes.
    func key(for request: HTTPRequestData, _ principal: Principal?) -> LineKey

    /// Returns the facts of a response; `nil` if it changes nothing.
    func report(on response: HTTPResponseData) -> Gate.Report?

    /// Returns the event for the listeners of a request; `nil` if there is none.
    func event(for report: Gate.Report) -> (any NetworkEvent)?
}

/// A modifier with a limiter that learns from responses.
///
/// The two modifiers are types of their own, because code that is generic in the limiter takes ten times as long.
protocol FeedbackLimiting: LimitingModifier where Limiter: FeedbackLimiter {}

struct ServerRateLimited: FeedbackLimiting {
    let limiter: ServerRateLimiter
    let maximumWait: Duration?

    func exchange(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let permit = try await permit(for: request, upstream.principal(for: request))
        do {
            let response = try await upstream.send(request)
            end(permit, with: response, of: request)
            return response
        } catch {
            end(permit, with: error, of: request)
            throw error
        }
    }
}

struct AdaptiveRateLimited: FeedbackLimiting {
    let limiter: AdaptiveRateLimiter
    let maximumWait: Duration?

    func exchange(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let permit = try await permit(for: request, nil)
        do {
            let response = try await upstream.send(request)
            end(permit, with: response, of: request)
            return response
        } catch {
            end(permit, with: error, of: request)
            throw error
        }
    }
}

/// The permission to send a request.
struct FeedbackPermit<Gate: RequestGate>: Sendable {
    fileprivate let ticket: Gate.Ticket
    fileprivate let key: LineKey
    fileprivate let clock: NetworkClock
}

/// The wait beyond which a request is refused in any case.
private let longestWait = Duration.seconds(3_600)

extension FeedbackLimiting {
    typealias Permit = FeedbackPermit<Limiter.Gate>

    var limitsEachHop: Bool { true }

    /// Waits until the limits allow a request.
    func permit(for request: HTTPRequestData, _ principal: Principal?) async throws -> Permit {
        let clock = NetworkEnvironment.current.clock
        let key = limiter.key(for: request, principal)
        let ticket = try await ticket(for: request, key, on: clock)
        return Permit(ticket: ticket, key: key, clock: clock)
    }

    /// Ends a request that has failed.
    func end(_ permit: Permit, with error: any Error, of request: HTTPRequestData) {
        let error = error as? NetworkingError
        if error?.kind.meaning == .rejected {
            // A limit further in has refused the request, so the server does not count it.
            limiter.lines.refund(permit.ticket, permit.key, on: permit.clock)
        } else {
            end(permit, with: error?.response, of: request)
        }
    }

    /// Ends a request that was sent.
    func end(_ permit: Permit, with response: HTTPResponseData?, of request: HTTPRequestData) {
        // A response that belongs to another user says nothing about this one.
        let isForAnother = response?.principal.map { limiter.key(for: request, $0) != permit.key } ?? false
        let report = isForAnother ? nil : response.flatMap { limiter.report(on: $0) }
        limiter.lines.end(permit.ticket, permit.key, with: report, on: permit.clock)
        if let event = report.flatMap({ limiter.event(for: $0) }) { request.emit(event) }
    }

    private func ticket(
        for request: HTTPRequestData,
        _ key: LineKey,
        on clock: NetworkClock
    ) async throws -> Limiter.Gate.Ticket {
        let start = clock.now
        let ownLimit = min(maximumWait(of: request) ?? longestWait, longestWait)
        let limit = NetworkEnvironment.current.deadline.map { min(ownLimit, max(.zero, $0 - start)) } ?? ownLimit
        switch limiter.lines.enter(request, key, waitingUpTo: limit, on: clock) {
        case .passed(let ticket): return ticket
        case .refused(let wait): throw tooLong(request, wait)
        case .waits(let place, let duration):
            request.emit(WaitEvent.waiting(.rateLimit, duration))
            defer { request.emit(WaitEvent.waited(.rateLimit, clock.now - start)) }
            return try await wait(in: place, for: request, key, until: start + ownLimit, on: clock)
        }
    }

    private func wait(
        in place: WaitPlace,
        for request: HTTPRequestData,
        _ key: LineKey,
        until end: Duration,
        on clock: NetworkClock
    ) async throws -> Limiter.Gate.Ticket {
        let lines = limiter.lines
        // The limits may become stricter during the wait, so it can take longer than expected. No request takes the
        // place of another one, because the queue has no limit.
        try await place.permit(
            for: request,
            until: end,
            on: clock,
            late: tooLong(request, lines.wait(key, on: clock)),
            displaced: CancellationError()
        ) {
            lines.leave(place, key, on: clock)
        } giveBack: {
            lines.leave(place, key, on: clock)
        }
        guard let ticket = lines.ticket(of: place, key) else { throw tooLong(request, nil) }
        return ticket
    }

    private func tooLong(_ request: HTTPRequestData, _ wait: Duration?) -> NetworkingError {
        let next =
            wait.map { "the next request may be sent in \($0.roundedText)" } ?? "another request has to end first"
        return request.rejected(
            by: .rateLimit,
            reason: "\(limiter.limitation); \(next). Send fewer requests, or raise maximumWait.",
            retryAfter: wait
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.rateLimit],
            options: [.priority, .isThrottled],
            rules: rules(outsideRetry: "so it counts only the first attempt.")
        )
    }

    var description: String {
        "rateLimited(by: \(limiter)\(maximumWait.map { ", maximumWait: \($0)" } ?? ""))"
    }
}
