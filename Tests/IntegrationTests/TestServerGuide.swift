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
                let broken = item.disconnecting(.reset, at: .responseBody(after: 3))
                server.route(.get, "/items/:id", responses: broken, item)
                let network = URLSession.shared.retry()
                    .server(baseURL: server.url).environment(\.clock, .immediate())
                let response = try await network.data(.get("items/7"))
                #expect(response.text == "item 7")
                for _ in 1...2 {
                    try await server.takeRequest().expect(.get, "/items/7")
                }
                try server.verify()
            }
        }

        /// The example of a server for uploads.
        @Test func resumesAfterAReset() async throws {
            try await withTestServer { server in
                let uploads = server.routeUploads("/films")
                uploads.enqueue(.disconnect(.reset, after: .bytes(1_000)), at: .append)
                uploads.enqueue(.status(.serviceUnavailable), at: .offset)
                let request = HTTPRequestData(method: .post, url: server.url.appending(path: "films"))
                let film = Data(repeating: 1, count: 5_000)
                try await URLSession.shared.upload(.data(film), to: request, resumable: .automatic)
                #expect(uploads.all.map(\.isComplete) == [true])
                #expect(uploads.all.map(\.repeatedByteCount) == [0])
            }
        }
    }
}
#endif
