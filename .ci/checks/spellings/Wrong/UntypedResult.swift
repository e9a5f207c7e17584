// error: Name the type of the response. To ignore its body, use perform.
import Networking

func wrong(_ network: some NetworkingComponent) async throws {
    let user = try await network.request(.get("users/1"))
    _ = user
}
