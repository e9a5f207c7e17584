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

    /// Only what was set; nil, which costs nothing to make or to copy, as long as that is nothing.
    @usableFromInline var box: CopyOnWrite<Values>?

    /// Creates the default environment: the system's clock and chance, and swift-log's task-local logger.
    public init() {}

    /// Time: what now is, and how to wait.
    public var clock: NetworkClock {
        get { box?.value.clock ?? .continuous }
        set { values.clock = newValue }
    }

    /// Chance for jitter and sampling; seed it to repeat a test.
    public var random: RandomSource {
        get { box?.value.random ?? .system }
        set { values.random = newValue }
    }

    /// Chance for secrets and ids.
    ///
    /// Seeding ``random`` does not touch it.
    public var secureRandom: SecureRandomSource {
        get { box?.value.secureRandom ?? .system }
        set { values.secureRandom = newValue }
    }

    /// Where components log to; swift-log's task-local logger unless one was set.
    public var logger: Logger {
        get { box?.value.logger ?? .current }
        set { values.logger = newValue }
    }

    /// Tells the logger what somebody should look at, for the targets that have no logger of their own.
    package func warn(_ message: String) {
        logger.warning("\(message)")
    }

    /// The level of ``logger``, which is asked for more often than the logger: without a copy of that.
    package var logLevel: Logger.Level {
        guard let box else { return Logger.current.logLevel }
        return box.value.logger?.logLevel ?? Logger.current.logLevel
    }

    /// Whether a logger was set.
    var hasLogger: Bool {
        box?.value.logger != nil
    }

    /// When everything upstream has to be over, on ``clock``; nil for no such time.
    ///
    /// `deadline` sets it.
    ///
    /// Work that several callers share, as with `deduplicated`, has the latest of their deadlines. It moves when
    /// callers join and leave, so read it when it is needed.
    public var deadline: Duration? {
        box?.value.deadline?.current
    }

    /// The ``deadline`` as it changes; `nil` for none.
    var callDeadline: CallDeadline? {
        get { box?.value.deadline }
        set { values.deadline = newValue }
    }

    /// Sets a deadline, unless an earlier one is in force.
    package mutating func limit(to moment: Duration) {
        if values.deadline?.limit(to: moment) == nil {
            values.deadline = CallDeadline(at: moment)
        }
    }

    /// Whether `throttled` and `rateLimited` apply to the requests that are sent in this environment.
    ///
    /// They do by default.
    ///
    /// A component that holds back requests until another request has completed sends that one without limits.
    /// Otherwise it could wait for a permit that one of those requests holds. Token stores do so for their delegates:
    ///
    /// ```swift
    /// var environment = NetworkEnvironment.current
    /// environment.isThrottled = false
    /// let key = try await withEnvironment(environment) { try await fetchKey() }
    /// ```
    ///
    /// A limiter of your own takes part by sending a request on at once if this or ``HTTPRequestData/isThrottled`` is
    /// `false`.
    public var isThrottled: Bool {
        get { box?.value.isThrottled ?? true }
        set { values.isThrottled = newValue }
    }

    /// Starts work outside of the caller's span; nil where nobody has one.
    package var spanExit: SpanExit? {
        get { box?.value.spanExit }
        set { values.spanExit = newValue }
    }

    /// Runs something outside of the caller's span.
    package typealias SpanExit = @Sendable (_ body: () -> Void) -> Void

    /// The value of a key, or its default.
    ///
    /// - Parameter key: The type that declares the value.
    public subscript<Key: NetworkEnvironmentKey>(key: Key.Type) -> Key.Value {
        @inlinable get { box?.value.custom.value(for: key, as: Key.Value.self) ?? key.defaultValue }
        set { values.custom.set(newValue, for: key, isOfOneCall: key.isOfOneCall) }
    }

    /// Whether the environment has values that belong to one call.
    var hasValuesOfOneCall: Bool {
        box?.value.custom.hasValuesOfOneCall ?? false
    }

    mutating func removeValuesOfOneCall() {
        values.custom.removeValuesOfOneCall()
    }

    /// This environment with all that another one sets.
    func merging(_ other: NetworkEnvironment) -> NetworkEnvironment {
        guard box != nil, let set = other.box?.value else { return box == nil ? other : self }
        var merged = self
        merged.values.merge(set)
        if let callDeadline, let clock = set.clock {
            // A moment means nothing on another clock; what is left until then does.
            merged.callDeadline = callDeadline.shifted(by: clock.now - self.clock.now)
        }
        return merged
    }

    private var values: Values {
        get { box?.value ?? Values() }
        _modify {
            if box == nil {
                box = CopyOnWrite(Values())
            }
            yield &box!.value
        }
    }

    @usableFromInline
    struct Values: Sendable {
        var clock: NetworkClock?
        var random: RandomSource?
        var secureRandom: SecureRandomSource?
        var logger: Logger?
        var deadline: CallDeadline?
        var spanExit: SpanExit?
        var isThrottled: Bool?
        @usableFromInline var custom = TypedValues()

        mutating func merge(_ other: Values) {
            clock = other.clock ?? clock
            random = other.random ?? random
            secureRandom = other.secureRandom ?? secureRandom
            logger = other.logger ?? logger
            deadline = other.deadline ?? deadline
            spanExit = other.spanExit ?? spanExit
            isThrottled = other.isThrottled ?? isThrottled
            custom.merge(other.custom)
        }
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

    /// Whether the value belongs to one call, such as its trace; `false` by default.
    ///
    /// Work that several calls share, or that outlives its call, has the default value in its place.
    static var isOfOneCall: Bool { get }
}

extension NetworkEnvironmentKey {
    /// The default: no.
    public static var isOfOneCall: Bool {
        false
    }
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
