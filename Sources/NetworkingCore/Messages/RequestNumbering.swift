import Synchronization

/// A scope that numbers its requests from 1, so that a test knows their identifiers in advance.
package final class RequestNumbering: Sendable {
    @TaskLocal private static var current: RequestNumbering?

    // Process-wide, and only a hint: until the first scope exists, no request looks for one, which would cost 20 times
    // as much as this check. It is never reset, because a task may outlive its scope.
    private static let isUsed = Atomic(false)

    private let last = Atomic<UInt64>(0)

    /// The next number of the current scope; `nil` outside of any scope.
    static var next: UInt64? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        return current?.last.add(1, ordering: .relaxed).newValue
    }

    /// Numbers the requests that an operation and its tasks create.
    package static func scope<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        isUsed.store(true, ordering: .relaxed)
        return try await $current.withValue(RequestNumbering()) {
            _ = isolation
            return try await operation()
        }
    }
}
