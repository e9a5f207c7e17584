#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Time as a stack sees it: a monotonic now, a way to wait, and the date.
///
/// Instants are durations since a fixed moment in the past, so clocks of any type fit into one value:
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

    /// Creates a clock from one of another kind, for example a suspending clock or another library's test clock.
    ///
    /// - Parameters:
    ///   - clock: The clock that tells what now is and waits.
    ///   - date: Tells the date; the system's by default.
    public init<Source: Clock<Duration>>(_ clock: Source, date: @escaping @Sendable () -> Date = { Date() }) {
        self.init(engine: ClockEngine(clock, date: date))
    }

    /// The system's clock, which goes on while the machine sleeps.
    public static let continuous = NetworkClock(ContinuousClock())

    /// What now is, as the time since a fixed moment; it never goes back.
    public var now: Duration {
        engine.now
    }

    /// The same in nanoseconds, for who asks often.
    package var nanoseconds: Int64 {
        engine.nanoseconds
    }

    /// Whether it is the system's, which can be asked without it.
    package var isSystem: Bool {
        engine.isSystem
    }

    /// The date, which may jump.
    public var date: Date {
        engine.date
    }

    /// Waits until a moment.
    ///
    /// - Parameters:
    ///   - deadline: The moment, in the terms of ``now``; one that has passed returns at once.
    ///   - tolerance: How much later it may be; nil leaves that to the clock.
    /// - Throws: `CancellationError` as soon as the caller is cancelled.
    public func sleep(until deadline: Duration, tolerance: Duration? = nil) async throws {
        try await engine.sleep(until: deadline, tolerance: tolerance)
    }

    /// Waits for a while.
    ///
    /// - Parameters:
    ///   - duration: How long; zero or less returns at once.
    ///   - tolerance: How much longer it may be; nil leaves that to the clock.
    /// - Throws: `CancellationError` as soon as the caller is cancelled.
    public func sleep(for duration: Duration, tolerance: Duration? = nil) async throws {
        try await engine.sleep(until: now + duration, tolerance: tolerance)
    }

    /// Has something done at a moment, unless it is called off before.
    ///
    /// It runs on a thread of the clock's.
    package func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        engine.alarm(at: deadline, action)
    }
}

/// What a ``NetworkClock`` is made of.
package protocol NetworkClockEngine: Sendable {
    var now: Duration { get }
    var nanoseconds: Int64 { get }
    var isSystem: Bool { get }
    var date: Date { get }
    func sleep(until deadline: Duration, tolerance: Duration?) async throws
    func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm
}

extension NetworkClockEngine {
    package var nanoseconds: Int64 {
        now.nanoseconds
    }

    package var isSystem: Bool {
        false
    }
}

extension Duration {
    /// Its whole nanoseconds, up to what they can tell: 292 years.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}

/// Something that will be done at a moment.
package struct Alarm: Sendable {
    private let owner: any AlarmOwner
    private let id: UInt64

    package init(id: UInt64, owner: any AlarmOwner) {
        self.id = id
        self.owner = owner
    }

    /// Calls it off; does nothing when it is too late.
    package func cancel() {
        owner.cancelAlarm(id)
    }
}

/// What keeps alarms.
package protocol AlarmOwner: AnyObject, Sendable {
    func cancelAlarm(_ id: UInt64)
}

/// The engine of a clock that the standard library knows.
private struct ClockEngine<Source: Clock<Duration>>: NetworkClockEngine {
    let clock: Source
    let epoch: Source.Instant
    let currentDate: @Sendable () -> Date
    let alarms: AlarmHeap

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
        epoch.duration(to: clock.now)
    }

    var isSystem: Bool {
        Source.self == ContinuousClock.self
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
    /// A century: the system's clock traps on moments that its nanoseconds cannot tell, and who waits for
    /// `.seconds(Int64.max)` means for ever.
    fileprivate static let farthest = Duration.seconds(100 * 365 * 86_400)
}
