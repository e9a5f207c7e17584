// error: Name the type of the response. To ignore its body, use perform.
import Networking

func wrong(_ network: some NetworkingComponent) async throws {
    try await network.request(.delete("users/1"))
}
