import HTTPTypes
import NetworkingCore
import Synchronization

/// The figures of a ``Simulation``.
///
/// A call counts in the interval in which it started. It is successful if it returned a response with a status below
/// 400 before its caller lost patience.
public struct SimulationReport: Sendable {
    struct Call: Sendable {
        /// In seconds.
        let start: Double
        let latency: Double
        /// The failure; `nil` for a successful call.
        let failure: String?
    }

    /// The seed with which the run can be repeated.
    public let seed: UInt64
    /// The interval of the figures, since the start of the simulation.
    public let interval: Range<Duration>
    let records: [Call]
    /// The moments at which requests were sent to a server, in seconds.
    let sent: [Double]

    init(seed: UInt64, interval: Range<Duration>, records: [Call], sent: [Double]) {
        self.seed = seed
        self.interval = interval
        self.records = records
        self.sent = sent
    }

    /// The number of calls that started.
    public var calls: Int {
        records.count
    }

    /// The number of successful calls.
    public var successes: Int {
        records.count { $0.failure == nil }
    }

    /// The number of requests that were sent to the servers, also after the last call has started.
    public var requests: Int {
        sent.count
    }

    /// The number of failed calls by the kind of the error or the status; `cancelled` for callers that lost patience.
    public var failures: [String: Int] {
        records.reduce(into: [:]) { failures, call in
            if let failure = call.failure {
                failures[failure, default: 0] += 1
            }
        }
    }

    /// The number of calls that started per second.
    public var offeredLoad: Double {
        Double(calls) / seconds
    }

    /// The number of successful calls per second.
    public var goodput: Double {
        Double(successes) / seconds
    }

    /// The number of requests per call; zero if there was no call.
    public var amplification: Double {
        calls == 0 ? 0 : Double(requests) / Double(calls)
    }

    /// Returns the time that a share of the successful calls took at most.
    ///
    /// - Parameter percent: The share in percent, such as 99.
    /// - Returns: The time; zero if no call was successful.
    /// - Precondition: `percent` is from 0 to 100.
    public func percentile(_ percent: Double) -> Duration {
        precondition(percent >= 0 && percent <= 100, "percent must be from 0 to 100 (is \(percent))")
        return .seconds(percentile(percent, of: records))
    }

    /// Returns the figures of the calls and the requests of an interval.
    ///
    /// - Parameter interval: The interval since the start; the part outside of the simulation is left out.
    /// - Returns: The figures.
    /// - Precondition: A part of the interval is inside.
    public func during(_ interval: Range<Duration>) -> SimulationReport {
        let part = interval.clamped(to: self.interval)
        precondition(!part.isEmpty, "interval must be inside of \(self.interval) (is \(interval))")
        let (start, end) = (part.lowerBound / .seconds(1), part.upperBound / .seconds(1))
        return SimulationReport(
            seed: seed,
            interval: part,
            records: records.filter { $0.start >= start && $0.start < end },
            sent: sent.filter { $0 >= start && $0 < end }
        )
    }

    private var seconds: Double {
        (interval.upperBound - interval.lowerBound) / .seconds(1)
    }

    func percentile(_ percent: Double, of calls: some Sequence<Call>) -> Double {
        let latencies = calls.lazy.filter { $0.failure == nil }.map(\.latency).sorted()
        guard !latencies.isEmpty else { return 0 }
        return latencies[max(0, Int((percent / 100 * Double(latencies.count)).rounded(.up)) - 1)]
    }
}

extension SimulationReport: CustomStringConvertible {
    /// The figures, one per line, with the seed.
    public var description: String {
        let failures = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let kinds = failures.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        return """
            seed \(seed), \(interval.lowerBound) to \(interval.upperBound)
            \(calls) calls: \(offeredLoad.tenths)/s offered, \(goodput.tenths)/s successful
            \(requests) requests: \(amplification.hundredths) per call
            latency: p50 \(milliseconds(50)), p95 \(milliseconds(95)), p99 \(milliseconds(99))
            failures: \(kinds.isEmpty ? "none" : kinds)
            """
    }

    private func milliseconds(_ percent: Double) -> String {
        "\((percentile(percent, of: records) * 1_000).tenths) ms"
    }
}

extension Double {
    /// The number with one decimal.
    var tenths: String {
        fixed(10)
    }

    /// The number with two decimals.
    var hundredths: String {
        fixed(100)
    }

    private func fixed(_ scale: Int) -> String {
        let units = Int((magnitude * Double(scale)).rounded())
        let sign = self < 0 && units > 0 ? "-" : ""
        return "\(sign)\(units / scale)." + "\(scale + units % scale)".dropFirst()
    }
}

/// The record of a running simulation.
final class SimulationRecord: Sendable {
    private let state = Mutex(State())

    /// More requests at one moment are those of a loop that never ends.
    private static let maximumAtOnce = 100_000

    private struct State {
        var calls: [SimulationReport.Call] = []
        var sent: [Double] = []
        /// The number of requests at the moment of the last one.
        var atOnce = 0
    }

    func addRequest(at moment: Duration) {
        let seconds = moment / .seconds(1)
        let atOnce = state.withLock { state in
            state.atOnce = state.sent.last == seconds ? state.atOnce + 1 : 1
            state.sent.append(seconds)
            return state.atOnce
        }
        precondition(
            atOnce < Self.maximumAtOnce,
            "the stack sends \(atOnce) requests at one moment, after \(moment): it repeats a request for ever, without "
                + "a wait"
        )
    }

    func add(start: Duration, end: Duration, _ result: Result<HTTPResponseData, any Error>) {
        let failure: String? =
            switch result {
            case .success(let response): response.status.code < 400 ? nil : "\(response.status.code)"
            case .failure(is CancellationError): "cancelled"
            case .failure(let error as NetworkingError): error.status.map { "\($0.code)" } ?? error.kind.rawValue
            case .failure(let error): "\(type(of: error))"
            }
        let call = SimulationReport.Call(
            start: start / .seconds(1),
            latency: (end - start) / .seconds(1),
            failure: failure
        )
        state.withLock { $0.calls.append(call) }
    }

    func report(seed: UInt64, duration: Duration) -> SimulationReport {
        let state = state.withLock { $0 }
        return SimulationReport(
            seed: seed,
            interval: .zero..<duration,
            records: state.calls.sorted { $0.start < $1.start },
            sent: state.sent
        )
    }
}
