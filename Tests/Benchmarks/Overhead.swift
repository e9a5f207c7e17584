#if URLSession && AsyncHTTPClient && SQLite
import Foundation
import Networking

/// What the stack itself costs, over a transport that answers at once.
enum Overhead {
    static func measure() async throws -> [Row] {
        let relative = HTTPRequestData(path: "/small")
        let absolute = InstantTransport().server(authority: "api.example.com").resolved(relative)
        var unlogged = absolute
        unlogged.logDetail = .off

        // In turns, and the best of each: what slows this machine down for a second must not hit one row and spare
        // another.
        let times = try await bestTimes(of: [
            (InstantTransport().modified(PassThrough()), absolute),
            (elevenPassThroughs(), absolute),
            (InstantTransport().stackOfNine(authority: "api.example.com"), relative),
            (InstantTransport().environment(\.tenant, 1), absolute),
            (SuspendingTransport().modified(PassThrough()), absolute),
            (SuspendingTransport().timeout(.seconds(10)), absolute),
            (Calibration.layers(0), absolute),
            (Calibration.layers(8), absolute),
            (InstantTransport().throttled(max: 6), absolute),
            (InstantTransport().deduplicated(), absolute),
            (InstantTransport().retry(), absolute),
            (InstantTransport().rateLimited(to: 1_000_000_000, per: .seconds(1)), absolute),
            (InstantTransport().modified(PassThrough()).instrument(), absolute),
            (elevenPassThroughs().instrument(), absolute),
            (InstantTransport().logged(using: .silent), absolute),
            (InstantTransport().logged(using: .silent), unlogged),
            (InstantTransport().logged(using: .warnings), absolute),
        ])
        let call = (times[7] - times[6]) / 8
        let factor = max(1, call / Calibration.reference)
        let passed = (times[1] - times[0]) / 10
        let measured = (times[13] - times[12]) / 10
        return [
            Row(name: "one async call here and now; the gates are stretched by it", value: call, unit: "ns"),
            Row(name: "a stack of one pass-through modifier, everything", value: times[0], unit: "ns"),
            Row(
                name: "one more pass-through modifier",
                value: passed,
                unit: "ns",
                gate: 120 * factor
            ),
            Row(name: "nine modifiers", value: times[2], unit: "ns", gate: 6_000 * factor),
            Row(name: "environment set for one call", value: times[3] - times[0], unit: "ns", gate: 250 * factor),
            // Each to the stack of one pass-through, whose call stands for theirs.
            Row(name: "throttled, a permit is free", value: times[8] - times[0], unit: "ns", gate: 150 * factor),
            Row(
                name: "deduplicated, no other caller",
                value: times[9] - times[0],
                unit: "ns",
                gate: 2_500 * factor
            ),
            Row(name: "retry, no failure", value: times[10] - times[0], unit: "ns"),
            Row(name: "rateLimited, a permit is free", value: times[11] - times[0], unit: "ns"),
            Row(
                name: "instrument, a call",
                value: times[12] - times[0] - (measured - passed),
                unit: "ns",
                gate: 1_000 * factor
            ),
            Row(name: "instrument, each modifier", value: measured - passed, unit: "ns", gate: 100 * factor),
            Row(name: "logged, the logger shows less", value: times[14] - times[0], unit: "ns", gate: 50 * factor),
            Row(name: "logged, off for the request", value: times[15] - times[0], unit: "ns", gate: 50 * factor),
            Row(name: "logged, but for failures", value: times[16] - times[0], unit: "ns"),
            Row(name: "timeout, upstream suspends once", value: times[5] - times[4], unit: "ns", gate: 3_500 * factor),
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

    /// A call from the main actor hops nowhere: it costs what it costs elsewhere, and not some 14 us a hop.
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

    private static func elevenPassThroughs() -> some NetworkingComponent {
        InstantTransport().modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough())
    }
}

/// How fast this machine is just now: one async call of a component that is known only by its protocol.
///
/// The gates in nanoseconds are for a machine where it takes 40 ns. Shared machines change their speed by a factor of
/// two within minutes, so the gates are stretched by what is measured in the same rounds.
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
