#if URLSession
import Dispatch

/// The queue for calls into URLSession that block their thread.
///
/// On Linux, `dataTask(with:)`, `resume()`, `cancel()` and the reply to a challenge wait for a serial queue that all sessions of the
/// process share. A thousand exchanges keep that queue busy for seconds. A task of Swift concurrency must not wait there: its
/// threads are as few as the processors, and every other task of the process would wait too.
///
/// One serial queue serves the whole process. It blocks one thread at most, and it makes the order of the calls certain: a task is
/// cancelled after it was resumed, and a session is invalidated after the last task was created on it.
struct URLSessionCalls: Sendable {
    static let shared = URLSessionCalls(queue: DispatchQueue(label: "URLSessionCalls"))

    private let queue: DispatchQueue

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    /// Makes a call that creates or starts something, or ends a session.
    ///
    /// On Apple's platforms these calls do not block, so they run on the caller's thread.
    func start(_ call: @escaping @Sendable () -> Void) {
        #if canImport(FoundationNetworking)
        queue.async(execute: call)
        #else
        call()
        #endif
    }

    /// Makes a call that cancels a task or refuses a challenge, never on the caller's thread.
    ///
    /// The caller may be on the queue that the call waits for.
    func interrupt(_ call: @escaping @Sendable () -> Void) {
        queue.async(execute: call)
    }
}
#endif
