public import NetworkingCore

extension NetworkingComponent {
    /// Gives each call so much time for everything upstream: every attempt, every wait and the body.
    ///
    /// It belongs outside `retry`. What waits upstream can read the moment as ``NetworkEnvironment/deadline`` and need
    /// not begin what cannot end in time. When the time is up, what lies upstream is cancelled and awaited. A
    /// cancelled caller gets `CancellationError`.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry().deadline(.seconds(30))
    /// ```
    ///
    /// - Parameter limit: How long a call may take, on the environment's clock. ``HTTPRequestData/deadline`` replaces
    ///   it for one request. An earlier deadline, of a `deadline` further out, stays in force.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/deadline`` when time is
    ///   up.
    /// - Precondition: `limit` is greater than zero.
    public func deadline(_ limit: Duration) -> some NetworkingComponent {
        precondition(limit > .zero, "limit must be greater than zero (is \(limit))")
        return modified(Deadline(limit: limit))
    }

    /// Sends a request, limits the time of the whole call, and returns its response.
    ///
    /// The time covers everything that the stack does: all attempts, all waits and the body. It replaces the stack's
    /// `deadline`, and upstream it is the ``NetworkEnvironment/deadline``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - progress: Is called as the transfer progresses.
    ///   - timeout: How long the call may take.
    /// - Returns: The response.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/timeout`` when the time is up, and what
    ///   ``data(_:progress:)`` throws.
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
        return try await modified(Deadline(limit: timeout, kind: .timeout)).data(request, progress: progress)
    }
}

/// What `deadline` does with a call.
@nonexhaustive
public enum DeadlineEvent: NetworkEvent {
    /// The call was cancelled because it exceeded this time limit.
    case exceeded(after: Duration)

    /// The event: `deadlineExceeded(after: 60.0 seconds)`.
    public var description: String {
        switch self {
        case .exceeded(let limit): "deadlineExceeded(after: \(limit))"
        }
    }
}

struct Deadline: DeadlineProviding, CustomStringConvertible {
    let limit: Duration
    /// The kind of its error.
    var kind = NetworkingError.Kind.deadline

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let limit = request.deadline ?? limit
        var environment = NetworkEnvironment.current
        let clock = environment.clock
        let deadline = clock.now + limit
        environment.limit(to: deadline)
        // What is left of some other time may be nothing.
        guard limit > .zero else { throw timeIsUp(nil) }
        return try await withTimeLimit(until: deadline, on: clock, timeIsUp: timeIsUp) { [environment] in
            try await withEnvironment(environment) { try await upstream.send(request) }
        }

        func timeIsUp(_ error: (any Error)?) -> any Error {
            request.emit(DeadlineEvent.exceeded(after: limit))
            return NetworkingError(
                kind,
                request: request,
                underlying: error,
                reason: "The call was not over within \(limit), with all its attempts and waits."
            )
        }
    }

    var roles: Set<StackRole> { [.deadline] }
    var requestOptions: Set<RequestOptionKey> { [.deadline] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        if stack.isInside(.retry) {
            return [
                StackDiagnostic("\(self) is inside retry, so it covers one attempt. Use timeout for that.", about: self)
            ]
        }
        if stack.isInside(.deduplication) {
            return [
                StackDiagnostic(
                    "\(self) is inside deduplicated, so it limits a shared exchange and not each caller. Put it outside.",
                    about: self
                )
            ]
        }
        return []
    }

    var description: String {
        "deadline(\(limit))"
    }
}
