package import Networking
import Synchronization

/// A modifier whose user is replaced by another one during each exchange.
package final class SigningOut: NetworkingModifier {
    private let user = Mutex(Principal(id: "ada"))

    package init() {}

    package func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var response = try await upstream.send(request)
        response.principal = user.withLock { $0 }
        user.withLock { $0 = Principal(id: "bob") }
        return response
    }

    package func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        user.withLock { $0 }
    }
}
