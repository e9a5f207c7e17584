#if SQLite
import Foundation
import HTTPTypes
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingSQLite

#if canImport(Glibc)
import Glibc
#endif

/// The threads on which the store reads and writes.
@Suite(.tags(.concurrency), .stoppedClock, .timeLimit(.minutes(20)))
struct SQLiteCacheStoreIsolationTests {
    @Test func readsAHitOffTheCallersActor() async throws {
        try await withTemporaryDirectory { directory in
            let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
            let network = transport.cached(in: SQLiteCacheStore(file: directory.appending(path: "cache")))
            try await network.data(.lawful)
            let (response, jobs) = try await CountingActor().run { _ in try await network.data(.lawful) }
            #expect(response.isCached)
            // At most one job, for the return to the actor.
            #expect(jobs <= 1)
        }
    }

    #if canImport(Glibc)
    /// Another process that prepares to repair the log blocks all readers of the file.
    @Test func blockedReadDoesNotBlockTheCallersActor() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cache")
            let settings = CacheFile.Settings(costLimit: 1 << 20, patience: .seconds(20))
            let store = SQLiteCacheStore(file: file, settings: settings)
            try await store.store(.sample(), for: .named("a"))
            let other = try OtherProcess(of: file)
            let started = Suspension<Void>()
            let actor = CountingActor()
            async let found = actor.run { _ in
                started.resume()
                return try await store.texts("a")
            }
            try await started.value()
            // The actor is free; otherwise this call would not run before the read fails.
            _ = try await actor.run { _ in other.release() }
            #expect(try await found.value == ["text"])
        }
    }

    /// Holds the locks that another process takes to repair the index of the log, and makes that index invalid.
    private final class OtherProcess: Sendable {
        private let descriptor: CInt

        init(of file: URL) throws {
            descriptor = open(file.path + "-shm", O_RDWR | O_CLOEXEC)
            try #require(descriptor >= 0)
            // The locks belong to an open file and not to a process, so they block this process too.
            for position in [120, 122] {
                var lock = flock()
                lock.l_type = Int16(F_WRLCK)
                lock.l_whence = Int16(SEEK_SET)
                lock.l_start = off_t(position)
                lock.l_len = 1
                let setLock: CInt = 37  // F_OFD_SETLK
                try #require(withUnsafeMutablePointer(to: &lock) { fcntl(descriptor, setLock, $0) } == 0)
            }
            let header = [UInt8](repeating: 0, count: 96)
            try #require(pwrite(descriptor, header, header.count, 0) == header.count)
        }

        func release() {
            close(descriptor)
        }
    }
    #endif
}
#endif
