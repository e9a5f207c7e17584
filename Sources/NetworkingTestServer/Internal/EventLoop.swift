#if TestServer
package import FlyingSocks

/// Watches the sockets of every test server in the process.
///
/// FlyingSocks offers such a pool for clients, but two tasks that ask for that one first at the same time start it
/// twice and may wait for ever; and a pool for each server would leak a file descriptor with each.
package enum EventLoop {
    #if canImport(Darwin)
    package typealias Pool = SocketPool<kQueue>
    #else
    package typealias Pool = SocketPool<ePoll>
    #endif

    /// The pool, once it is ready to be waited on.
    package static var pool: Pool {
        get async throws { try await starting.value }
    }

    /// Unstructured because it serves the whole process, like the pool it makes.
    private static let starting = Task {
        #if canImport(Darwin)
        let pool = Pool.kQueue()
        #else
        let pool = Pool.ePoll()
        #endif
        try await pool.prepare()
        // It ends only when it is cancelled, and nobody does.
        Task { try await pool.run() }
        return pool
    }
}
#endif
