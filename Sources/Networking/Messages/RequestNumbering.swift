import Synchronization

/// Numbers requests from one on for who is in its scope, so that a test can say what their labels will be.
package final class RequestNumbering: Sendable {
    @TaskLocal private static var current: RequestNumbering?

    // Process-wide, and no more than a hint: as long as no scope is open nobody looks for one, which would cost a request 20 times this.
    private static let scopes = Atomic(0)

    private let last = Atomic<UInt64>(0)

    /// The next number of the scope; nil outside of any.
    static var next: UInt64? {
        guard scopes.load(ordering: .relaxed) > 0 else { return nil }
        return current?.last.add(1, ordering: .relaxed).newValue
    }

    /// Numbers what the operation, and the tasks that it starts, create.
    package static func scope<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        scopes.add(1, ordering: .relaxed)
        defer { scopes.subtract(1, ordering: .relaxed) }
        return try await $current.withValue(RequestNumbering()) {
            _ = isolation
            return try await operation()
        }
    }
}
