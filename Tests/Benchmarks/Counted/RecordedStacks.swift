import Foundation
import Networking

/// The stacks whose instructions CI counts and compares with recorded figures: see `.ci/checks/instructions/check`.
///
/// That check compiles the files of this folder again, in a package of its own. So they use only `Networking`, its
/// public API and its default traits.
enum RecordedStacks {
    static let all: [(name: String, network: any NetworkingComponent, request: HTTPRequestData)] = [
        ("one", InstantTransport().modified(PassThrough()), absolute),
        ("eleven", InstantTransport().eleven(), absolute),
        ("light", InstantTransport().stackOfNine(authority: "api.example.com"), relative),
        ("app", InstantTransport().appStack(server), relative),
        ("deadline", InstantTransport().deadline(.seconds(30)), absolute),
        ("throttled", InstantTransport().throttled(max: 6), absolute),
        ("deduplicated", InstantTransport().deduplicated(), absolute),
        ("retry", InstantTransport().retry(), absolute),
        ("standard.server", InstantTransport().standard(.server), absolute),
        (
            "authenticated",
            InstantTransport().authenticated(with: BearerCredentials(token: "token"), at: ["api.example.com"]),
            absolute
        ),
        ("cached.hit", CacheableTransport().cached(), absolute),
        ("logged.level", InstantTransport().logged(using: .warnings), absolute),
    ]

    /// The names of all stacks, and of a typed call over a mock.
    static var names: [String] {
        all.map(\.name) + [TypedCalls.DecoderPlace.none.rawValue]
    }

    static let absolute = InstantTransport().server(baseURL: server).resolved(relative)
    static let relative = HTTPRequestData(path: "/small")
    static let server = URL(string: "https://api.example.com")!

    /// Makes a number of calls through a stack, one after the other, and returns whether it knows the stack.
    static func call(_ name: String, times count: Int) async throws -> Bool {
        if let place = TypedCalls.DecoderPlace(rawValue: name) {
            try await TypedCalls.call(place, times: count)
            return true
        }
        guard let stack = all.first(where: { $0.name == name }) else { return false }
        for _ in 0..<count {
            _ = try await stack.network.send(stack.request)
        }
        return true
    }
}
