#if URLSession
import Dispatch
import NetworkingCore
import Synchronization

/// Makes the calls into URLSession that may block their thread.
///
/// On Linux, `dataTask(with:)`, `resume()`, `cancel()` and the reply to a challenge wait for a serial queue that all
/// sessions of the process share. A thousand exchanges keep that queue busy for seconds, and so does one long transfer.
/// A task of Swift concurrency must not wait there: its threads are as few as the processors, and every other task of
/// the process would wait too. The calls are made on one serial queue for the whole process, which blocks one thread at
/// most.
///
/// While few exchanges are in progress and none of them is long, URLSession's queue is free within microseconds. A task
/// is then created and started on the caller's thread, because the change to another thread would cost a short exchange
/// a tenth of its time.
final class URLSessionCalls: Sendable {
    static let shared = URLSessionCalls(queue: DispatchQueue(label: "URLSessionCalls"))

    private let queue: DispatchQueue
    private let maximumLoad: Int
    private let load = Atomic(0)

    /// Creates the calls of a queue.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - maximumLoad: The number of exchanges in progress up to which a call is made on its caller's thread. A long
    ///     exchange counts as more than that.
    init(queue: DispatchQueue, maximumLoad: Int = 16) {
        self.queue = queue
        self.maximumLoad = maximumLoad
    }

    /// Makes a call that creates and starts a task.
    ///
    /// On Apple's platforms this does not block. The caller is never on URLSession's queue.
    func start(_ call: @escaping @Sendable () -> Void) {
        #if canImport(FoundationNetworking)
        guard load.load(ordering: .relaxed) <= maximumLoad else {
            queue.async(execute: call)
            return
        }
        #endif
        call()
    }

    /// Makes a call that ends a session, after all calls so far.
    ///
    /// On Linux the caller may be on URLSession's queue.
    func end(_ call: @escaping @Sendable () -> Void) {
        #if canImport(FoundationNetworking)
        queue.async(execute: call)
        #else
        call()
        #endif
    }

    /// Makes a call that cancels a task or refuses a challenge, never on the caller's thread.
    ///
    /// The caller may be on URLSession's queue.
    func interrupt(_ call: @escaping @Sendable () -> Void) {
        queue.async(execute: call)
    }

    /// The load that one exchange adds to URLSession's queue, from its start to its end.
    struct Load: ~Copyable, Sendable {
        /// The number of bytes above which an exchange is long.
        private static let long: Int64 = 64 << 10

        private let calls: URLSessionCalls
        private let weight: Atomic<Int>

        init(on calls: URLSessionCalls) {
            self.calls = calls
            weight = Atomic(0)
        }

        func begin() {
            add(1, to: 0)
        }

        /// Records how many bytes have been transferred in one direction.
        func transferred(_ count: Int64) {
            guard count > Self.long, weight.load(ordering: .relaxed) == 1 else { return }
            add(calls.maximumLoad, to: 1)
        }

        func end() {
            calls.load.subtract(weight.exchange(0, ordering: .relaxed), ordering: .relaxed)
        }

        private func add(_ more: Int, to expected: Int) {
            if weight.compareExchange(expected: expected, desired: expected + more, ordering: .relaxed).exchanged {
                calls.load.add(more, ordering: .relaxed)
            }
        }
    }
}
#endif
