#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking

/// The cost of a test over a mock.
enum Mocks {
    static func measure() async throws -> [Row] {
        let slowness = try await Overhead.slowness()
        var best = Duration.seconds(3_600)
        for _ in 0..<5 {
            // A mock stores its requests, so each round has a new one.
            let transport = MockTransport()
            transport.on(.get, "/users/:id", .json(text: #"{"id":42}"#))
            let network = transport.stackOfNine(authority: "api.example.com")
            let clock = ContinuousClock()
            let start = clock.now
            for id in 0..<10_000 {
                _ = try await network.data(HTTPRequestData(path: "/users/\(id)"))
            }
            best = min(best, clock.now - start)
        }
        return try await [
            Row(
                name: "10,000 requests through nine modifiers over a mock",
                value: best / .milliseconds(1),
                unit: "ms",
                gate: 1_000 * slowness
            )
        ] + decoders() + Decoding.measure()
    }

    /// The time of a typed call with a decoder, relative to the same call without one.
    private static func decoders() async throws -> [Row] {
        var best: [TypedCalls.DecoderPlace: Double] = [:]
        // In turns, and the best of each: a slow second of the machine must not affect a single row.
        for _ in 0..<100 {
            for place in TypedCalls.DecoderPlace.allCases {
                let time = try await Measurement.measure(runs: 1, samples: 1) {
                    try await TypedCalls.call(place, times: 500)
                }
                best[place] = min(best[place] ?? .infinity, time.minimum / 500)
            }
        }
        let none = best[.none]!
        func row(_ name: String, _ place: TypedCalls.DecoderPlace) -> Row {
            Row(name: name, value: best[place]! / none, unit: "times", gate: 1.05)
        }
        return [
            Row(name: "value of a small JSON over a mock", value: none, unit: "ns"),
            row("the same with a decoder of the stack", .stack),
            row("the same with a decoder of the call", .call),
        ]
    }
}
#endif
