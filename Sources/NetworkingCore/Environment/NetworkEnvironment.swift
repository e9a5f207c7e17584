public import Logging

/// The values that a stack takes from its surroundings: a clock, randomness, a logger, and values of your own.
///
/// A stack sets a value for everything upstream of the place where it is set:
///
/// ```swift
/// let network = MockTransport { _ in .ok() }
///     .timeout(.seconds(10))
///     .environment(\.clock, .manual(clock))
/// ```
///
/// A component reads the environment through ``current``. Declare a value of your own with a ``NetworkEnvironmentKey``.
public struct NetworkEnvironment: Sendable {
    /// The environment of the current task.
    @TaskLocal public static var current = NetworkEnvironment()

    /// The values that were set; `nil` if there are none, so that creating and copying costs nothing.
    @usableFromInline var box: CopyOnWrite<Values>?

    /// The ``deadline``, which may change; `nil` if there is none.
    // Beside the other values, because it is set for each call, and a copy of the others takes longer.
    var callDeadline: CallDeadline?

    /// Creates the default environment: the system's clock and randomness, and swift-log's task-local logger.
    public init() {}

    /// The clock, for the time and for sleeping; the system's by default.
    public var clock: NetworkClock {
        get { box?.value.clock ?? .continuous }
        set { values.clock = newValue }
    }

    /// The randomness for jitter and sampling; seed it to repeat a test.
    public var random: RandomSource {
        get { box?.value.random ?? .system }
        set { values.random = newValue }
    }

    /// The randomness for secrets and identifiers.
    ///
    /// Seeding ``random`` does not affect it.
    public var secureRandom: SecureRandomSource {
        get { box?.value.secureRandom ?? .system }
        set { values.secureRandom = newValue }
    }

    /// The logger for components; swift-log's task-local logger by default.
    public var logger: Logger {
        get { box?.value.logger ?? .current }
        set { values.logger = newValue }
    }

    /// The level of ``logger``, which is read more often than the logger, without a copy of the logger.
    package var logLevel: Logger.Level {
        guard let box else { return Logger.current.logLevel }
        return box.value.logger?.logLevel ?? Logger.current.logLevel
    }

    /// Whether a logger was set.
    var hasLogger: Bool {
        box?.value.logger != nil
    }

    /// The moment, on ``clock``, at which everything upstream must be finished; `nil` if there is no deadline.
    ///
    /// `deadline` sets it.
    ///
    /// Work that several callers share, as with `deduplicated`, has the latest of their deadlines. It changes when
    /// callers join and leave, so read it each time you need it.
    public var deadline: Duration? {
        callDeadline?.current
    }

    /// Sets a deadline, unless an earlier one is set.
    ///
    /// - Parameter moment: The deadline, on ``clock``.
    public mutating func limit(to moment: Duration) {
        callDeadline = callDeadline?.limited(to: moment) ?? CallDeadline(at: moment)
    }

    /// Whether `throttled` and `rateLimited` apply to the requests that are sent in this environment.
    ///
    /// They do by default, and not to the requests of the operation of ``withoutThrottling(isolation:_:)``. A limiter
    /// of your own takes part by sending a request on at once if this or ``HTTPRequestData/isThrottled`` is `false`.
    public var isThrottled: Bool {
        get {
            guard let box else { return true }
            return !box.value.limitExemptions.contains { !$0.isOver } && box.value.isThrottled ?? true
        }
        set { (values.isThrottled, values.limitExemptions) = (newValue, []) }
    }

    /// Lets the requests that are sent in this environment pass limiters without waiting, until the end of a scope.
    package mutating func exemptFromLimits(during scope: EnvironmentScope) {
        values.limitExemptions.removeAll(where: \.isOver)
        values.limitExemptions.append(scope)
    }

    /// Starts work outside of the caller's span; `nil` if the caller has no span.
    package var spanExit: SpanExit? {
        get { box?.value.spanExit }
        set { values.spanExit = newValue }
    }

    /// A function that runs a closure outside of the caller's span.
    package typealias SpanExit = @Sendable (_ body: () -> Void) -> Void

    /// The value of a key, or its default.
    ///
    /// - Parameter key: The type that declares the value.
    public subscript<Key: NetworkEnvironmentKey>(key: Key.Type) -> Key.Value {
        @inlinable get { box?.value.custom.value(for: ObjectIdentifier(key), as: Key.Value.self) ?? key.defaultValue }
        set {
            let traits: ValueTraits = key.affectsResponses ? .affectsResponses : []
            values.custom.set(
                newValue,
                for: .type(key),
                identity: key.comparison(of: newValue),
                traits: key.isOfOneCall ? traits.union(.isTemporary) : traits
            )
        }
    }

    /// The values by which requests are compared before they share an exchange or a stored response.
    ///
    /// The clock, the randomness, the logger and values of one call do not count. ``isThrottled`` counts only for
    /// shared exchanges.
    public var identities: ValueIdentities {
        guard let box else { return ValueIdentities() }
        var identities = box.value.custom.identities
        if box.value.isThrottled == false {
            identities.add(Identity(false), of: .type(Throttling.self), affectsResponses: false)
        }
        return identities
    }

    /// The key of ``isThrottled`` in comparisons.
    private enum Throttling {}

    /// Whether the environment has values that belong to one call.
    var hasValuesOfOneCall: Bool {
        box?.value.custom.hasTemporaryValues ?? false
    }

    mutating func removeValuesOfOneCall() {
        values.custom.removeTemporaryValues()
    }

    /// Returns this environment with all values that another one sets.
    func merging(_ other: NetworkEnvironment) -> NetworkEnvironment {
        var merged = self
        if let set = other.box?.value {
            if box == nil {
                merged.box = other.box
            } else {
                merged.values.merge(set)
            }
            if let callDeadline, let clock = set.clock {
                // A moment has no meaning on another clock, but the remaining time does.
                merged.callDeadline = callDeadline.shifted(by: clock.now - self.clock.now)
            }
        }
        if let callDeadline = other.callDeadline {
            merged.callDeadline = callDeadline
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
        var spanExit: SpanExit?
        var isThrottled: Bool?
        /// The operations whose requests pass limiters without waiting.
        var limitExemptions: [EnvironmentScope] = []
        @usableFromInline var custom = TypedValues()

        mutating func merge(_ other: Values) {
            clock = other.clock ?? clock
            random = other.random ?? random
            secureRandom = other.secureRandom ?? secureRandom
            logger = other.logger ?? logger
            spanExit = other.spanExit ?? spanExit
            if other.isThrottled != nil || !other.limitExemptions.isEmpty {
                (isThrottled, limitExemptions) = (other.isThrottled, other.limitExemptions)
            }
            custom.merge(other.custom)
        }
    }
}

/// A value of the environment, declared by the component that reads it.
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
///
/// A part of the stack may read the value and change the request with it. Therefore `deduplicated` and `cached` use one
/// response for two requests only if the values are equal (``identity(of:)``).
public protocol NetworkEnvironmentKey {
    /// The type of the value.
    associatedtype Value: Sendable

    /// The value in an environment in which it has not been set.
    static var defaultValue: Value { get }

    /// Whether the value belongs to one call, such as its trace; `false` by default.
    ///
    /// Work that several calls share, or that outlives its call, has the default value in its place.
    static var isOfOneCall: Bool { get }

    /// Returns a value that represents the environment's value when requests are compared.
    ///
    /// Requests with different identities share no response. The default is the value itself if it is `Hashable`. For
    /// any other value the default is `nil`: requests then share a response only if they have the same object, or the
    /// value of the same `environment(_:_:)` modifier. Return a constant if the value affects neither requests nor
    /// responses.
    ///
    /// - Parameter value: The value that was set.
    /// - Returns: A value to compare, or `nil`.
    static func identity(of value: Value) -> (any Hashable & Sendable)?

    /// Whether the value affects responses; `true` by default.
    ///
    /// `deduplicated` also compares a value that affects only how requests are sent, such as the number of retries. A
    /// cache does not compare it.
    static var affectsResponses: Bool { get }
}

extension NetworkEnvironmentKey {
    /// `false`.
    public static var isOfOneCall: Bool {
        false
    }

    /// Returns `nil`, because the value cannot be compared.
    public static func identity(of value: Value) -> (any Hashable & Sendable)? {
        nil
    }

    /// `true`.
    public static var affectsResponses: Bool {
        true
    }

    /// Returns the representation of a value in comparisons; `nil` for the default and for a value of one call.
    fileprivate static func comparison(of value: Value) -> Identity? {
        isOfOneCall ? nil : Identity(of: value, unless: defaultValue) { identity(of: $0) }
    }
}

extension NetworkEnvironmentKey where Value: Hashable {
    /// Returns the value itself.
    public static func identity(of value: Value) -> (any Hashable & Sendable)? {
        value
    }
}

/// Runs an operation in an environment, without leaving the caller's executor.
///
/// The standard library's `withValue` alone would hop off and back, which costs 13 to 28 us from the main actor.
///
/// A deadline of the environment that is not the caller's (``NetworkEnvironment/limit(to:)``) ends with the operation.
/// A `Task` that the operation has started and that runs longer has no deadline from then on.
///
/// - Parameters:
///   - environment: The ``NetworkEnvironment/current`` environment during the operation.
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: The operation to run.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
@discardableResult
public func withEnvironment<Result>(
    _ environment: NetworkEnvironment,
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    // A task that has inherited a deadline must not prolong it.
    let deadline = environment.callDeadline.flatMap { $0 === NetworkEnvironment.current.callDeadline ? nil : $0 }
    deadline?.begin()
    defer { deadline?.end() }
    return try await NetworkEnvironment.$current.withValue(environment) {
        _ = isolation
        return try await operation()
    }
}
