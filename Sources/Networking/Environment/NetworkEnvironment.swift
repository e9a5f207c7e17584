public import Logging

/// What a stack takes from its surroundings: time, chance, a logger, and values of one's own.
///
/// A stack sets a value for everything upstream of the place where it is written:
///
/// ```swift
/// let network = MockTransport { _ in .ok() }
///     .timeout(.seconds(10))
///     .environment(\.clock, .manual(clock))
/// ```
///
/// A component reads it through ``current``. Declare a value of your own with a ``NetworkEnvironmentKey``.
public struct NetworkEnvironment: Sendable {
    /// The environment of the current task.
    @TaskLocal public static var current = NetworkEnvironment()

    private var values = CopyOnWrite(Values())

    /// Creates the default environment: the system's clock and chance, and swift-log's task-local logger.
    public init() {}

    /// Time: what now is, and how to wait.
    public var clock: NetworkClock {
        get { values.value.clock }
        set { values.value.clock = newValue }
    }

    /// Chance for jitter and sampling; seed it to repeat a test.
    public var random: RandomSource {
        get { values.value.random }
        set { values.value.random = newValue }
    }

    /// Chance for secrets and ids.
    ///
    /// Seeding ``random`` does not touch it.
    public var secureRandom: SecureRandomSource {
        get { values.value.secureRandom }
        set { values.value.secureRandom = newValue }
    }

    /// Where components log to; swift-log's task-local logger unless one was set.
    public var logger: Logger {
        get { values.value.logger ?? .current }
        set { values.value.logger = newValue }
    }

    /// When everything upstream has to be over, on ``clock``; nil for no such time.
    ///
    /// `deadline` sets it.
    public internal(set) var deadline: Duration? {
        get { values.value.deadline }
        set { values.value.deadline = newValue }
    }

    /// The value of a key, or its default.
    ///
    /// - Parameter key: The type that declares the value.
    public subscript<Key: NetworkEnvironmentKey>(key: Key.Type) -> Key.Value {
        get { values.value.custom.value(for: key, as: Key.Value.self) ?? key.defaultValue }
        set { values.value.custom.set(newValue, for: key) }
    }

    private struct Values: Sendable {
        var clock = NetworkClock.continuous
        var random = RandomSource.system
        var secureRandom = SecureRandomSource.system
        var logger: Logger?
        var deadline: Duration?
        var custom = TypedValues()
    }
}

/// A value of the environment, declared by whoever reads it.
///
/// ```swift
/// enum TenantKey: NetworkEnvironmentKey {
///     static let defaultValue = "public"
/// }
///
/// extension NetworkEnvironment {
///     var tenant: String {
///         get { self[TenantKey.self] }
///         set { self[TenantKey.self] = newValue }
///     }
/// }
///
/// let network = URLSession.shared.modified(Tenancy()).environment(\.tenant, "blue")
/// ```
public protocol NetworkEnvironmentKey {
    /// The type of the value.
    associatedtype Value: Sendable

    /// What an environment says in which nobody set the value.
    static var defaultValue: Value { get }
}

/// Runs an operation in an environment, without leaving the caller's executor.
///
/// The standard library's `withValue` alone would hop off and back, which costs 13 to 28 us from the main actor.
///
/// - Parameters:
///   - environment: What ``NetworkEnvironment/current`` is during the operation.
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: What to run.
/// - Returns: What the operation returns.
/// - Throws: What the operation throws.
@discardableResult
public func withEnvironment<Result>(
    _ environment: NetworkEnvironment,
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await NetworkEnvironment.$current.withValue(environment) {
        _ = isolation
        return try await operation()
    }
}
