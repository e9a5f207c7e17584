public import Networking
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A clock that stands still until a test advances it, and knows who is waiting.
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
/// Nothing is left to luck: ``waitForSleepers(_:)`` returns exactly when so many waits have begun. Timeouts count as
/// waits; one that is called off no longer does. ``run(isolation:_:)`` is for the test that does not care when.
public final class ManualClock: Clock {
    /// A moment of a ``ManualClock``.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public let offset: Duration

        /// Creates a moment.
        ///
        /// - Parameter offset: The time since the clock was made.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// The moment that is so much later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// The time from this moment to another.
        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        /// Whether a moment comes before another.
        public static func < (lhs: Instant, rhs: Instant) -> Bool {
            lhs.offset < rhs.offset
        }
    }

    private let start: Date
    private let state = Mutex(State())

    /// Creates a clock that stands still.
    ///
    /// - Parameter start: The date at which it stands.
    public init(start: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
        self.start = start
    }

    /// The moment at which the clock stands.
    public var now: Instant {
        Instant(offset: state.withLock { $0.now })
    }

    /// Zero: any two moments are told apart.
    public var minimumResolution: Duration {
        .zero
    }

    /// The date: where it began, and how far it was advanced.
    public var date: Date {
        let (seconds, attoseconds) = state.withLock { $0.now }.components
        return start.addingTimeInterval(Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// How many waits have begun and not ended, timeouts among them.
    public var sleepers: Int {
        state.withLock { $0.sleepers.count }
    }

    /// When the next wait ends; nil when nobody waits.
    public var nextDeadline: Instant? {
        state.withLock { $0.sleepers.first.map { Instant(offset: $0.deadline) } }
    }

    /// Waits until the clock was advanced to a moment.
    ///
    /// - Throws: `CancellationError` when the caller is cancelled, even if the moment has passed, as the system's
    ///   clocks do.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let wait = Suspension<Void>()
        let id = add(at: deadline.offset, isAlarm: false) { wait.resume() }
        try await wait.value { self.cancelAlarm(id) }
    }

    /// Waits until at least so many waits have begun and not ended.
    ///
    /// Alarms count too: a timeout is one, from when its request is sent. Where a test waits here for ever, the clock's
    /// ``description`` says who waits and who does not.
    ///
    /// - Parameter count: How many.
    /// - Throws: `CancellationError` when the caller is cancelled.
    public func waitForSleepers(_ count: Int = 1) async throws {
        let wait = Suspension<Void>()
        let id = state.withLock { $0.waits.add(wait, until: count, current: $0.sleepers.count) }
        try await wait.value { self.state.withLock { $0.waits.remove(id) } }
    }

    /// Moves time on, and ends the waits that are over by then, earliest first.
    ///
    /// - Parameter duration: How far.
    /// - Precondition: `duration` is not negative: time does not go back.
    public func advance(by duration: Duration) {
        precondition(
            duration >= .zero,
            "duration must not be negative (is \(duration)): time does not go back. For an earlier date make a clock that "
                + "begins there: ManualClock(start:)"
        )
        state.withLock { $0.advance(to: $0.now + duration) }.perform()
    }

    /// Moves time on to a date, and ends the waits that are over by then, earliest first.
    ///
    /// A `Date` is exact to a fraction of a microsecond, so it is taken to the microsecond, and one that is less than
    /// that before ``date`` is now.
    ///
    /// - Parameter date: The date.
    /// - Precondition: `date` is not before ``date``: time does not go back.
    public func advance(to date: Date) {
        let moment = Duration.microseconds((date.timeIntervalSince(start) * 1_000_000).rounded())
        let (now, effects) = state.withLock { state -> (Duration, Effects?) in
            guard moment > state.now - .microseconds(1) else { return (state.now, nil) }
            return (state.now, state.advance(to: max(moment, state.now)))
        }
        guard let effects else {
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            preconditionFailure(
                "date must not be before the clock's: \(date.formatted(format)) is \(now - moment) before "
                    + "\(self.date.formatted(format)), where the clock stands, and time does not go back. For an earlier "
                    + "date make a clock that begins there: ManualClock(start:)"
            )
        }
        effects.perform()
    }

    /// Moves time on to the end of the next wait; does nothing when nobody waits.
    public func advanceToNextDeadline() {
        state.withLock { state in
            state.advance(to: max(state.now, state.sleepers.first?.deadline ?? state.now))
        }
        .perform()
    }

    /// Runs an operation whose sleeps are over at once, each moving time on to its end: for the test that wants to see
    /// what comes after the waits.
    ///
    /// Timeouts do not ring meanwhile, as on ``Networking/NetworkClock/immediate()``: advance the clock to see one
    /// ring. Sleeps that had begun before are over too.
    ///
    /// ```swift
    /// let response = try await clock.run { try await network.data(request) }   // with all back-offs of retry
    /// #expect(clock.now.offset == .seconds(7))
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's isolation; leave it to the compiler.
    ///   - operation: What to run.
    /// - Returns: What the operation returns.
    /// - Throws: What the operation throws.
    public func run<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        state.withLock { $0.beginRun() }.perform()
        defer { state.withLock { $0.runs -= 1 } }
        return try await operation()
    }

    /// Waits until so many waits have begun, and then moves time on.
    ///
    /// - Parameters:
    ///   - duration: How far.
    ///   - count: How many waits.
    /// - Throws: `CancellationError` when the caller is cancelled.
    public func advance(by duration: Duration, afterSleepers count: Int) async throws {
        try await waitForSleepers(count)
        advance(by: duration)
    }
}

extension ManualClock {
    /// What to do once the lock is released.
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
            /// A timeout, rather than a task that sleeps.
            let isAlarm: Bool
            let wake: @Sendable () -> Void
        }

        var now = Duration.zero
        /// How many run with time moving by itself.
        var runs = 0
        /// Earliest first; equal deadlines in the order in which they came.
        var sleepers: [Sleeper] = []
        var waits = CountWaits()
        private var lastID: UInt64 = 0

        mutating func add(
            at deadline: Duration,
            isAlarm: Bool,
            _ wake: @escaping @Sendable () -> Void
        ) -> (UInt64, Effects) {
            lastID += 1
            // Under the lock under which a run begins: it wakes who sleeps by then, and who comes later is seen here.
            if !isAlarm, runs > 0 { return (lastID, runOn(to: deadline) + [wake]) }
            guard deadline > now else { return (lastID, [wake]) }
            let index = sleepers.firstIndex { $0.deadline > deadline } ?? sleepers.count
            sleepers.insert(Sleeper(id: lastID, deadline: deadline, isAlarm: isAlarm, wake: wake), at: index)
            return (lastID, waits.takeReached(sleepers.count).map { wait in { wait.resume() } })
        }

        mutating func remove(_ id: UInt64) {
            sleepers.removeAll { $0.id == id }
        }

        mutating func advance(to moment: Duration) -> Effects {
            now = moment
            let due = sleepers.prefix { $0.deadline <= moment }
            sleepers.removeFirst(due.count)
            return due.map(\.wake)
        }

        /// Begins to run, and answers whom to wake: all that sleep.
        mutating func beginRun() -> Effects {
            runs += 1
            return sleepers.last { !$0.isAlarm }.map { runOn(to: $0.deadline) } ?? []
        }

        /// Moves time on for a sleep during a run, and answers whom to wake.
        private mutating func runOn(to moment: Duration) -> Effects {
            now = max(now, moment)
            // A timeout may be set a moment after the work that it limits has begun: to ring it here would be luck.
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
    /// - Returns: What to set as a stack's `\.clock`.
    public static func manual(_ clock: ManualClock) -> NetworkClock {
        NetworkClock(engine: clock.engine)
    }
}

extension ManualClock: CustomStringConvertible {
    /// Where it stands and who waits: `3.0 seconds; waiting: a task until 5.0 seconds, a timeout at 10.0 seconds`.
    public var description: String {
        let (now, sleepers) = state.withLock { ($0.now, $0.sleepers) }
        let waits = sleepers.map { ($0.isAlarm ? "a timeout at " : "a task until ") + "\($0.deadline)" }
        return "\(now); " + (waits.isEmpty ? "nobody waits" : "waiting: " + waits.joined(separator: ", "))
    }
}

extension ManualClock: AlarmOwner {
    package func cancelAlarm(_ id: UInt64) {
        state.withLock { $0.remove(id) }
    }

    fileprivate var engine: some NetworkClockEngine {
        Engine(clock: self)
    }

    private struct Engine: NetworkClockEngine {
        let clock: ManualClock

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
