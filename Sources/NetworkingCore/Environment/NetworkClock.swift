public import FoundationForNetworking

/// A clock for a stack: a monotonic time, a way to sleep, and the date.
///
/// Instants are durations since a fixed moment in the past, so that clocks of any type fit into one value:
///
/// ```swift
/// let clock = NetworkEnvironment.current.clock
/// try await clock.sleep(until: clock.now + .seconds(3))
/// ```
public struct NetworkClock: Sendable {
    private let engine: any NetworkClockEngine

    package init(engine: some NetworkClockEngine) {
        self.engine = engine
    }

    /// Creates a clock from another one, for example a suspending clock or the test clock of another library.
    ///
    /// - Parameters:
    ///   - clock: The clock for the monotonic time and for sleeping.
    ///   - date: Returns the date; the system's by default.
    public init<Source: Clock<Duration>>(_ clock: Source, date: @escaping @Sendable () -> Date = { Date() }) {
        self.init(engine: ClockEngine(clock, date: date))
    }

    /// The system's clock, which continues while the machine sleeps.
    public static let continuous = NetworkClock(ContinuousClock())

    /// The current time, as the time since a fixed moment; it never decreases.
    public var now: Duration {
        engine.now
    }

    /// The current time in nanoseconds, for code that reads it often.
    package var nanoseconds: Int64 {
        engine.nanoseconds
    }

    /// Whether this is the system's clock, which can be read directly.
    package var isSystem: Bool {
        engine is ClockEngine<ContinuousClock>
    }

    /// The identity of the clock, for comparisons that copy no clock.
    package var id: ObjectIdentifier {
        ObjectIdentifier(engine)
    }

    /// Whether two values are the same clock, so that their moments can be compared.
    package static func === (lhs: NetworkClock, rhs: NetworkClock) -> Bool {
        lhs.engine === rhs.engine
    }

    /// Whether two values are different clocks.
    package static func !== (lhs: NetworkClock, rhs: NetworkClock) -> Bool {
        lhs.engine !== rhs.engine
    }

    /// The current date, which may jump.
    public var date: Date {
        engine.date
    }

    /// Sleeps until a moment.
    ///
    /// - Parameters:
    ///   - deadline: The moment, on the scale of ``now``; the call returns at once if it has passed.
    ///   - tolerance: The maximum delay after the deadline; `nil` leaves it to the clock.
    /// - Throws: `CancellationError` as soon as the caller is cancelled.
    public func sleep(until deadline: Duration, tolerance: Duration? = nil) async throws {
        try await engine.sleep(until: deadline, tolerance: tolerance)
    }

    /// Sleeps for a duration.
    ///
    /// - Parameters:
    ///   - duration: The duration; the call returns at once if it is zero or less.
    ///   - tolerance: The maximum additional delay; `nil` leaves it to the clock.
    /// - Throws: `CancellationError` as soon as the caller is cancelled.
    public func sleep(for duration: Duration, tolerance: Duration? = nil) async throws {
        try await engine.sleep(until: now + duration, tolerance: tolerance)
    }

    /// Runs an action at a moment, unless the alarm is cancelled before.
    ///
    /// ```swift
    /// let clock = NetworkEnvironment.current.clock
    /// let alarm = clock.alarm(at: clock.now + .seconds(5)) { print("five seconds are over") }
    /// defer { alarm.cancel() }
    /// ```
    ///
    /// - Parameters:
    ///   - deadline: The moment, on this clock.
    ///   - action: Runs on a thread of the clock. It should not block. If it does, it delays the other alarms of the
    ///     clock by a few milliseconds.
    /// - Returns: The alarm.
    public func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        engine.alarm(at: deadline, action)
    }
}

/// The implementation of a ``NetworkClock``.
///
/// A class, because each modifier that measures time copies the clock.
package protocol NetworkClockEngine: AnyObject, Sendable {
    var now: Duration { get }
    var nanoseconds: Int64 { get }
    var date: Date { get }
    func sleep(until deadline: Duration, tolerance: Duration?) async throws
    func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm
}

extension NetworkClockEngine {
    package var nanoseconds: Int64 {
        now.nanoseconds
    }
}

extension Duration {
    /// The duration in whole nanoseconds, limited to the range of the type: 292 years.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}

/// An action that runs at a moment of a ``NetworkClock``, unless it is cancelled before.
public struct Alarm: Sendable {
    private let owner: any AlarmOwner
    private let id: UInt64

    package init(id: UInt64, owner: any AlarmOwner) {
        self.id = id
        self.owner = owner
    }

    /// Cancels the alarm; does nothing if its action has already started.
    public func cancel() {
        owner.cancelAlarm(id)
    }
}

/// An object that stores alarms.
package protocol AlarmOwner: AnyObject, Sendable {
    func cancelAlarm(_ id: UInt64)
}

/// The implementation for a clock of the standard library.
private final class ClockEngine<Source: Clock<Duration>>: NetworkClockEngine {
    private let isSystem = Source.self == ContinuousClock.self
    private let clock: Source
    /// The start in nanoseconds, if this is the system's clock.
    // Read before `epoch`, so that the time is not behind that of the clock on which `sleep(until:tolerance:)` waits.
    private let start = SystemTime.nanoseconds
    private let epoch: Source.Instant
    private let currentDate: @Sendable () -> Date
    private let alarms: AlarmHeap

    init(_ clock: Source, date: @escaping @Sendable () -> Date) {
        let epoch = clock.now
        self.clock = clock
        self.epoch = epoch
        currentDate = date
        alarms = AlarmHeap(
            now: { epoch.duration(to: clock.now) },
            sleep: { try await clock.sleep(until: epoch.advanced(by: min($0, .farthest)), tolerance: nil) }
        )
    }

    var now: Duration {
        isSystem ? .nanoseconds(SystemTime.nanoseconds - start) : epoch.duration(to: clock.now)
    }

    var nanoseconds: Int64 {
        isSystem ? SystemTime.nanoseconds - start : now.nanoseconds
    }

    var date: Date {
        currentDate()
    }

    func sleep(until deadline: Duration, tolerance: Duration?) async throws {
        try await clock.sleep(until: epoch.advanced(by: min(deadline, .farthest)), tolerance: tolerance)
    }

    func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        alarms.set(at: deadline, action)
    }
}

extension Duration {
    /// A century, because the system's clock traps on moments outside the range of its nanoseconds.
    ///
    /// A caller that sleeps for `.seconds(Int64.max)` intends to sleep forever.
    static let farthest = Duration.seconds(100 * 365 * 86_400)

    /// The duration, shortened to a century in either direction, so that it can be added to any moment of a clock.
    ///
    /// Decoded durations may be longer than any number of seconds.
    package var bounded: Duration {
        min(max(self, .zero - .farthest), .farthest)
    }
}
