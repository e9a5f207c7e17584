// error: Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'.
import Networking

struct Branded: NetworkingModifier {
    func send(request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}
