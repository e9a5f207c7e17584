#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking

/// The cost of the stack itself, over a transport that responds at once.
enum Overhead {
    static func measure() async throws -> [Row] {
        let stacks = CountedStacks.all
        // In turns, and the best of each: a slow second of the machine must not affect a single row.
        let best = try await bestTimes(of: stacks.map { ($0.network, $0.request) })
        let times = Dictionary(zip(stacks.map(\.name), best)) { first, _ in first }
        func time(_ name: String) -> Double {
            times[name]!
        }
        let call = (time("layers8") - time("layers0")) / 8
        let factor = max(1, call / Calibration.reference)
        let passed = (time("eleven") - time("one")) / 10
        /// The time of each of the pass-through modifiers in a stack that observes them.
        func layer(_ stack: String) -> Double {
            (time("\(stack).eleven") - time(stack)) / 10
        }
        let measured = layer("instrument")
        /// The time of a stack beyond that of one pass-through modifier, which includes the call itself.
        func cost(_ name: String, of stack: String, gate: Double? = nil) -> Row {
            Row(name: name, value: time(stack) - time("one"), unit: "ns", gate: gate.map { $0 * factor })
        }
        return [
            Row(name: "one async call here and now; the targets are stretched by it", value: call, unit: "ns"),
            Row(name: "a stack of one pass-through modifier, everything", value: time("one"), unit: "ns"),
            Row(
                name: "one more pass-through modifier",
                value: passed,
                unit: "ns",
                gate: 120 * factor
            ),
            Row(name: "nine modifiers", value: time("light"), unit: "ns", gate: 6_000 * factor),
            Row(name: "the nine modifiers of an app", value: time("app"), unit: "ns"),
            Row(
                name: "the same over a transport that suspends once and enforces limits",
                value: time("app.limiting"),
                unit: "ns"
            ),
            cost("environment set for one call", of: "environment", gate: 250),
            cost("throttled, a permit is free", of: "throttled", gate: 150),
            cost("deduplicated, no other caller", of: "deduplicated", gate: 2_500),
            cost("retry, no failure", of: "retry"),
            cost("rateLimited, a permit is free", of: "rateLimited"),
            cost("circuitBreaker, closed", of: "circuitBreaker", gate: 150),
            cost("adaptiveThrottle, no failures", of: "adaptiveThrottle", gate: 150),
            cost("adaptiveLimit, a permit is free", of: "adaptiveLimit"),
            cost("rateLimited by the server, which reports its limits", of: "rateLimited.server"),
            cost("rateLimited by the server, which reports none", of: "rateLimited.silent", gate: 150),
            cost("rateLimited at an adaptive rate, nothing refused", of: "rateLimited.adaptive", gate: 150),
            cost("server(endpoints:), three endpoints", of: "endpoints", gate: 150),
            cost("hedged, the route is too fast for a hedge", of: "hedged", gate: 150),
            Row(
                name: "hedged, a hedge is planned and not needed",
                value: time("hedged.armed") - time("limiting"),
                unit: "ns"
            ),
            Row(
                name: "instrument, a call",
                value: time("instrument") - time("one") - (measured - passed),
                unit: "ns",
                gate: 1_000 * factor
            ),
            Row(name: "instrument, each modifier", value: measured - passed, unit: "ns", gate: 100 * factor),
            Row(name: "traced, a call", value: time("traced") - time("one") - layer("traced"), unit: "ns"),
            Row(name: "traced, each modifier", value: layer("traced") - passed, unit: "ns", gate: 150 * factor),
            Row(name: "inspected, a call", value: time("inspected") - time("one") - layer("inspected"), unit: "ns"),
            Row(name: "inspected, each modifier", value: layer("inspected") - passed, unit: "ns", gate: 150 * factor),
            Row(
                name: "telemetry without a backend, a call",
                value: time("telemetry") - time("one") - layer("telemetry"),
                unit: "ns"
            ),
            Row(name: "telemetry, each modifier", value: layer("telemetry") - passed, unit: "ns", gate: 150 * factor),
            cost("signed, without the signer's own work", of: "signed"),
            cost("authenticated", of: "authenticated"),
            cost("cached, nothing stored", of: "cached"),
            cost("fallbackToPost, a GET", of: "fallbackToPost"),
            cost("compressedBodies, no body", of: "compressedBodies"),
            cost("deprecationsReported, nothing announced", of: "deprecationsReported"),
            cost("deadline", of: "deadline"),
            cost("logged, the logger shows less", of: "logged.silent", gate: 50),
            cost("logged, off for the request", of: "logged.off", gate: 50),
            cost("logged, but for failures", of: "logged.level"),
            Row(
                name: "timeout, upstream suspends once",
                value: time("timeout") - time("suspending"),
                unit: "ns",
                gate: 3_500 * factor
            ),
        ]
    }

    /// How many times slower than the machine of the gates this one is just now.
    static func slowness() async throws -> Double {
        let request = HTTPRequestData(url: URL(string: "https://api.example.com/")!)
        let times = try await bestTimes(of: [(Calibration.layers(0), request), (Calibration.layers(8), request)])
        return max(1, (times[1] - times[0]) / 8 / Calibration.reference)
    }

    private static func bestTimes(
        of stacks: [(network: any NetworkingComponent, request: HTTPRequestData)]
    ) async throws -> [Double] {
        var best = [Double](repeating: .infinity, count: stacks.count)
        for _ in 0..<60 {
            for (index, stack) in stacks.enumerated() {
                let time = try await Measurement.measure(runs: 2_000, samples: 1) {
                    _ = try await stack.network.send(stack.request)
                }
                best[index] = min(best[index], time.minimum)
            }
        }
        return best
    }

    /// A call from the main actor stays on its executor, so it costs as much as elsewhere; a switch costs about 14 us.
    @MainActor
    static func measureOnMainActor() async throws -> [Row] {
        let network = InstantTransport().hoplessStack(authority: "api.example.com")
        let request = HTTPRequestData(path: "/small")
        var here = Double.infinity
        var there = Double.infinity
        for _ in 0..<30 {
            here = min(
                here,
                try await Measurement.measure(runs: 1_000, samples: 1) {
                    _ = try await network.send(request)
                }
                .minimum
            )
            there = min(
                there,
                try await Task.detached {
                    try await Measurement.measure(runs: 1_000, samples: 1) { _ = try await network.send(request) }
                        .minimum
                }
                .value
            )
        }
        return [
            Row(name: "eight modifiers, elsewhere to the main actor", value: there / here, unit: "x", gate: 0.7)
        ]
    }
}

/// The current speed of this machine: one async call of a component through its protocol.
///
/// The gates in nanoseconds are for a machine where it takes 40 ns. Shared machines change their speed by a factor of
/// two within minutes, so the gates are scaled by a measurement in the same rounds.
enum Calibration {
    static let reference = 40.0

    /// An instant transport behind a number of components that only call the next.
    static func layers(_ count: Int) -> any NetworkingComponent {
        var component: any NetworkingComponent = InstantTransport()
        for _ in 0..<count {
            component = Layer(inner: component)
        }
        return component
    }

    private struct Layer: NetworkingComponent {
        let inner: any NetworkingComponent

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            try await inner.send(request)
        }
    }
}
#endif
