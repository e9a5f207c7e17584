#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import Testing

extension Loopback {
    /// Bodies in a content coding that the transport does not know are returned unchanged (RFC 9110 section 8.4).
    @Suite(.timeLimit(.minutes(5)))
    struct UnknownCodingTests {
        private let transport = AsyncHTTPClientTransport()

        @Test(arguments: ["example", "br", "gzip, gzip", "identity"])
        func returnsABodyInAnUnknownCodingUnchanged(coding: String) async throws {
            try await withTestServer { server in
                let body = Data("not decoded".utf8)
                server.enqueue(TestResponse(headerFields: [.contentEncoding: coding], body: .data(body)))
                let response = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                #expect(response.data == body)
                #expect(response.headerFields[.contentEncoding] == coding)
                #expect(response.headerFields[.contentLength] == "\(body.count)")
            }
        }
    }
}
#endif
