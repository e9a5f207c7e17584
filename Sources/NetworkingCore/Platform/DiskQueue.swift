import Dispatch

/// Threads for blocking disk access, so that it does not block the threads on which tasks run.
package enum DiskQueue {
    private static let queue = DispatchQueue(label: "Networking.DiskQueue", attributes: .concurrent)

    /// Runs work on one of these threads and returns its result.
    ///
    /// Cancelling the calling task does not stop work that has started.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileFault) -> Value
    ) async throws(FileFault) -> Value {
        let result: Result<Value, FileFault> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(FileFault) -> Value in try work() })
            }
        }
        return try result.get()
    }
}
