import Foundation
import NetworkClient
import Networking
import NetworkingTesting
import TestSupport
import Testing

struct UserAPI: Sendable {
    private let network: any NetworkingComponent

    init(_ client: NetworkClient = .current) {
        network = client.network()
            .logged()
            .server(baseURL: URL(string: "https://api.example.com/v1")!)
    }

    func user(id: Int) async throws -> User {
        try await network.request(.get("users/\(id)"))
    }
}

struct OrderAPI: Sendable {
    private let network: any NetworkingComponent

    init(_ client: NetworkClient, tokens: TokenStore<Session>) {
        network = client.network()
            .authenticated(with: tokens)
            .cached(in: client.cache)
            .server(authority: "api.example.com")
    }
}

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct NetworkClientGuide {
    @Test func showsTheUser() async throws {
        let transport = MockTransport()
        transport.on(.get, "/v1/users/42", .json(User(id: 42, name: "Emily")))
        try await withNetworkClient(transport) {
            let user = try await UserAPI().user(id: 42)
            #expect(user.name == "Emily")
        }
    }
}
