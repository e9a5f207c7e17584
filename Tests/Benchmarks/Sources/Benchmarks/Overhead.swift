import Networking

/// What the stack itself costs, over a transport that answers at once.
enum Overhead {
    static func measure() async throws -> [Row] {
        let relative = HTTPRequestData(path: "/small")
        let absolute = InstantTransport().server(authority: "api.example.com").resolved(relative)

        let call = try await Calibration.measure()
        let factor = max(1, call / Calibration.reference)
        let none = try await time(InstantTransport().modified(PassThrough()), absolute)
        let ten = try await time(elevenPassThroughs(), absolute)
        let nine = try await time(InstantTransport().stackOfNine(authority: "api.example.com"), relative)
        let environment = try await time(InstantTransport().environment(\.tenant, 1), absolute)
        let suspending = try await time(SuspendingTransport().modified(PassThrough()), absolute)
        let timeout = try await time(SuspendingTransport().timeout(.seconds(10)), absolute)
        return [
            Row(
                name: "one async call of this machine (gates below are for \(Int(Calibration.reference)))",
                value: call,
                unit: "ns"
            ),
            Row(name: "a stack of one pass-through modifier, everything", value: none, unit: "ns"),
            Row(name: "one more pass-through modifier", value: (ten - none) / 10, unit: "ns", gate: 120 * factor),
            Row(name: "nine modifiers", value: nine, unit: "ns", gate: 6_000 * factor),
            Row(name: "environment set for one call", value: environment - none, unit: "ns", gate: 250 * factor),
            Row(name: "timeout, upstream suspends once", value: timeout - suspending, unit: "ns", gate: 3_500 * factor),
        ]
    }

    /// A call from the main actor hops nowhere: it costs what it costs elsewhere, and not some 14 us a hop.
    @MainActor
    static func measureOnMainActor() async throws -> [Row] {
        let network = InstantTransport().hoplessStack(authority: "api.example.com")
        let request = HTTPRequestData(path: "/small")
        let here = try await Measurement.measure(runs: 5_000) { _ = try await network.send(request) }
        let there = try await Task.detached { try await time(network, request) }.value
        return [
            Row(
                name: "eight modifiers from the main actor, to elsewhere",
                value: there / here.median,
                unit: "x",
                gate: 0.7
            )
        ]
    }

    private static func elevenPassThroughs() -> some NetworkingComponent {
        InstantTransport().modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough())
    }

    /// The stack is stored as an app stores one. A call on a local `some` would pay for its type's metadata each time,
    /// 2 us for nine modifiers.
    private static func time(_ component: any NetworkingComponent, _ request: HTTPRequestData) async throws -> Double {
        let stored = Stored(network: component)
        return try await Measurement.measure(runs: 20_000) { _ = try await stored.network.send(request) }.median
    }

    private final class Stored: Sendable {
        let network: any NetworkingComponent

        @inline(never)
        init(network: any NetworkingComponent) {
            self.network = network
        }
    }
}

/// How fast this machine is just now: an async call of a generic component that is not inlined.
///
/// The gates in nanoseconds are for a machine where it takes 40 ns. Shared machines change their speed by a factor of
/// two within minutes, so the gates are stretched by what is measured here in the same run.
enum Calibration {
    static let reference = 40.0

    static func measure() async throws -> Double {
        let one = try await Measurement.measure(runs: 100_000) { _ = try await call(Leaf()) }
        let four = try await Measurement.measure(runs: 100_000) {
            _ = try await call(Layer(inner: Layer(inner: Layer(inner: Leaf()))))
        }
        return (four.median - one.median) / 3
    }

    private protocol Callable: Sendable {
        func call(_ value: Int) async throws -> Int
    }

    private struct Leaf: Callable {
        @inline(never)
        func call(_ value: Int) async throws -> Int {
            value
        }
    }

    private struct Layer<Inner: Callable>: Callable {
        let inner: Inner

        @inline(never)
        func call(_ value: Int) async throws -> Int {
            try await inner.call(value)
        }
    }

    @inline(never)
    private static func call(_ callable: some Callable) async throws -> Int {
        try await callable.call(1)
    }
}
