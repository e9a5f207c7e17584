extension Suspension {
    /// The time that a cancelled caller waits for work to end.
    ///
    /// It is measured by the system's clock, because a cancelled caller must not wait for the clock of a test.
    private static var cancellationPatience: Duration { .milliseconds(100) }

    /// Waits for work that has started; after the caller's cancellation, only for a short time.
    ///
    /// Work that needs no more than 100 milliseconds, such as that of a disk that works, is completed, and its result
    /// is returned.
    ///
    /// - Parameter onCancel: Called when the caller is cancelled.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or `CancellationError`.
    func patientValue(onCancel: @escaping @Sendable () -> Void = {}) async throws -> Value {
        try await withTaskCancellationHandler {
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
