import Dispatch

/// Threads for blocking disk access, so that it does not block the threads on which tasks run.
///
/// Work that was passed to a queue always runs to its end, because half a change could be worse than all or none of it.
/// Only the wait of its caller ends early. An object whose work must keep its order then has its own queue: the work
/// that follows, such as closing a file, waits for the work that no caller waits for any more.
package struct DiskQueue: Sendable {
    private static let shared = DispatchQueue(label: "Networking.DiskQueue", attributes: .concurrent)
    private let queue: DispatchQueue

    /// Creates a queue that runs one work at a time, in the order of the calls.
    package init() {
        queue = DispatchQueue(label: "Networking.DiskQueue.serial", target: Self.shared)
    }

    /// Runs work on a thread for the disk, and waits for it until the caller is cancelled or its time is up.
    ///
    /// After the cancellation, the caller waits for another 100 milliseconds, in which a disk that works is done.
    ///
    /// - Parameters:
    ///   - limit: The time limit of the caller; `nil` if only its cancellation ends the wait.
    ///   - work: The work. It runs even if the caller was cancelled before.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or `CancellationError` if the wait has ended first.
    package static func run<Value: Sendable>(
        until limit: ExchangeLimit?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await run(work, on: shared, until: limit)
    }

    /// Runs work after all earlier work of this queue, and waits for it like the static method.
    package func run<Value: Sendable>(
        until limit: ExchangeLimit?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await Self.run(work, on: queue, until: limit)
    }

    private static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value,
        on queue: DispatchQueue,
        until limit: ExchangeLimit?
    ) async throws -> Value {
        let wait = Suspension<Value>()
        queue.async { wait.resume(with: Result { try work() }) }
        return try await wait.patientValue(until: limit)
    }

    /// Runs work on a thread for the disk, and waits for its end even if the caller is cancelled.
    ///
    /// It is for a store whose callers end their wait for the store itself (`StoreWait`), while the store must learn
    /// the result of its work.
    package static func complete<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileFault) -> Value
    ) async throws(FileFault) -> Value {
        let result: Result<Value, FileFault> = await withCheckedContinuation { continuation in
            shared.async {
                continuation.resume(returning: Result { () throws(FileFault) -> Value in try work() })
            }
        }
        return try result.get()
    }
}
