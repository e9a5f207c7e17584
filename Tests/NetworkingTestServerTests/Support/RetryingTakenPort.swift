#if TestServer
import NetworkingTestServer
import TestSupport

/// Runs a scenario that releases a port and needs it again.
///
/// In between, the system can assign the port to another server or connection. The scenario then runs again from its
/// start on another port.
func retryingTakenPort<Result>(_ scenario: () async throws -> Result) async throws -> Result {
    try await retrying(after: { ($0 as? TestServerError)?.kind == .portTaken }, scenario)
}
#endif
