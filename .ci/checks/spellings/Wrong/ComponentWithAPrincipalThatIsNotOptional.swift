// error: Declare 'func principal(for request: HTTPRequestData) -> Principal?'.
import Networking

struct Loopback: NetworkingTransport {
    let user: Principal

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        throw NetworkingError(.connection, request: request)
    }

    func principal(for request: HTTPRequestData) -> Principal { user }
}
