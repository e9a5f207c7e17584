import Synchronization

/// The time during which an operation runs, for values of the environment that must not outlast it.
///
/// A task that the operation starts and does not await inherits the environment, and keeps it for as long as the task
/// runs. A mark such as "this task runs the store's delegate" would then apply to requests that have nothing to do with
/// the operation. A mark with a scope ends when the operation returns, in every task that has it.
package final class EnvironmentScope: Sendable {
    private let hasEnded = Atomic(false)

    private init() {}

    /// Whether the operation has returned or thrown.
    var isOver: Bool {
        hasEnded.load(ordering: .acquiring)
    }

    /// Runs an operation in the current environment with changes that end with the operation.
    ///
    /// - Parameters:
    ///   - change: Sets the values. Those with a scope end with the operation.
    ///   - isolation: The caller's isolation; leave it to the compiler.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    package static func run<Result>(
        _ change: (inout NetworkEnvironment, EnvironmentScope) -> Void,
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        let scope = EnvironmentScope()
        defer { scope.hasEnded.store(true, ordering: .releasing) }
        var environment = NetworkEnvironment.current
        change(&environment, scope)
        return try await withEnvironment(environment, operation)
    }
}

/// The objects that run an operation in the current task, each until its operation returns.
package struct ActiveObjects: Sendable {
    private var entries: [(object: ObjectIdentifier, scope: EnvironmentScope)] = []

    package init() {}

    /// Whether an operation of an object has not returned.
    package func contains(_ object: AnyObject) -> Bool {
        entries.contains { $0.object == ObjectIdentifier(object) && !$0.scope.isOver }
    }

    /// Adds an object until the end of a scope.
    package mutating func insert(_ object: AnyObject, during scope: EnvironmentScope) {
        entries.removeAll { $0.scope.isOver }
        entries.append((ObjectIdentifier(object), scope))
    }
}

/// Runs an operation whose requests pass `throttled` and `rateLimited` without waiting.
///
/// A component that holds back requests until another request has completed sends that other request this way.
/// Otherwise it could wait for a permit that one of the held requests has. Token stores do so for their delegates:
///
/// ```swift
/// let key = try await withoutThrottling { try await fetchKey() }
/// ```
///
/// ``NetworkEnvironment/isThrottled`` is `false` until the operation returns. A task that the operation has started and
/// that runs longer is then limited like any other.
///
/// - Parameters:
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: The operation to run.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
public func withoutThrottling<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await EnvironmentScope.run({ $0.exemptFromLimits(during: $1) }, operation)
}
