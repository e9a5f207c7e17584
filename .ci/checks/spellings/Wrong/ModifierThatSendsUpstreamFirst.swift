// error: Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'.
import Networking

struct Branded: NetworkingModifier {
    func send(upstream: some NetworkingComponent, request: HTTPRequestData) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}
