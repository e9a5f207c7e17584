// error: Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'.
import Networking

struct Branded: NetworkingModifier {
    func send(
        upstream: some NetworkingComponent,
        request: HTTPRequestData
    ) -> AsyncThrowingStream<HTTPResponseData, any Error> {
        AsyncThrowingStream { $0.finish() }
    }
}
