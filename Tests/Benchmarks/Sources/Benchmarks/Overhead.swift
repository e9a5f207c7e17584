import Networking

/// What the stack itself costs, over a transport that answers at once.
enum Overhead {
    static func measure() async throws -> [Row] {
        let relative = HTTPRequestData(path: "/small")
        let absolute = InstantTransport().server(authority: "api.example.com").resolved(relative)

        let none = try await time(InstantTransport().modified(PassThrough()), absolute)
        let ten = try await time(tenMore(around: InstantTransport().modified(PassThrough())), absolute)
        let nine = try await time(InstantTransport().stackOfNine(authority: "api.example.com"), relative)
        let environment = try await time(InstantTransport().environment(\.tenant, 1), absolute)
        let suspending = try await time(SuspendingTransport().modified(PassThrough()), absolute)
        let timeout = try await time(SuspendingTransport().timeout(.seconds(10)), absolute)
        return [
            Row(name: "a stack of one pass-through modifier, everything", value: none, unit: "ns"),
            Row(name: "one more pass-through modifier", value: (ten - none) / 10, unit: "ns", gate: 120),
            Row(name: "nine modifiers", value: nine, unit: "ns", gate: 6_000),
            Row(name: "environment set for one call", value: environment - none, unit: "ns", gate: 250),
            Row(name: "timeout, upstream suspends once", value: timeout - suspending, unit: "ns", gate: 3_500),
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

    private static func tenMore(around component: some NetworkingComponent) -> some NetworkingComponent {
        component
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough()).modified(PassThrough()).modified(PassThrough())
            .modified(PassThrough()).modified(PassThrough())
    }

    private static func time(_ component: any NetworkingComponent, _ request: HTTPRequestData) async throws -> Double {
        try await Measurement.measure(runs: 20_000) { _ = try await component.send(request) }.median
    }
}
