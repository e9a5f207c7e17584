#if TestServer
import NetworkingTestServer

/// Runs a scenario that releases a port and needs it again.
///
/// In between, the system can assign the port to another server or connection. The scenario then runs again from its
/// start on another port.
func retryingTakenPort<Result>(_ scenario: () async throws -> Result) async throws -> Result {
    for _ in 1..<10 {
        do {
            return try await scenario()
        } catch let error as TestServerError where error.kind == .portTaken {
            continue
        }
    }
    return try await scenario()
}
#endif
