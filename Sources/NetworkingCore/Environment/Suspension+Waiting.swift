/// The moment at which a wait ends by itself, and its result then.
package struct WaitDeadline<Value: Sendable>: Sendable {
    fileprivate let moment: Duration
    fileprivate let clock: NetworkClock
    fileprivate let result: @Sendable () -> Result<Value, any Error>

    package init(
        _ moment: Duration,
        on clock: NetworkClock,
        with result: @escaping @autoclosure @Sendable () -> Result<Value, any Error>
    ) {
        (self.moment, self.clock, self.result) = (moment, clock, result)
    }
}

extension Suspension {
    /// Waits for the result, until the caller is cancelled, or its time limit or the deadline of the wait is reached.
    ///
    /// Whatever waits in the library waits here, so that each wait says which limit it has. Only one caller may wait.
    ///
    /// - Parameters:
    ///   - limit: The time limit of the request that waits; `nil` if only its task ends the wait, because it waits for
    ///     no request or runs in a task that is cancelled at the limit.
    ///   - deadline: The moment at which the wait ends by itself.
    ///   - onEnd: Called if one of these ended the wait, so that the other side can release it.
    /// - Returns: The result.
    /// - Throws: `CancellationError` if the caller is cancelled or its limit is reached, or the error with which the
    ///   wait was resumed or ended by itself.
    package func value(
        until limit: ExchangeLimit?,
        or deadline: WaitDeadline<Value>? = nil,
        onEnd: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        guard limit != nil || deadline != nil else { return try await cancellableValue(onCancel: onEnd) }
        let alarms = setAlarms(until: limit, or: deadline, onEnd)
        defer {
            alarms.limit?.cancel()
            alarms.deadline?.cancel()
        }
        return try await cancellableValue(onCancel: onEnd)
    }

    // Not inlined, because its values would take memory in every call that waits.
    @inline(never)
    private func setAlarms(
        until limit: ExchangeLimit?,
        or deadline: WaitDeadline<Value>?,
        _ onEnd: @escaping @Sendable () -> Void
    ) -> (limit: Alarm?, deadline: Alarm?) {
        let limitAlarm = limit?.alarm { [self] in end(with: .failure(CancellationError()), onEnd) }
        let alarm = deadline.map { [self] deadline in
            deadline.clock.alarm(at: deadline.moment) { [self] in end(with: deadline.result(), onEnd) }
        }
        return (limitAlarm, alarm)
    }

    private func end(with result: Result<Value, any Error>, _ onEnd: () -> Void) {
        if resume(with: result) {
            onEnd()
        }
    }

    /// The time that a cancelled caller waits for work to end.
    ///
    /// It is measured by the system's clock, because a cancelled caller must not wait for the clock of a test.
    private static var cancellationPatience: Duration { .milliseconds(100) }

    /// Waits for work that has started; after the caller's cancellation, only for a short time.
    ///
    /// Work that needs no more than 100 milliseconds, such as that of a disk that works, is completed, and its result
    /// is returned.
    ///
    /// - Parameters:
    ///   - limit: The time limit of the request that waits, as for `value(until:)`.
    ///   - onCancel: Called when the caller is cancelled.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or `CancellationError`.
    func patientValue(
        until limit: ExchangeLimit?,
        onCancel: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        let alarm = limit?.alarm { [self] in resume(with: .failure(CancellationError())) }
        defer { alarm?.cancel() }
        return try await withTaskCancellationHandler {
            try await uncancellableValue()
        } onCancel: {
            onCancel()
            guard isPending else { return }
            let clock = NetworkClock.continuous
            _ = clock.alarm(at: clock.now + Self.cancellationPatience) { [self] in
                resume(with: .failure(CancellationError()))
            }
        }
    }
}
