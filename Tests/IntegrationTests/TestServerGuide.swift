#if TestServer && URLSession
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Loopback {
    /// The example of a real server from the testing guide.
    @Suite(.timeLimit(.minutes(20)))
    struct TestServerGuide {
        @Test func sendsRequestsToARealServer() async throws {
            try await withTestServer { server in
                let item = TestResponse.text("item 7")
                server.route(
                    .get,
                    "/items/:id",
                    responses: item.disconnecting(.reset, at: .responseBody(after: 3)),
                    item
                )
                let network = URLSession.shared.retry().server(baseURL: server.url).environment(\.clock, .immediate())
                let response = try await network.data(HTTPRequestData(path: "items/7"))
                #expect(response.data == Data("item 7".utf8))
                for _ in 1...2 {
                    try await server.takeRequest().expect(.get, "/items/7")
                }
                try server.verify()
            }
        }
    }
}
#endif
