#if TestServer && URLSession && AsyncHTTPClient
import AsyncHTTPClient
import CLibraryForNetworking
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// The server and the path that transports send, compared with those of the request.
    @Suite(.timeLimit(.minutes(20)))
    struct SentTargetTests {
        enum Client: String, CaseIterable, Sendable {
            case urlSession, asyncHTTPClient

            var transport: any NetworkingComponent {
                switch self {
                case .urlSession: URLSessionTransport(configuration: .ephemeral)
                case .asyncHTTPClient: AsyncHTTPClientTransport()
                }
            }
        }

        /// A path with an escape that is not UTF-8 became `/` over AsyncHTTPClient.
        @Test(
            arguments: Client.allCases,
            [
                "/target/caf%E9/menu?id=1", "/%FF", "/%C3%28?a=%FF", "/caf%C3%A9", "/a%00b", "/a/../b?c", "//a//b",
                "/a?b=/../c", "/%2e%2e/x", "/a;b=c/*",
            ]
        )
        func sendsTheTargetOfTheRequest(client: Client, path: String) async throws {
            try await withTestServer { server in
                server.route("/*") { _ in .ok }
                let network = client.transport.server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData(method: .delete, path: path))
                #expect(server.requests.map(\.target) == [response.sentRequest.requestTarget])
                #expect(server.requests.map(\.method) == [.delete])
            }
        }

        @Test(arguments: Client.allCases)
        func sendsNoFragmentOfALocation(client: Client) async throws {
            try await withTestServer { server in
                server.route("/a") { _ in .redirect(to: "/b?c#part") }
                server.route("/b") { _ in .text("there") }
                let response = try await client.transport.server(baseURL: server.url).data(HTTPRequestData(path: "a"))
                #expect(response.text == "there")
                #expect(server.requests.map(\.target) == ["/a", "/b?c"])
                #expect(response.url?.fragment() == nil)
                #expect(response.redirects.map { $0.response.headerFields[.location] } == ["/b?c#part"])
            }
        }

        @Test func clientOfTheAppSendsTheTargetOrFails() async throws {
            try await withTestServer { server in
                server.route("/*") { _ in .ok }
                let request = HTTPRequestData(method: .delete, path: "/caf%E9")
                let guarded = HTTPClient(configuration: .networking)
                let plain = HTTPClient(
                    configuration: HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .disabled)
                )
                try await guarded.server(baseURL: server.url).data(request)
                let error = await #expect(throws: NetworkingError.self) {
                    try await plain.server(baseURL: server.url).data(request)
                }
                try await guarded.shutdown()
                try await plain.shutdown()
                #expect(error?.kind == .invalidRequest)
                #expect(server.requests.map(\.target) == ["/caf%E9"])
            }
        }

        @Test func sendsTheAsteriskOrFails() async throws {
            try await withTestServer { server in
                server.route("/*") { _ in .ok }
                let request = HTTPRequestData(method: .options, path: "*")
                try await AsyncHTTPClientTransport().server(baseURL: server.url).data(request)
                let error = await #expect(throws: NetworkingError.self) {
                    try await URLSessionTransport().server(baseURL: server.url).data(request)
                }
                #expect(error?.kind == .invalidRequest)
                #expect(server.requests.map(\.target) == ["*"])
            }
        }

        /// swift-corelibs-foundation refuses these addresses if they are written as usual.
        @Test(arguments: Client.allCases, ["[::ffff:127.0.0.1]", "127.1", "2130706433"])
        func sendsToAddressesInEverySpelling(client: Client, host: String) async throws {
            try await withTestServer { server in
                server.route("/*") { _ in .ok }
                let request = HTTPRequestData(scheme: "http", authority: "\(host):\(server.port)", path: "/a?b=%20c")
                try await client.transport.data(request)
                #expect(server.requests.map(\.target) == ["/a?b=%20c"])
            }
        }

        // MARK: Errors

        @Test func errorOfURLSessionHasNoURL() async throws {
            let request = HTTPRequestData(
                scheme: "http",
                authority: "127.0.0.1:1",
                path: "/a?api_key=secret-1"
            )
            let error = await #expect(throws: NetworkingError.self) {
                try await URLSessionTransport(configuration: .ephemeral).data(request)
            }
            let underlying = try #require(error?.underlying)
            var dumped = ""
            dump(underlying, to: &dumped)
            #expect("\(underlying) \((underlying as NSError).userInfo) \(dumped)".contains("secret-1") == false)
            #expect((underlying as? URLError)?.code == .cannotConnectToHost)
        }

        // MARK: Proxies

        #if os(Linux)
        @Test func loopbackDoesNotGoThroughTheProxyOfTheEnvironment() async {
            await #expect(processExitsWith: .success) {
                setenv("http_proxy", "http://127.0.0.1:1", 1)
                unsetenv("no_proxy")
                unsetenv("NO_PROXY")
                try await withTestServer { server in
                    server.route("/*") { _ in .ok }
                    let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                    let error = await #expect(throws: NetworkingError.self) { try await network.data(.get("a")) }
                    #expect(error?.kind == .invalidRequest)
                    #expect(error?.reason.contains("no_proxy") == true)
                    setenv("no_proxy", "127.0.0.0/8", 1)
                    try await network.data(.get("a"))
                    #expect(server.requests.count == 1)
                }
            }
        }
        #endif

        @Test func loopbackDoesNotGoThroughTheProxyOfAConfiguration() async throws {
            var configuration = HTTPClient.Configuration.networking
            configuration.proxy = .server(host: "127.0.0.1", port: 1)
            let request = HTTPRequestData(
                scheme: "http",
                authority: "localhost:2",
                headerFields: [.authorization: "Bearer secret-1"]
            )
            let client = HTTPClient(configuration: configuration)
            for network in [AsyncHTTPClientTransport(configuration: configuration), client] as [any NetworkingComponent]
            {
                let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
                #expect(error?.kind == .invalidRequest)
                #expect(error?.reason.contains("proxy") == true)
            }
            try await client.shutdown()
        }
    }
}

extension RecordedRequest {
    fileprivate var target: String {
        query.map { "\(path)?\($0)" } ?? path
    }
}
#endif
