#if TestServer
import NetworkingTestServer

/// A clock that ends its sleeps when the test opens a gate.
final class HeldClock: Clock, Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Opens at the first sleep.
    let asked = Gate()
    /// Ends every sleep when it opens.
    let pass = Gate()

    let now = ContinuousClock.now
    let minimumResolution = Duration.nanoseconds(1)

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        asked.open()
        try await pass.wait()
    }
}
#endif
