// error: Declare 'func resolve(_ request: inout HTTPRequestData)'.
import Networking

struct Branded: NetworkingModifier {
    func resolve(upstream: some NetworkingComponent, request: HTTPRequestData) -> HTTPRequestData { request }
}
