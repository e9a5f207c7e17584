// error: Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'.
import Networking

struct Branded: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: any NetworkingComponent) async throws -> HTTPResponseData {
        try await upstream.send(request)
    }
}
