#if TestServer
import NetworkingTestServer
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WithTestServerTests {
    @Test func stopsWhenTheBodyReturns() async throws {
        let server = try await withTestServer { $0 }
        await #expect(throws: (any Error).self) { try await RawClient(to: server) }
    }

    @Test func stopsAndRethrowsWhenTheBodyThrows() async throws {
        let dropped = Dropped()
        await #expect(throws: Failure.self) {
            try await withTestServer { server in
                dropped.server = server
                throw Failure()
            }
        }
        let server = try #require(dropped.server)
        await #expect(throws: (any Error).self) { try await RawClient(to: server) }
    }

    @Test func stopsWhenTheBodyIsCancelled() async throws {
        let started = Gate()
        let scope = Task {
            try await withTestServer { server in
                started.open()
                do {
                    try await Gate().wait()
                } catch {
                    return server
                }
                return server
            }
        }
        try await started.wait()
        scope.cancel()
        let server = try await scope.value
        await #expect(throws: (any Error).self) { try await RawClient(to: server) }
    }
}

private struct Failure: Error {}

private final class Dropped {
    var server: TestServer?
}
#endif
