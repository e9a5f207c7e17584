#if URLSession && AsyncHTTPClient && SQLite
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
        return [
            Row(
                name: "10,000 requests through nine modifiers over a mock",
                value: best / .milliseconds(1),
                unit: "ms",
                gate: 1_000 * slowness
            ),
            try await cost(of: .stack, "value of a small JSON with a decoder of the stack, to one without"),
            try await cost(of: .call, "the same with a decoder of the call, to one without"),
        ]
    }

    /// The time of a typed call with a decoder, relative to the same call without one.
    private static func cost(of place: TypedCalls.DecoderPlace, _ name: String) async throws -> Row {
        let speed = try await Measurement.ratio(rounds: 60) {
            try await TypedCalls.call(place, times: 2_000)
        } to: {
            try await TypedCalls.call(.none, times: 2_000)
        }
        return Row(name: name, value: 1 / speed.median, unit: "times", gate: 1.05)
    }
}

/// `value` of a small JSON document over a mock, with the decoder in different places.
enum TypedCalls {
    /// The place of the decoder, by the name for `Benchmarks count`.
    enum DecoderPlace: String {
        case none = "value"
        case stack = "value.stack"
        case call = "value.call"
    }

    private struct User: Decodable {
        let id: Int
        let name: String
    }

    /// Makes a number of calls, one after the other.
    static func call(_ place: DecoderPlace, times count: Int) async throws {
        // A mock stores its requests, so each series has a new one.
        let transport = MockTransport()
        transport.on(.get, "/users/:id", .json(text: #"{"id":42,"name":"Emily"}"#))
        let decoder = JSONDecoder()
        let network: any NetworkingComponent =
            place == .stack
            ? transport.decoder(.json()).server(authority: "api.example.com")
            : transport.server(authority: "api.example.com")
        let request = HTTPRequestData(path: "/users/42")
        for _ in 0..<count {
            let (user, _) = try await network.value(request, as: User.self, decoder: place == .call ? decoder : nil)
            precondition(user.id == 42)
        }
    }
}
#endif
