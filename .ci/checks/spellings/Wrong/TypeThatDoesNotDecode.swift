// error: 'Decodable'
import Networking

struct Page: Sendable {}

func wrong(_ network: some NetworkingComponent) async throws -> Page {
    try await network.request(.get("page"), as: Page.self)
}
