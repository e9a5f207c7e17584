#if TestServer
import NetworkingTestServer

/// Holds every sleep until the test lets the time pass.
final class HeldClock: Clock, Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Opens when somebody sleeps.
    let asked = Gate()
    /// Ends every sleep.
    let pass = Gate()

    let now = ContinuousClock.now
    let minimumResolution = Duration.nanoseconds(1)

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        asked.open()
        try await pass.wait()
    }
}
#endif
