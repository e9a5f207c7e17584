#if os(Linux) || os(macOS)
import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// A session lock that another process holds.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct SessionLockTests {
        /// A program that takes the lock, prints a number, and holds the lock until it is killed.
        private func holder(of path: String) -> String {
            """
            import fcntl, sys
            file = open(\(String(reflecting: path)), "w")
            fcntl.flock(file, fcntl.LOCK_EX)
            signal.alarm(0)
            print(1, flush=True)
            sys.stdin.read()
            """
        }

        @Test(.enabled { await Python.has("fcntl") })
        func killedProcessReleasesTheLock() async throws {
            try await withTemporaryDirectory { directory in
                let path = directory.appending(path: "session-emily.json.lock").path
                let storage = FileSessionStorage(directory: directory)
                let clock = ManualClock()
                var environment = NetworkEnvironment()
                environment.clock = .manual(clock)
                try await withEnvironment(environment) {
                    let waiter = Mutex<Task<SessionLock, any Error>?>(nil)
                    try await Python.withServer(holder(of: path)) { _ in
                        waiter.withLock { $0 = Task { try await storage.lockSession(for: "emily") } }
                        for _ in 1...3 {
                            try await clock.waitForSleepers()
                            clock.advance(by: .milliseconds(20))
                        }
                        try await clock.waitForSleepers()
                    }
                    // The process was ended by a signal.
                    clock.advance(by: .milliseconds(20))
                    let lock = try await #require(waiter.withLock { $0 }).value
                    lock.release()
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
            }
        }
    }
}
#endif
