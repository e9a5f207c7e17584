public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// A clock that only moves when a test advances it, and that tracks the tasks waiting on it.
///
/// ```swift
/// let clock = ManualClock()
/// let network = transport.delayed(by: .seconds(3)).environment(\.clock, .manual(clock))
///
/// async let response = network.data(request)
/// try await clock.waitForSleepers()      // the request has begun to wait
/// clock.advance(by: .seconds(3))
/// #expect(try await response.status == .ok)
/// ```
///
/// A test with this clock is deterministic: ``waitForSleepers(_:)`` returns as soon as the given number of waits are in
/// progress. A timeout counts as a wait until it fires or is cancelled. Use ``run(isolation:_:)`` in a test that does
/// not check when something happens.
public final class ManualClock: Clock {
    /// An instant of a ``ManualClock``.
    public struct Instant: InstantProtocol {
        /// The time since the clock's creation.
        public let offset: Duration

        /// Creates an instant.
        ///
        /// - Parameter offset: The time since the clock's creation.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// Returns the instant that is later by a duration.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// Returns the time from this instant to another.
        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Returns whether an instant is before another.
        public static func < (lhs: Instant, rhs: Instant) -> Bool {
            lhs.offset < rhs.offset
        }
    }

    private let start: Date
    private let state = Mutex(State())

    /// Creates a stopped clock.
    ///
    /// - Parameter start: The initial date.
    public init(start: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        self.start = start
    }

    /// The current instant.
    public var now: Instant {
        Instant(offset: state.withLock { $0.now })
    }

    /// Zero, because the clock distinguishes any two instants.
    public var minimumResolution: Duration {
        .zero
    }

    /// The current date: the start date plus the time that the clock was advanced by.
    public var date: Date {
        let (seconds, attoseconds) = state.withLock { $0.now }.components
        return start.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// The number of waits that have begun and not ended, including timeouts.
    public var sleepers: Int {
        state.withLock { $0.sleepers.count }
    }

    /// The end of the next wait; nil if nothing is waiting.
    public var nextDeadline: Instant? {
        state.withLock { $0.sleepers.first.map { Instant(offset: $0.deadline) } }
    }

    /// Waits until the clock is advanced to an instant.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled, even if the instant has passed, like the system's
    ///   clocks.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let wait = Suspension<Void>()
        let id = add(at: deadline.offset, isAlarm: false) { wait.resume() }
        try await wait.value(until: nil) { self.cancelAlarm(id) }
    }

    /// Waits until at least a number of waits have begun and not ended.
    ///
    /// A timeout counts as a wait from the moment its request is sent. If a test waits here forever, the clock's
    /// ``description`` lists the current waits.
    ///
    /// - Parameter count: The number of waits.
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func waitForSleepers(_ count: Int = 1) async throws {
        let wait = Suspension<Void>()
        let id = state.withLock { $0.waits.add(wait, until: count, current: $0.sleepers.count) }
        try await wait.value(until: nil) { self.state.withLock { $0.waits.remove(id) } }
    }

    /// Advances time and ends the waits that are due by then, earliest first.
    ///
    /// - Parameter duration: The duration to advance by.
    /// - Precondition: `duration` is not negative, because time cannot go backwards.
    public func advance(by duration: Duration) {
        precondition(
            duration >= .zero,
            "duration must not be negative (is \(duration)): the clock cannot go back. For an earlier date, create a "
                + "clock with ManualClock(start:)"
        )
        state.withLock { $0.advance(to: $0.now + duration) }.perform()
    }

    /// Advances time to a date and ends the waits that are due by then, earliest first.
    ///
    /// A `Date` is precise to a fraction of a microsecond. It is therefore rounded to a microsecond, and a date less
    /// than one microsecond before ``date`` counts as the current date.
    ///
    /// - Parameter date: The date.
    /// - Precondition: `date` is not before ``date``, because time cannot go backwards.
    public func advance(to date: Date) {
        let moment = Duration.microseconds((date.timeIntervalSince(start) * 1_000_000).rounded())
        let (now, effects) = state.withLock { state -> (Duration, Effects?) in
            guard moment > state.now - .microseconds(1) else { return (state.now, nil) }
            return (state.now, state.advance(to: max(moment, state.now)))
        }
        guard let effects else {
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            preconditionFailure(
                "date must not be before the date of the clock: \(date.formatted(format)) is \(now - moment) before "
                    + "\(self.date.formatted(format)), and the clock cannot go back. For an earlier date, create a "
                    + "clock with ManualClock(start:)"
            )
        }
        effects.perform()
    }

    /// Advances time to the end of the next wait or timeout and ends it; does nothing if nothing is waiting.
    public func advanceToNextDeadline() {
        state.withLock { state in
            state.advance(to: max(state.now, state.sleepers.first?.deadline ?? state.now))
        }
        .perform()
    }

    /// Runs an operation during which every sleep ends immediately and advances time to its end.
    ///
    /// Use it in a test that checks what happens after the waits. Timeouts do not fire during the operation, as on
    /// `NetworkClock.immediate()`: advance the clock to make one fire. Sleeps that began earlier also end.
    ///
    /// ```swift
    /// let response = try await clock.run { try await network.data(request) }   // with all back-offs of retry
    /// #expect(clock.now.offset == .seconds(7))
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's isolation; leave it to the compiler.
    ///   - operation: The operation to run.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func run<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        state.withLock { $0.beginRun() }.perform()
        defer { state.withLock { $0.runs -= 1 } }
        return try await operation()
    }

    /// Waits until a number of waits have begun, and then advances time.
    ///
    /// - Parameters:
    ///   - duration: The duration to advance by.
    ///   - count: The number of waits.
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func advance(by duration: Duration, afterSleepers count: Int) async throws {
        try await waitForSleepers(count)
        advance(by: duration)
    }
}

extension ManualClock {
    /// The actions to run after the lock is released.
    private typealias Effects = [@Sendable () -> Void]

    private func add(at deadline: Duration, isAlarm: Bool, _ wake: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, effects) = state.withLock { $0.add(at: deadline, isAlarm: isAlarm, wake) }
        effects.perform()
        return id
    }

    private struct State {
        struct Sleeper {
            let id: UInt64
            let deadline: Duration
            /// Whether it is a timeout and not a sleeping task.
            let isAlarm: Bool
            let wake: @Sendable () -> Void
        }

        var now = Duration.zero
        /// The number of active runs, during which time advances by itself.
        var runs = 0
        /// Earliest first; equal deadlines in the order of their arrival.
        var sleepers: [Sleeper] = []
        var waits = CountWaits()
        private var lastID: UInt64 = 0

        mutating func add(
            at deadline: Duration,
            isAlarm: Bool,
            _ wake: @escaping @Sendable () -> Void
        ) -> (UInt64, Effects) {
            lastID += 1
            // This uses the same lock as the start of a run: a run wakes earlier sleepers, and later ones find it here.
            if !isAlarm, runs > 0 { return (lastID, runOn(to: deadline) + [wake]) }
            guard deadline > now else { return (lastID, [wake]) }
            let index = sleepers.firstIndex { $0.deadline > deadline } ?? sleepers.count
            sleepers.insert(Sleeper(id: lastID, deadline: deadline, isAlarm: isAlarm, wake: wake), at: index)
            return (lastID, waits.takeReached(sleepers.count).map { wait in { wait.resume() } })
        }

        mutating func remove(_ id: UInt64) -> Sleeper? {
            sleepers.firstIndex { $0.id == id }.map { sleepers.remove(at: $0) }
        }

        mutating func advance(to moment: Duration) -> Effects {
            now = moment
            let due = sleepers.prefix { $0.deadline <= moment }
            sleepers.removeFirst(due.count)
            return due.map(\.wake)
        }

        /// Begins a run and returns the actions that wake all sleeping tasks.
        mutating func beginRun() -> Effects {
            runs += 1
            return sleepers.last { !$0.isAlarm }.map { runOn(to: $0.deadline) } ?? []
        }

        /// Advances time for a sleep during a run and returns the actions that wake due tasks.
        private mutating func runOn(to moment: Duration) -> Effects {
            now = max(now, moment)
            // A timeout may be set just after the work that it limits has begun, so firing it here would depend on
            // timing.
            let due = sleepers.filter { !$0.isAlarm && $0.deadline <= now }
            sleepers.removeAll { !$0.isAlarm && $0.deadline <= now }
            return due.map(\.wake)
        }
    }
}

extension [@Sendable () -> Void] {
    fileprivate func perform() {
        for action in self {
            action()
        }
    }
}

extension NetworkClock {
    /// A clock that a test advances.
    ///
    /// - Parameter clock: The clock.
    /// - Returns: A clock to set as a stack's `\.clock`.
    public static func manual(_ clock: ManualClock) -> NetworkClock {
        NetworkClock(engine: clock.engine)
    }
}

extension ManualClock: CustomStringConvertible {
    /// The time and the waits: `3.0 seconds; waiting: a task until 5.0 seconds, a timeout at 10.0 seconds`.
    public var description: String {
        let (now, sleepers) = state.withLock { ($0.now, $0.sleepers) }
        let waits = sleepers.map { ($0.isAlarm ? "a timeout at " : "a task until ") + "\($0.deadline)" }
        return "\(now); " + (waits.isEmpty ? "no waits" : "waiting: " + waits.joined(separator: ", "))
    }
}

extension ManualClock: AlarmOwner {
    package func cancelAlarm(_ id: UInt64) {
        // The action is released outside the lock, because its objects may cancel other alarms when they are released.
        _ = state.withLock { $0.remove(id) }
    }

    fileprivate var engine: some NetworkClockEngine {
        Engine(clock: self)
    }

    private final class Engine: NetworkClockEngine {
        let clock: ManualClock

        init(clock: ManualClock) {
            self.clock = clock
        }

        var now: Duration {
            clock.now.offset
        }

        var date: Date {
            clock.date
        }

        func sleep(until deadline: Duration, tolerance: Duration?) async throws {
            try await clock.sleep(until: Instant(offset: deadline), tolerance: tolerance)
        }

        func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
            Alarm(id: clock.add(at: deadline, isAlarm: true, action), owner: clock)
        }
    }
}
