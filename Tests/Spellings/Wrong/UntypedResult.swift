// error: inferred to have type '()'
import Networking

func wrong(_ network: some NetworkingComponent) async throws {
    let user = try await network.request(.get("users/1"))
    _ = user
}
