/// The start and the end of a wait of a request.
@nonexhaustive
public enum WaitEvent: NetworkEvent {
    /// A request starts to wait. The duration is the maximum duration of the wait; `nil` if it is not known.
    case waiting(Wait, Duration?)
    /// The wait is over after this duration, because the request continues, fails or is cancelled.
    case waited(Wait, Duration)

    /// The record, without a mark, because metrics measure the duration of a wait.
    public var record: EventRecord {
        switch self {
        case .waiting(let wait, let duration):
            EventRecord("waiting", "\(wait)\(duration.map { ", \($0.roundedText)" } ?? "")", mark: nil) { _ in
                "waiting\(duration.map { " \($0.roundedText)" } ?? "") (\(wait))"
            }
        case .waited(let wait, let duration):
            EventRecord(
                "waited",
                "\(wait), \(duration.roundedText)",
                mark: nil,
                attributes: [
                    "networking.wait.reason": .word(wait.name),
                    "networking.wait.duration": .number(duration.inSeconds),
                ]
            ) { _ in
                // The line at the start of a timed wait already has the duration.
                wait.isTimed ? nil : "waited \(duration.roundedText) (\(wait))"
            }
        }
    }
}

/// The reason why a request waits.
///
/// Each modifier that waits declares its own, and so can a package of yours. `HTTPRequestData.wait(_:for:on:)` waits
/// and reports the wait to the listeners:
///
/// ```swift
/// extension Wait {
///     static let confirmation = Wait("confirmation")
///     static let courtesy = Wait("courtesy", isTimed: true)
/// }
///
/// try await request.wait(.courtesy, for: .seconds(1))
/// ```
///
/// Waits with equal names are the same wait.
public struct Wait: Sendable, Hashable, CustomStringConvertible {
    /// The name of the wait, one of a bounded set, so that it can label a metric.
    public let name: String
    /// Whether the wait always takes the duration that is reported at its start, so that a log needs no line for its
    /// end.
    public let isTimed: Bool

    /// Creates a reason to wait.
    ///
    /// - Parameters:
    ///   - name: The name, which is different from those of other waits.
    ///   - isTimed: Whether the wait always takes the duration that is reported at its start. A log then has no line
    ///     for its end.
    public init(_ name: String, isTimed: Bool = false) {
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
    /// Waits for a duration, and reports the start and the end of the wait to the listeners.
    ///
    /// ```swift
    /// extension Wait {
    ///     static let courtesy = Wait("courtesy", isTimed: true)
    /// }
    ///
    /// try await request.wait(.courtesy, for: .seconds(1))
    /// ```
    ///
    /// - Parameters:
    ///   - wait: The reason.
    ///   - duration: The duration.
    ///   - clock: The clock that measures it; by default, that of the environment.
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func wait(
        _ wait: Wait,
        for duration: Duration,
        on clock: NetworkClock = NetworkEnvironment.current.clock
    ) async throws {
        // Read before the wait is reported, because a listener may move a clock.
        let end = clock.now + duration
        try await waiting(wait, upTo: duration, on: clock) { try await clock.sleep(until: end) }
    }

    /// Waits for an operation, and reports the start and the end of the wait to the listeners.
    ///
    /// ```swift
    /// let permission = Wait("permission")
    /// try await request.waiting(permission) { try await Task.sleep(for: .seconds(1)) }
    /// ```
    ///
    /// Without listeners that need events, it only runs the operation. The end is also reported if the operation
    /// throws.
    ///
    /// - Parameters:
    ///   - wait: The reason.
    ///   - limit: The maximum duration of the wait, for the listeners; `nil` if it is not known. It does not end the
    ///     wait.
    ///   - clock: The clock that measures the wait; by default, that of the environment.
    ///   - operation: The operation, which runs on the caller's actor.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func waiting<Value>(
        _ wait: Wait,
        upTo limit: Duration? = nil,
        on clock: @autoclosure () -> NetworkClock = NetworkEnvironment.current.clock,
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async rethrows -> Value {
        guard hasListeners else { return try await operation() }
        let clock = clock()
        let start = clock.now
        emit(WaitEvent.waiting(wait, limit))
        // Also after an error, so that a listener that counts the waiting requests does not count this one any longer.
        defer { emit(WaitEvent.waited(wait, clock.now - start)) }
        return try await operation()
    }
}
