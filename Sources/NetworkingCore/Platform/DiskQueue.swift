import Dispatch

/// Threads for work that waits for the disk, so that the wait blocks no thread on which tasks run.
package enum DiskQueue {
    private static let queue = DispatchQueue(label: "Networking.DiskQueue", attributes: .concurrent)

    /// Runs work on one of these threads and returns its result.
    ///
    /// Cancellation of the calling task does not end work that has begun.
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
