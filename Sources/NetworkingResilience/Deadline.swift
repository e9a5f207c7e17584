public import NetworkingCore

extension NetworkingComponent {
    /// Limits the time of each call, including every attempt, every wait and the body.
    ///
    /// It belongs outside `retry`. Components upstream can read the deadline as ``NetworkEnvironment/deadline``, so
    /// that they do not start a wait that would end too late. When the time is up, the work upstream is cancelled and
    /// awaited. A cancelled caller gets `CancellationError`.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().deadline(.seconds(30))
    /// ```
    ///
    /// A `Task` that a component or a delegate starts inherits the deadline, as Swift's task-local values do, until the
    /// call returns. `Task.detached` does not inherit it.
    ///
    /// A transfer may take any time while it makes progress, which `timeout(idle:)` ensures. With `exemptsTransfers`,
    /// the limit ends with the head of a response, and does not apply at all to:
    /// - a request with a sink, such as a download or a stream,
    /// - a request with a body from a file, of unknown length, or of more than 1 MiB.
    ///
    /// After the limit, no further attempt starts. A transport that does not report the head has the limit until the
    /// body has arrived.
    ///
    /// - Parameters:
    ///   - limit: The time limit of a call, on the environment's clock. ``HTTPRequestData/deadline`` replaces it for
    ///     one request, also for a transfer, and `.unlimited` there switches it off. An earlier deadline, from an outer
    ///     `deadline`, stays in force.
    ///   - exemptsTransfers: Whether the limit ends with the head of a response and leaves out requests with a sink or
    ///     a long body; `false` by default.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/deadline`` when the time
    ///   is up.
    /// - Precondition: `limit` is greater than zero.
    public func deadline(_ limit: Duration, exemptsTransfers: Bool = false) -> some NetworkingComponent {
        precondition(limit > .zero, "limit must be greater than zero (is \(limit))")
        return modified(Deadline(limit: limit, exemptsTransfers: exemptsTransfers))
    }

    /// Sends a request with a time limit for the whole call, and returns its response.
    ///
    /// The limit covers everything that the stack does: all attempts, all waits and the body. It is measured on the
    /// stack's clock, wherever in the stack that is set. It replaces the limit of the stack's `deadline`, and
    /// components upstream see it as ``NetworkEnvironment/deadline``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - progress: A closure that is called as the transfer progresses.
    ///   - timeout: The time limit of the call.
    /// - Returns: The response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/timeout`` when the time is up, and the errors of
    ///   ``data(_:trackedBy:progress:)``.
    /// - Precondition: `timeout` is greater than zero.
    @discardableResult
    public func data(
        _ request: HTTPRequestData,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        timeout: Duration
    ) async throws -> HTTPResponseData {
        precondition(timeout > .zero, "timeout must be greater than zero (is \(timeout))")
        var request = request
        request.deadline = timeout
        let deadline = Deadline(limit: timeout, kind: .timeout, clock: environmentOfStack.clock)
        return try await modified(deadline).data(request, progress: progress)
    }
}

/// An event of `deadline`.
@nonexhaustive
public enum DeadlineEvent: NetworkEvent {
    /// The call was cancelled because it exceeded this time limit.
    case exceeded(after: Duration)

    /// The record with the time limit.
    public var record: EventRecord {
        switch self {
        case .exceeded(let limit):
            EventRecord(
                "deadlineExceeded",
                "after: \(limit.roundedText)",
                mark: .deadline,
                attributes: ["networking.timeout.limit": .number(limit.inSeconds)]
            ) { _ in "deadline of \(limit.roundedText) exceeded" }
        }
    }
}

struct Deadline: UpstreamLimited, CustomStringConvertible {
    /// The length of a body beyond which its transfer is exempt.
    private static let longBody: Int64 = 1 << 20

    let limit: Duration
    var exemptsTransfers = false
    /// The kind of the error that is thrown when the time is up.
    var kind = NetworkingError.Kind.deadline
    /// The clock that measures the limit; `nil` for the environment's.
    var clock: NetworkClock?

    // Inlined into its witness, so that a call has one frame less.
    @inline(__always)
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard let call = try begin(request) else { return try await upstream.send(request) }
        guard !call.isToHead else { return try await sendToHead(request, call, upstream) }
        return try await withEnvironment(call.environment) {
            try await upstream.send(request, until: call.deadline, on: call.clock) {
                timeIsUp(for: request, in: call.environment, underlying: $0)
            }
        }
    }

    /// The limit of one call.
    private struct Call {
        let deadline: Duration
        let clock: NetworkClock
        let environment: NetworkEnvironment
        let isToHead: Bool
    }

    /// Begins the limit of a call; returns `nil` if it has none.
    ///
    /// It is not inlined, because its values would take memory in every call that waits for its response.
    @inline(never)
    private func begin(_ request: HTTPRequestData) throws -> Call? {
        let limit = request.deadline ?? limit
        let isToHead = exemptsTransfers && request.deadline == nil
        guard limit < .unlimited, !isToHead || !isTransfer(request) else { return nil }
        var environment = NetworkEnvironment.current
        let clock = clock ?? environment.clock
        let deadline = request.deadline(after: limit, on: clock)
        // The environment counts on its own clock. Where the stack sets another one, the remaining time is the same.
        environment.limit(to: environment.clock.now + (deadline - clock.now))
        // A limit that was computed from another time may be zero or negative.
        guard limit > .zero else { throw timeIsUp(for: request, in: environment) }
        return Call(deadline: deadline, clock: clock, environment: environment, isToHead: isToHead)
    }

    /// Sends a request with a limit that ends with the head of the response.
    @inline(never)
    private func sendToHead(
        _ request: HTTPRequestData,
        _ call: Call,
        _ upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let limits = TimeLimits(whole: call.deadline - call.clock.now)
        let watch = PhaseWatch(limits: limits, clock: call.clock, sparingBody: true)
        do {
            return try await withEnvironment(call.environment) {
                try await watch.limiting(request, observingPhases: true) { try await upstream.sendWithinLimit($0) }
            }
        } catch let expiry as PhaseWatch.Expiry {
            throw timeIsUp(for: request, in: call.environment, underlying: expiry.underlying)
        }
    }

    /// Whether a request has a sink or a long body.
    private func isTransfer(_ request: HTTPRequestData) -> Bool {
        guard request.sink == nil else { return true }
        guard let body = request.body else { return false }
        // The length of a file would be read from the disk.
        return body.isOnDisk || body.length.map { $0 > Self.longBody } ?? true
    }

    private func timeIsUp(
        for request: HTTPRequestData,
        in environment: NetworkEnvironment,
        underlying: (any Error)? = nil
    ) -> any Error {
        let limit = request.deadline ?? limit
        request.emit(DeadlineEvent.exceeded(after: limit))
        var error = NetworkingError.deadlineExceeded(limit, kind: kind, by: request, underlying: underlying)
        if let unfinished = environment.leftForDeadline as? UnfinishedAttempts {
            unfinished.complete(&error)
        }
        return error
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.deadline],
            options: [.deadline],
            deadline: limit,
            rules: [
                .notInside(.retry, "is inside retry, so it covers one attempt. Use timeout for that."),
                .not(
                    "is inside deduplicated, so it limits a shared exchange and not each caller. Put it outside."
                ) { $0.isInside(.deduplication) && !$0.isInside(.retry) },
            ]
        )
    }

    var description: String {
        "deadline(\(limit)\(exemptsTransfers ? ", exemptsTransfers: true" : ""))"
    }
}
