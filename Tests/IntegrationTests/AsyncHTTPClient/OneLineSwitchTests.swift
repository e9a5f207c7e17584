#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingAsyncHTTPClient
import NetworkingSigning
import NetworkingTestServer
import NetworkingTesting
import Testing

extension Loopback {
    /// An app changes its transport by changing one line.
    @Suite(.timeLimit(.minutes(20)))
    struct OneLineSwitchTests {
        private enum Tenant: NetworkEnvironmentKey {
            static let defaultValue = ""
        }

        /// Returns a stack of every modifier over a transport.
        private static func stack(on transport: some NetworkingComponent, url: URL) -> some NetworkingComponent {
            transport
                .signed(with: PathSigner())
                .authenticated(with: BearerCredentials(token: "token"))
                .timeout(.seconds(60), connect: .seconds(30), head: .seconds(30), idle: .seconds(30))
                .throttled(max: 4)
                .rateLimited(to: 1_000, per: .seconds(1))
                .delayed(by: .zero)
                .intercepted(by: NoOperation(), policy: .never)
                .retry(.immediate())
                .redirected()
                .checkedStatusCode()
                .deduplicated()
                .cached()
                .deadline(.seconds(100))
                .numbered()
                .logged()
                .traced()
                .observed(by: NoOperation())
                .instrument()
                .server(headerField: .accept, "text/plain")
                .server(baseURL: url)
        }

        private struct NoOperation: RequestInterceptor, NetworkEventObserver {
            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}
        }

        /// Signs the path, which changes at each redirect.
        private struct PathSigner: RequestSigner {
            static let field = HTTPField.Name("X-Path-Signature")!
            let keyID = "path"

            func sign(_ request: inout HTTPRequestData) async throws {
                request.setCredential(request.path ?? "/", for: Self.field)
            }
        }

        @Test(arguments: ["URLSession", "AsyncHTTPClient"])
        func stackOfEveryModifierWorksOverEveryTransport(name: String) async throws {
            let transport: any NetworkingComponent =
                name == "URLSession" ? URLSessionTransport(configuration: .ephemeral) : AsyncHTTPClientTransport()
            try await withTestServer { server in
                server.route(.get, "/hello") { request in
                    server.requests.count < 3 ? .status(.serviceUnavailable) : .redirect(to: "/there?name=Emily")
                }
                server.route(.get, "/there") { request in .text("Hello, \(request.query ?? "")") }
                server.route(.get, "/kept") { request in
                    var response = TestResponse.text(request.headerFields[.authorization] ?? "")
                    response.headerFields[.cacheControl] = "max-age=100"
                    return response
                }
                let network = Self.stack(on: transport, url: server.url)
                let response = try await network.data(HTTPRequestData(path: "hello"))
                #expect(String(decoding: response.data, as: UTF8.self) == "Hello, name=Emily")
                #expect(response.redirects.count == 1)
                #expect(server.requests.map(\.path) == ["/hello", "/hello", "/hello", "/there"])
                #expect(server.requests.map { $0.headerFields[PathSigner.field] } == server.requests.map(\.path))
                for isCached in [false, true] {
                    let kept = try await network.data(HTTPRequestData(path: "kept"))
                    #expect(kept.isCached == isCached)
                    #expect(kept.data == Data("Bearer token".utf8))
                }
                #expect(server.requests.count == 5)
            }
        }
    }
}
#endif
