// error: Name the type of the response. To ignore its body, use perform.
import Networking

func wrong(_ network: some NetworkingComponent, request: HTTPRequestData) async throws {
    _ = try await network.value(Request(request))
}
