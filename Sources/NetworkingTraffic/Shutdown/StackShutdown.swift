import NetworkingCore
import Synchronization

/// The end of one or more stacks: it refuses new calls, waits for the calls in flight, and closes the transports.
///
/// ```swift
/// let shutdown = StackShutdown(within: .seconds(20))
/// let network = AsyncHTTPClientTransport().retry().drained(by: shutdown)
/// // … at the end of the program:
/// let report = try await shutdown.drain()
/// print(report)   // 12 completed, 1 cancelled
/// ```
///
/// Share one instance between stacks to end them together. A shutdown is final: the stacks accept no call afterwards.
///
/// With the trait `ServiceLifecycle`, it is a `Service` of swift-service-lifecycle, which drains on a graceful
/// shutdown.
public final class StackShutdown: Sendable {
    /// The requests that a place in a stack counts.
    public enum Work: Sendable, Hashable {
        /// The requests of callers.
        ///
        /// They are refused as soon as the shutdown starts.
        case calls
        /// The requests that the stack sends without a caller, such as revalidations and refreshed tokens.
        ///
        /// They are admitted until the calls in flight have ended, because such a call may depend on them.
        case background
    }

    /// The result of a shutdown.
    public struct Report: Sendable, CustomStringConvertible {
        /// The number of requests that ended by themselves after the start of the shutdown.
        public fileprivate(set) var completed = 0
        /// The number of requests that the shutdown cancelled.
        public fileprivate(set) var cancelled = 0
        /// The number of cancelled requests that had not ended five seconds later.
        ///
        /// It is zero if every part of the stack ends when it is cancelled.
        public fileprivate(set) var unfinished = 0
        /// The errors of the transports, and of the closure of the initializer.
        public fileprivate(set) var failures: [any Error] = []

        /// The numbers: `12 completed, 1 cancelled`.
        public var description: String {
            "\(completed) completed, \(cancelled) cancelled" + (unfinished == 0 ? "" : ", \(unfinished) unfinished")
                + (failures.isEmpty ? "" : ", \(failures.count) failures")
        }
    }

    /// The time in which cancelled calls and closing transports have to end.
    private static let grace = Duration.seconds(5)

    let limit: Duration
    /// The permit by which a request that is counted further out passes.
    let held = HeldLimits()
    private let close: @Sendable () async throws -> Void
    private let state = Mutex(State())

    /// Creates a shutdown.
    ///
    /// - Parameters:
    ///   - limit: The maximum time that the calls in flight have to end by themselves; zero cancels them at once.
    ///   - close: Closes what the stacks use and do not own, such as a client of the app or a database. It is called
    ///     once, after the transports are closed, and is cancelled after five seconds. The shutdown does not wait
    ///     longer for it.
    /// - Precondition: `limit` is not negative.
    public init(within limit: Duration = .seconds(30), closing close: @escaping @Sendable () async throws -> Void = {})
    {
        precondition(limit >= .zero, "limit must not be negative (is \(limit))")
        self.limit = limit
        self.close = close
    }

    /// The number of requests that are counted now.
    public var inFlight: Int {
        state.withLock { $0.places.count }
    }

    /// Whether the shutdown has started, so that calls are refused.
    public var isStarted: Bool {
        state.withLock { $0.phase != .open }
    }

    /// Refuses new calls, waits for the calls in flight up to the limit, cancels the others, and closes the transports.
    ///
    /// Beyond the limit, it waits at most five seconds for the cancelled calls, then five for each transport, and five
    /// for the closure of the initializer. What takes longer is cancelled, left alone and reported.
    ///
    /// The time is measured on the clock of the current environment. Any number of tasks may call this, also
    /// afterwards: all of them get the report of the one shutdown. A cancelled caller gets `CancellationError` at once.
    /// If no other caller is waiting, the shutdown continues without it, and cancels the calls in flight at once.
    ///
    /// - Returns: The report.
    /// - Throws: `CancellationError` if the caller is cancelled.
    @discardableResult
    public func drain() async throws -> Report {
        let wait = Suspension<Report>()
        // Each time begins before other code can see its reason, because that code may move a clock.
        let start = NetworkEnvironment.current.clock.now
        switch state.withLock({ $0.join(wait) }) {
        case .over(let report): return report
        case .joined: break
        // The shutdown belongs to no caller, because it has to close the transports even if all callers are cancelled.
        case .started: _ = OwnedTask.immediate { [self] in await finish(since: start) }
        }
        return try await wait.value(until: nil) { [self] in
            state.withLock { $0.leave(wait) }?.resume()
        }
    }

    private func finish(since start: Duration) async {
        let clock = NetworkEnvironment.current.clock
        if let idle = state.withLock({ $0.waitUntilIdle(unlessHurried: true) }) {
            await idle.value(until: start + limit.bounded, on: clock)
        }
        let end = clock.now + Self.grace
        for task in state.withLock({ $0.cancelRest() }) {
            task.cancel()
        }
        if let idle = state.withLock({ $0.waitUntilIdle(unlessHurried: false) }) {
            await idle.value(until: end, on: clock)
        }
        var failures: [any Error] = []
        for transport in state.withLock({ $0.transports.compactMap(\.transport) }) {
            failures += await failure(on: clock) { try await transport.shutdown() }
        }
        failures += await failure(on: clock, of: close)
        let (waits, report) = state.withLock { $0.complete(failures) }
        for wait in waits {
            wait.resume(with: .success(report))
        }
    }

    /// Returns the error of an operation, which is cancelled and left alone after the grace period.
    private func failure(
        on clock: NetworkClock,
        of operation: @escaping @Sendable () async throws -> Void
    ) async -> [any Error] {
        let end = Suspension<Void>()
        let deadline = WaitDeadline<Void>(clock.now + Self.grace, on: clock, with: .failure(NotClosed()))
        // A separate task, because code of others may not end when it is cancelled.
        let task = OwnedTask<Void>
            .immediate {
                do {
                    try await operation()
                    end.resume(with: .success(()))
                } catch {
                    end.resume(with: .failure(error))
                }
            }
        do {
            try await end.value(until: nil, or: deadline)
            return []
        } catch {
            task.cancel()
            return [error]
        }
    }

    /// A transport or the closure of the initializer has exceeded the grace period.
    private struct NotClosed: Error, CustomStringConvertible {
        var description: String {
            "A transport or the closure of the shutdown was not closed within \(StackShutdown.grace.roundedText)."
        }
    }
}

// MARK: - The requests

extension StackShutdown {
    /// Adds transports to shut down, which the shutdown does not retain.
    func add(_ transports: [any ClosableTransport]) {
        state.withLock { $0.add(transports) }
    }

    /// Returns a place for a request; `nil` if it is refused.
    func admit(_ work: Work) -> UInt64? {
        state.withLock { $0.admit(work) }
    }

    /// Passes the task of an admitted request, which the shutdown may cancel.
    func start(_ task: OwnedTask<HTTPResponseData>, at place: UInt64) {
        if state.withLock({ $0.start(task, at: place) }) {
            task.cancel()
        }
    }

    /// Ends a request.
    ///
    /// - Returns: Whether the shutdown has cancelled it.
    func end(_ place: UInt64) -> Bool {
        let (idle, isCancelled) = state.withLock { $0.end(place) }
        idle?.resume()
        return isCancelled
    }
}

extension StackShutdown {
    private enum Joined {
        /// The caller is the first one, and starts the shutdown.
        case started
        case joined
        case over(Report)
    }

    private struct WeakTransport: Sendable {
        weak var transport: (any ClosableTransport)?
    }

    private struct State {
        enum Phase {
            case open
            /// Calls are refused.
            case draining
            /// All requests are refused, and those in flight are cancelled.
            case closing
            case closed
        }

        private(set) var phase = Phase.open
        /// The requests in flight, each with its task once that has started.
        private(set) var places: [UInt64: OwnedTask<HTTPResponseData>?] = [:]
        private(set) var transports: [WeakTransport] = []
        private var lastPlace: UInt64 = 0
        private var report = Report()
        private var callers: [ObjectIdentifier: Suspension<Report>] = [:]
        /// All callers were cancelled.
        private var isHurried = false
        /// The wait for the end of the last request.
        private var idle: Suspension<Void>?

        mutating func add(_ new: [any ClosableTransport]) {
            transports.removeAll { $0.transport == nil }
            for transport in new where !transports.contains(where: { $0.transport === transport }) {
                transports.append(WeakTransport(transport: transport))
            }
        }

        mutating func admit(_ work: Work) -> UInt64? {
            guard phase == .open || phase == .draining && work == .background else { return nil }
            lastPlace += 1
            places[lastPlace] = .some(nil)
            return lastPlace
        }

        /// Returns whether to cancel the task.
        mutating func start(_ task: OwnedTask<HTTPResponseData>, at place: UInt64) -> Bool {
            places[place] = task
            return phase == .closing || phase == .closed
        }

        /// Returns the wait that ends with the last request, and whether the request was cancelled.
        mutating func end(_ place: UInt64) -> (Suspension<Void>?, isCancelled: Bool) {
            places[place] = nil
            if phase == .draining {
                report.completed += 1
            }
            return (places.isEmpty ? idle : nil, phase == .closing || phase == .closed)
        }

        mutating func join(_ wait: Suspension<Report>) -> Joined {
            if phase == .closed { return .over(report) }
            callers[ObjectIdentifier(wait)] = wait
            guard phase == .open else { return .joined }
            phase = .draining
            return .started
        }

        /// Returns the wait to end, if no caller is left.
        mutating func leave(_ wait: Suspension<Report>) -> Suspension<Void>? {
            callers[ObjectIdentifier(wait)] = nil
            guard callers.isEmpty, phase == .draining else { return nil }
            isHurried = true
            return idle
        }

        /// Returns a wait for the end of the last request; `nil` if there is nothing to wait for.
        mutating func waitUntilIdle(unlessHurried: Bool) -> Suspension<Void>? {
            guard !places.isEmpty, !(unlessHurried && isHurried) else { return nil }
            let wait = Suspension<Void>()
            idle = wait
            return wait
        }

        /// Refuses all requests, and returns the tasks of those in flight.
        mutating func cancelRest() -> [OwnedTask<HTTPResponseData>] {
            phase = .closing
            report.cancelled = places.count
            return places.values.compactMap { $0 }
        }

        mutating func complete(_ failures: [any Error]) -> ([Suspension<Report>], Report) {
            phase = .closed
            report.unfinished = places.count
            report.failures = failures
            defer { callers = [:] }
            return (Array(callers.values), report)
        }
    }
}

extension Suspension where Value == Void {
    /// Waits until it is resumed, or until a moment of a clock.
    fileprivate func value(until end: Duration, on clock: NetworkClock) async {
        try? await value(until: nil, or: WaitDeadline(end, on: clock, with: .success(())))
    }
}
