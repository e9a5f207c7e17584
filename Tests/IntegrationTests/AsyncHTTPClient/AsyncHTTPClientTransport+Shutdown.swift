#if AsyncHTTPClient
import NetworkingAsyncHTTPClient

extension AsyncHTTPClientTransport {
    /// Shuts the transport down after a closure, also if the closure fails.
    func untilShutDown(_ body: nonisolated(nonsending) () async throws -> Void) async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        try await shutdown()
        try result.get()
    }
}
#endif
