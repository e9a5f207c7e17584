import Networking
import NetworkingTesting
package import Testing

/// Runs each test of a suite with a clock that stands still, unless its stack sets another one.
///
/// A response waits for its cache until the store is done, however slow the machine is.
package struct StoppedClock: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        var environment = NetworkEnvironment.current
        environment.clock = .manual(ManualClock())
        try await NetworkEnvironment.$current.withValue(environment) { try await function() }
    }
}

extension Trait where Self == StoppedClock {
    /// A clock that stands still.
    package static var stoppedClock: StoppedClock { StoppedClock() }
}
