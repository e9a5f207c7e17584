#if TestServer
import FlyingSocks

/// Watches the sockets of every test server in the process.
///
/// FlyingSocks offers such a pool for clients. But two tasks that request it first at the same time start it twice and
/// can wait forever, and a pool for each server would leak a file descriptor each.
enum EventLoop {
    #if canImport(Darwin)
    typealias Pool = SocketPool<kQueue>
    #else
    typealias Pool = SocketPool<ePoll>
    #endif

    /// The pool, once it has started.
    static var pool: Pool {
        get async throws { try await starting.value }
    }

    /// An unstructured task, because it serves the whole process, like the pool.
    private static let starting = Task {
        #if canImport(Darwin)
        let pool = Pool.kQueue()
        #else
        let pool = Pool.ePoll()
        #endif
        try await pool.prepare()
        // The pool ends only when this task is cancelled, which never happens.
        Task { try await pool.run() }
        return pool
    }
}
#endif
