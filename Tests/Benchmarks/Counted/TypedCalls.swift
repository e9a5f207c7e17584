import Foundation
import Networking

/// `value` of a small JSON document over a mock, with the decoder in different places.
enum TypedCalls {
    /// The place of the decoder, by the name for `Benchmarks count`.
    enum DecoderPlace: String, CaseIterable {
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
