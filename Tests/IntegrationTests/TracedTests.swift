#if TestServer && URLSession
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import TestSupport
import Testing

extension Loopback {
    /// `traced` over real sockets: the header fields that a server receives.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct TracedTests {
        @Test func everyExchangeIsASpanOfOneTrace() async throws {
            try await withTestServer { server in
                server.route(.get, "/start") { _ in .redirect(to: "\(server.url)/end") }
                server.route(.get, "/end") { _ in .ok }
                let network = URLSession.shared.traced().server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData(path: "start"))
                let contexts = server.requests.compactMap { TraceContext(headerFields: $0.headerFields) }
                #expect(contexts.count == 2)
                #expect(Set(contexts.map(\.parent.traceID)).count == 1)
                #expect(Set(contexts.map(\.parent.parentID)).count == 2)
                #expect(response.sentRequest.traceContext == contexts.last)
            }
        }
    }
}
#endif
