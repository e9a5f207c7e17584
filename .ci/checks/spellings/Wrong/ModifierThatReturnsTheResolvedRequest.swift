// error: Declare 'func resolve(_ request: inout HTTPRequestData)'.
import Networking

struct Branded: NetworkingModifier {
    func resolve(_ request: HTTPRequestData) -> HTTPRequestData { request }
}
