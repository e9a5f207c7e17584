import HTTPTypes
import NetworkingCore
import Synchronization

/// A ``SimulatedServer`` in a running simulation.
final class ServerModel: Sendable {
    typealias Reply = Suspension<HTTPResponse.Status>

    private let clock: SimulationClock
    private let random: RandomSource
    private let state: Mutex<State>

    init(_ server: SimulatedServer, on clock: SimulationClock, random: RandomSource) {
        self.clock = clock
        self.random = random
        state = Mutex(State(server))
        for (time, change) in server.changes {
            _ = clock.alarm(at: time.bounded) { [self] in
                update { change(&$0.server) }
            }
        }
    }

    /// Processes a request, and resumes the reply at the end.
    func process(_ request: HTTPRequestData, replyingTo reply: Reply) {
        let (server, random) = (state.withLock { $0.server }, random)
        let half = server.roundTrip.draw(from: random) / 2
        let service = server.serviceTime.draw(from: random)
        let chance = random.fraction()
        after(half) { [self] in
            let failure = state.withLock { $0.server.failure }.flatMap { chance < $0.share ? $0.effect : nil }
            switch failure {
            case .hang:
                break
            case .status(let status):
                after(half) { reply.resume(with: .success(status)) }
            case .error(let kind):
                let error = NetworkingError(kind, request: request)
                after(half) { reply.resume(with: .failure(error)) }
            case nil:
                let job = Job(service: service, half: half, reply: reply)
                if !update({ $0.enter(job) }) {
                    after(half) { reply.resume(with: .success(.serviceUnavailable)) }
                }
            }
        }
    }

    /// Runs an action after a time, or at once.
    private func after(_ time: Duration, _ action: @escaping @Sendable () -> Void) {
        guard time > .zero else { return action() }
        _ = clock.alarm(at: clock.now + time, action)
    }

    /// Changes the state, sends the replies that are complete, and sets the alarm for the next one.
    @discardableResult
    private func update<Result: Sendable>(_ change: @Sendable (inout State) -> Result) -> Result {
        let now = clock.now
        let (result, done, obsolete) = state.withLock { state in
            var done = state.advance(to: now)
            let result = change(&state)
            done += state.advance(to: now)
            return (
                result, done, state.setAlarm { next in clock.alarm(at: next) { [weak self] in self?.update { _ in } } }
            )
        }
        obsolete?.cancel()
        for job in done {
            after(job.half) { job.reply.resume(with: .success(.ok)) }
        }
        return result
    }

    private struct Job: Sendable {
        let service: Duration
        /// The time of the way back.
        let half: Duration
        let reply: Reply
    }

    private struct State {
        var server: SimulatedServer
        /// The alarm for the end of the next request.
        private var alarm: (alarm: Alarm, time: Duration)?
        private var queue: Queue<Job> = []
        private var active = Heap<Active>()
        private var lastNumber = 0
        private var now = Duration.zero
        /// The work that each request has received since the start, if the capacity is shared; the time otherwise.
        private var progress = Duration.zero

        /// A request that is processed, until the progress reaches its end.
        private struct Active: Comparable {
            let end: Duration
            let number: Int
            let job: Job

            static func < (lhs: Active, rhs: Active) -> Bool {
                (lhs.end, lhs.number) < (rhs.end, rhs.number)
            }

            static func == (lhs: Active, rhs: Active) -> Bool {
                lhs.number == rhs.number
            }
        }

        init(_ server: SimulatedServer) {
            self.server = server
        }

        /// The share of full speed at which each active request is processed.
        private var speed: Double {
            guard server.workers > 0 else { return 0 }
            guard server.discipline == .sharing, active.count > server.workers else { return 1 }
            return Double(server.workers) / Double(active.count)
        }

        /// The moment at which the next request is complete; `nil` if there is none, or nothing is processed.
        private var nextEnd: Duration? {
            guard let first = active.min, speed > 0 else { return nil }
            // Rounded up, so that the request is complete at that moment.
            return now + (first.end - progress) / speed + (speed < 1 ? .nanoseconds(1) : .zero)
        }

        /// Sets the alarm for the end of the next request; returns an alarm that it replaces.
        mutating func setAlarm(_ set: (Duration) -> Alarm) -> Alarm? {
            let next = nextEnd
            guard next != alarm?.time else { return nil }
            defer { alarm = next.map { (set($0), $0) } }
            return alarm?.alarm
        }

        /// Returns whether the server accepts a request.
        mutating func enter(_ job: Job) -> Bool {
            let beyond = active.count + queue.count - server.workers
            guard beyond < 0 || beyond < server.queue else { return false }
            queue.append(job)
            return true
        }

        /// Processes requests until a moment, and returns those that are complete.
        mutating func advance(to moment: Duration) -> [Job] {
            progress += (moment - now) * speed
            now = moment
            var done: [Job] = []
            while let first = active.min, first.end <= progress {
                active.popMin()
                done.append(first.job)
            }
            while server.discipline == .sharing || active.count < server.workers, let job = queue.popFirst() {
                guard !server.skipsAbandonedRequests || job.reply.isPending else { continue }
                lastNumber += 1
                active.insert(Active(end: progress + job.service, number: lastNumber, job: job))
            }
            return done
        }
    }
}
