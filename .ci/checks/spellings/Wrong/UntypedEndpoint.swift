// error: Name the type of the body: network.request(endpoint, as: User.self).
import Networking

struct User: Decodable, Sendable {}

enum GitHub: Endpoint {
    typealias Response = HTTPResponseData
    case user(String)

    var path: RequestPath { "users" }
}

func wrong(_ network: some NetworkingComponent) async throws -> User {
    try await network.request(GitHub.user("octocat"))
}
