public import HTTPTypes
public import NetworkingCore

/// A model of a server for a ``Simulation``: its capacity, the duration of its work, and its failures over time.
///
/// ```swift
/// let serviceTime = SimulatedDuration.logNormal(median: .milliseconds(40), p99: .milliseconds(400))
/// var server = SimulatedServer(workers: 50, serviceTime: serviceTime)
/// server.change(at: .seconds(600)) { $0.workers = 25 }
/// server.change(at: .seconds(900)) { $0.workers = 50 }
/// server.change(at: .seconds(1_200)) { $0.failure = .status(.serviceUnavailable, share: 0.5) }
/// ```
///
/// The server does not notice that a client has given up, like most servers: it processes the request anyway. Set
/// ``skipsAbandonedRequests`` for a server that checks before it begins.
public struct SimulatedServer: Sendable {
    /// How the server divides its capacity between requests.
    public enum Discipline: Sendable, Hashable {
        /// Each worker processes one request at a time, and other requests wait in the order of arrival.
        case queue
        /// All requests are processed at the same time, and slower if there are more than workers.
        case sharing
    }

    /// A failure of some requests.
    public struct Failure: Sendable {
        enum Effect: Sendable {
            case status(HTTPResponse.Status)
            case error(NetworkingError.Kind)
            case hang
        }

        let effect: Effect
        let share: Double

        private init(_ effect: Effect, _ share: Double) {
            precondition(share >= 0 && share <= 1, "share must be from 0 to 1 (is \(share))")
            (self.effect, self.share) = (effect, share)
        }

        /// Returns a failure that responds at once with a status.
        ///
        /// - Precondition: `share` is from 0 to 1.
        public static func status(_ status: HTTPResponse.Status, share: Double = 1) -> Failure {
            Failure(.status(status), share)
        }

        /// Returns a failure that throws at once, such as `.connection` for a server that is down.
        ///
        /// - Precondition: `share` is from 0 to 1.
        public static func error(_ kind: NetworkingError.Kind, share: Double = 1) -> Failure {
            Failure(.error(kind), share)
        }

        /// Returns a failure that never responds.
        ///
        /// - Precondition: `share` is from 0 to 1.
        public static func hang(share: Double = 1) -> Failure {
            Failure(.hang, share)
        }
    }

    /// The number of requests that are processed at full speed at a time; zero, after a change, for a server that
    /// processes nothing.
    ///
    /// - Precondition: It is not negative.
    public var workers: Int {
        didSet { precondition(workers >= 0, "workers must not be negative (is \(workers))") }
    }
    /// The time that a request takes at full speed.
    public var serviceTime: SimulatedDuration
    /// The time of the way to the server and back.
    public var roundTrip: SimulatedDuration
    /// How the server divides its capacity.
    public let discipline: Discipline
    /// The maximum number of requests beyond ``workers``; the server responds to others with 503 at once.
    ///
    /// - Precondition: It is not negative.
    public var queue: Int {
        didSet { checkQueue() }
    }
    /// The requests that fail; `nil` for none.
    public var failure: Failure?
    /// Whether the server drops a request from its queue if the client has given up.
    public var skipsAbandonedRequests = false

    private(set) var changes: [(time: Duration, change: @Sendable (inout SimulatedServer) -> Void)] = []

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - workers: The number of requests that are processed at full speed at a time.
    ///   - serviceTime: The time that a request takes at full speed.
    ///   - roundTrip: The time of the way to the server and back.
    ///   - discipline: How the server divides its capacity.
    ///   - queue: The maximum number of requests beyond `workers`.
    /// - Precondition: `workers` is greater than zero, and `queue` is not negative.
    public init(
        workers: Int,
        serviceTime: SimulatedDuration,
        roundTrip: SimulatedDuration = .constant(.zero),
        discipline: Discipline = .queue,
        queue: Int = .max
    ) {
        self.workers = workers
        self.serviceTime = serviceTime
        self.roundTrip = roundTrip
        self.discipline = discipline
        self.queue = queue
        precondition(workers > 0, "workers must be greater than zero (is \(workers))")
        checkQueue()
    }

    /// Changes the server at a moment of the simulation.
    ///
    /// - Parameters:
    ///   - time: The time since the start.
    ///   - change: Changes the properties. ``workers`` may become zero: the server then processes nothing.
    /// - Precondition: `time` is not negative.
    public mutating func change(at time: Duration, _ change: @escaping @Sendable (inout SimulatedServer) -> Void) {
        precondition(time >= .zero, "time must not be negative (is \(time))")
        changes.append((time, change))
    }

    private func checkQueue() {
        precondition(queue >= 0, "queue must not be negative (is \(queue))")
    }
}
