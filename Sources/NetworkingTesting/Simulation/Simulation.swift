import CLibraryForNetworking
public import NetworkingCore
import Synchronization

/// A run of a real stack against a model of a server, with thousands of callers in simulated time.
///
/// Use it to choose the settings of a stack for a service of your own, and to see what they do in an overload or an
/// outage:
///
/// ```swift
/// let server = SimulatedServer(workers: 8, serviceTime: .exponential(mean: .milliseconds(100)))
/// let simulation = Simulation(of: server, for: .seconds(120), seed: 1) { time in
///     time < .seconds(20) ? 40 : 320   // calls per second: half of the capacity, and four times the capacity
/// }
/// let report = try await simulation.run { transport in
///     transport.timeout(.seconds(2)).throttled(max: 8, queue: 16).retry()
/// }
/// print(report)
/// try Data(report.svg().utf8).write(to: URL(filePath: "overload.svg"))
/// ```
///
/// The stack is the one of the app, with its clock and its random numbers replaced. Only the transport and the server
/// behind it are a model. Tasks run one at a time, and the time advances when none can continue, so a run with the same
/// seed gives the same figures. A part of the stack that starts tasks of its own, without a task group, takes them out
/// of that order.
public struct Simulation: Sendable {
    /// The seed of the arrivals, of the server and of the stack's random numbers.
    public let seed: UInt64
    private let servers: [String: SimulatedServer]
    private let duration: Duration
    private let patience: Duration
    private let request: @Sendable (Int) -> HTTPRequestData
    private let callsPerSecond: @Sendable (Duration) -> Double

    /// Creates a simulation of one server, which responds to requests for any host.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - duration: The time in which calls start.
    ///   - seed: The seed; by default another one for each simulation. The report prints it.
    ///   - patience: The time after which a caller cancels its call.
    ///   - request: Returns the request of a call, by its number; by default a GET.
    ///   - callsPerSecond: Returns the number of calls that start per second, on average, by the time since the start.
    /// - Precondition: `duration` and `patience` are greater than zero.
    public init(
        of server: SimulatedServer,
        for duration: Duration,
        seed: UInt64? = nil,
        patience: Duration = .seconds(30),
        request: (@Sendable (Int) -> HTTPRequestData)? = nil,
        callsPerSecond: @escaping @Sendable (Duration) -> Double
    ) {
        self.init(
            of: ["": server],
            for: duration,
            seed: seed,
            patience: patience,
            request: request ?? { _ in HTTPRequestData(authority: "server.example", path: "/") },
            callsPerSecond: callsPerSecond
        )
    }

    /// Creates a simulation of several servers.
    ///
    /// - Parameters:
    ///   - servers: The servers, by the authority of their requests. A request for another authority fails with
    ///     `nameResolution`.
    ///   - duration: The time in which calls start.
    ///   - seed: The seed; by default another one for each simulation.
    ///   - patience: The time after which a caller cancels its call.
    ///   - request: Returns the request of a call, by its number.
    ///   - callsPerSecond: Returns the number of calls that start per second, on average, by the time since the start.
    /// - Precondition: `duration` and `patience` are greater than zero.
    public init(
        of servers: [String: SimulatedServer],
        for duration: Duration,
        seed: UInt64? = nil,
        patience: Duration = .seconds(30),
        request: @escaping @Sendable (Int) -> HTTPRequestData,
        callsPerSecond: @escaping @Sendable (Duration) -> Double
    ) {
        precondition(duration > .zero, "duration must be greater than zero (is \(duration))")
        precondition(patience > .zero, "patience must be greater than zero (is \(patience))")
        self.servers = servers
        self.duration = duration.bounded
        self.seed = seed ?? .random(in: .min ... .max)
        self.patience = patience.bounded
        self.request = request
        self.callsPerSecond = callsPerSecond
    }

    /// Runs a stack.
    ///
    /// - Parameter stack: Returns the stack, over the transport to the servers. Create limiters, budgets and stores in
    ///   it, so that each run has its own.
    /// - Returns: The figures of the run.
    /// - Throws: `CancellationError` if the caller is cancelled, and ``SimulationStalled`` if calls wait for something
    ///   that does not happen, or have not ended 10 minutes after their cancellation.
    /// - Precondition: The rate of the calls is from 0 to 1,000,000 per second, and the stack sends fewer than 100,000
    ///   requests at one moment.
    public func run<Stack: NetworkingComponent>(
        _ stack: (SimulatedTransport) -> Stack
    ) async throws -> SimulationReport {
        try await run(stack, in: SimulationLoop())
    }

    func run<Stack: NetworkingComponent>(
        _ stack: (SimulatedTransport) -> Stack,
        in loop: SimulationLoop
    ) async throws -> SimulationReport {
        let record = SimulationRecord()
        var models: [String: ServerModel] = [:]
        // Sorted, so that each server has the same random numbers in each run.
        for (index, name) in servers.keys.sorted().enumerated() {
            models[name] = servers[name]
                .map {
                    ServerModel($0, on: loop.clock, random: .seeded(seed &+ 0x5E4E_0000 &+ UInt64(index)))
                }
        }
        let callers = SimulatedCallers(
            over: stack(SimulatedTransport(servers: models, clock: loop.clock, record: record)),
            clock: loop.clock,
            record: record,
            patience: patience
        )
        var environment = NetworkEnvironment.current
        environment.clock = NetworkClock(engine: loop.clock)
        environment.random = .seeded(seed)
        let arrivals = Arrivals(duration: duration, random: .seeded(~seed), callsPerSecond: callsPerSecond)
        let work = OwnedTaskExecutor.$current.withValue(loop) {
            OwnedTask.immediate { [environment, request] in
                defer { loop.end() }
                try await withEnvironment(environment) {
                    try await callers.run(arrivals, request)
                }
            }
        }
        loop.start { callers.stall() }
        try await work.value
        return record.report(seed: seed, duration: duration)
    }
}

/// The error of a simulation whose calls do not end: they wait for something other than its clock, or ignore that they
/// are cancelled.
public struct SimulationStalled: Error, CustomStringConvertible {
    /// The number of calls that have not ended.
    public let calls: Int

    /// The error, and a way to solve it.
    public var description: String {
        "\(calls) calls of the simulation wait for something other than its clock, or do not end when they are "
            + "cancelled. A part of the stack may sleep on another clock than NetworkEnvironment.current.clock, wait "
            + "for an event that no task causes, or repeat a request after CancellationError."
    }
}

/// The moments at which calls start: a Poisson process whose rate changes over time.
struct Arrivals: Sendable {
    let duration: Duration
    let random: RandomSource
    let callsPerSecond: @Sendable (Duration) -> Double

    /// The time for which a rate is used.
    private static let step = Duration.milliseconds(100)

    /// Returns the first arrival after a moment; `nil` if there is none.
    func next(after moment: Duration) -> Duration? {
        var moment = moment
        while moment < duration {
            let rate = callsPerSecond(moment)
            precondition(
                rate >= 0 && rate <= 1_000_000,
                "callsPerSecond must be from 0 to 1,000,000 (is \(rate) after \(moment))"
            )
            let gap = -log(1 - random.fraction()) / rate
            // The process has no memory, so it may begin anew at each step.
            guard gap <= Self.step / .seconds(1) else {
                moment += Self.step
                continue
            }
            moment += .seconds(gap)
            return moment < duration ? moment : nil
        }
        return nil
    }
}
