#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
import TestSupport

extension AsyncHTTPClientTransport {
    /// Shuts the transport down after a closure, also if the closure fails.
    func untilShutDown(_ body: nonisolated(nonsending) () async throws -> Void) async throws {
        let result = await Result { try await body() }
        try await shutdown()
        try result.get()
    }
}
#endif
