/// Waits for a store: a file, a database, or a store of the app that may be slow or may never return.
///
/// Every wait for a store by a caller of the library goes through this type, so that each of them ends at the caller's
/// cancellation and at its time limit.
package enum StoreWait {
    /// An operation has taken longer than its caller waits.
    package struct Timeout: Error, CustomStringConvertible {
        let patience: Duration

        package var description: String {
            "The store took longer than \(patience). It may be locked by another process, or its disk may be slow."
        }
    }

    /// Runs an operation of a store, and waits for it until the caller is cancelled or its time is up.
    ///
    /// The operation itself continues then, because half a change could be worse than all or none of it. Whatever
    /// belongs to the operation, such as a report of its success, is part of the closure.
    ///
    /// - Parameters:
    ///   - limit: The time limit of the caller; `nil` if only its cancellation ends the wait.
    ///   - patience: The maximum time of an operation that the caller can do without, on the environment's clock. The
    ///     operation is cancelled then.
    ///   - operation: The operation. It does not inherit the deadline of the caller.
    /// - Returns: The result of the operation.
    /// - Throws: `CancellationError` if the caller is cancelled or at its limit, ``Timeout`` after the patience, or the
    ///   error of the operation.
    package static func run<Value: Sendable>(
        until limit: ExchangeLimit?,
        atMost patience: Duration? = nil,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        try limit?.check()
        let shared = SharedOperation<Value>(outlivesWaiters: true)
        let clock = NetworkEnvironment.current.clock
        // Before the store is called, because other code may move a clock as soon as it sees the call.
        let deadline = patience.map { patience in
            WaitDeadline<Value>(clock.now + patience, on: clock, with: .failure(Timeout(patience: patience)))
        }
        shared.start(operation)
        do {
            return try await shared.valueForCreator(until: limit, or: deadline)
        } catch let error as Timeout {
            shared.end(with: .failure(error))
            throw error
        }
    }

    /// Runs work that uses a store several times and stops when it is cancelled, and waits for its end.
    ///
    /// If the caller is cancelled, the work is cancelled too. The caller waits for a short time, in which a store that
    /// is not locked lets the work end. After that, the work ends without its caller.
    ///
    /// - Parameter work: The work.
    /// - Returns: The result of the work.
    /// - Throws: `CancellationError` if the caller is cancelled and the work does not end in time, or the error of the
    ///   work.
    package static func runCancellably<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let wait = Suspension<Value>()
        let task = OwnedTask.immediate {
            do {
                wait.resume(with: .success(try await work()))
            } catch {
                wait.resume(with: .failure(error))
            }
        }
        return try await wait.patientValue(until: nil) { task.cancel() }
    }
}
