// error: Declare 'func resolve(_ request: inout HTTPRequestData)'.
import Networking

struct Branded: NetworkingModifier {
    func resolve(request: HTTPRequestData) -> HTTPRequestData { request }
}
