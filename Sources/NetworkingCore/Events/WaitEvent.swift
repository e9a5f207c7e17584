/// The start and the end of a wait of a request.
@nonexhaustive
public enum WaitEvent: NetworkEvent {
    /// A request starts to wait. The duration is the longest that the wait can take, if that is known.
    case waiting(Wait, Duration?)
    /// The wait is over after this duration, because the request continues, fails or is cancelled.
    case waited(Wait, Duration)

    /// The event: `waiting(backoff, 0.2 seconds)`.
    public var description: String {
        switch self {
        case .waiting(let wait, let duration): "waiting(\(wait)\(duration.map { ", \($0)" } ?? ""))"
        case .waited(let wait, let duration): "waited(\(wait), \(duration))"
        }
    }
}

/// The reason why a request waits.
///
/// Each modifier that waits declares its own. So can a package of yours:
///
/// ```swift
/// extension Wait {
///     static let confirmation = Wait("confirmation")
/// }
/// ```
///
/// Waits with equal names are the same wait.
public struct Wait: Sendable, Hashable, CustomStringConvertible {
    /// The name of the wait, one of a bounded set, so that it can label a metric.
    public let name: String
    /// Whether the wait lasts as long as it announces at its start, so that a log needs no line at its end.
    package let isTimed: Bool

    /// Creates a reason to wait.
    ///
    /// - Parameter name: The name, which is different from those of other waits.
    public init(_ name: String) {
        self.init(name, isTimed: false)
    }

    package init(_ name: String, isTimed: Bool) {
        self.name = name
        self.isTimed = isTimed
    }

    /// `whenOffline` or `retry` waits for a network.
    public static let connectivity = Wait("connectivity")

    /// The name.
    public var description: String {
        name
    }

    /// Compares the names.
    public static func == (lhs: Wait, rhs: Wait) -> Bool {
        lhs.name == rhs.name
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension HTTPRequestData {
    /// Waits for a duration, and reports the wait to the listeners.
    package func wait(_ wait: Wait, for duration: Duration, on clock: NetworkClock) async throws {
        try await waiting(wait, upTo: duration, on: clock) { try await clock.sleep(for: duration) }
    }

    /// Waits for an operation, and reports the wait to the listeners.
    package func waiting<Value>(
        _ wait: Wait,
        upTo limit: Duration? = nil,
        on clock: @autoclosure () -> NetworkClock,
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async rethrows -> Value {
        guard hasListeners else { return try await operation() }
        let clock = clock()
        emit(WaitEvent.waiting(wait, limit))
        let start = clock.now
        // Also after an error, so that a listener that counts the waiting requests does not count this one any longer.
        defer { emit(WaitEvent.waited(wait, clock.now - start)) }
        return try await operation()
    }
}
