import Synchronization

/// Numbers requests from one on for who is in its scope, so that a test can say what their labels will be.
package final class RequestNumbering: Sendable {
    @TaskLocal private static var current: RequestNumbering?

    // Process-wide, and no more than a hint: until the first scope nobody looks for one, which would cost a request 20
    // times this. It is not taken back, since a task may outlive the scope that it is in.
    private static let isUsed = Atomic(false)

    private let last = Atomic<UInt64>(0)

    /// The next number of the scope; nil outside of any.
    static var next: UInt64? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        return current?.last.add(1, ordering: .relaxed).newValue
    }

    /// Numbers what the operation, and the tasks that it starts, create.
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
