#if TestServer
import NetworkingTestServer

/// Runs a scenario that gives a port up and wants it back.
///
/// In between, the system may give the port to anybody, such as a server or a connection of a suite that runs at the
/// same time. The scenario is played again then, from its start and on another port.
func withPortOfItsOwn<Result>(_ scenario: () async throws -> Result) async throws -> Result {
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
