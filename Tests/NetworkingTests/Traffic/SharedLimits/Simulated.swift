import Networking
import NetworkingCore

@testable import NetworkingTesting

/// Runs the body in simulated time: one task at a time, and the clock advances when none can continue.
///
/// Child tasks of the body belong to the simulation; a `Task` does not.
func simulated(_ body: @escaping @Sendable (_ clock: NetworkClock) async throws -> Void) async throws {
    let loop = SimulationLoop()
    let clock = NetworkClock(engine: loop.clock)
    var environment = NetworkEnvironment.current
    environment.clock = clock
    environment.random = .seeded(1)
    let work = OwnedTaskExecutor.$current.withValue(loop) {
        OwnedTask.immediate { [environment] in
            defer { loop.end() }
            try await withEnvironment(environment) { try await body(clock) }
        }
    }
    loop.start { work.cancel() }
    try await work.value
}

/// Runs an operation, and returns its result with the time that it took on the clock of the environment.
func timed<Value: Sendable>(
    _ operation: () async throws -> Value
) async throws -> (value: Value, time: Duration) {
    let clock = NetworkEnvironment.current.clock
    let start = clock.now
    let value = try await operation()
    return (value, clock.now - start)
}
