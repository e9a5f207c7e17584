// error: Declare 'func principal(for: HTTPRequestData, upstream: some NetworkingComponent) -> Principal?'.
import Networking

struct Branded: NetworkingModifier {
    let user: Principal

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal { user }
}
