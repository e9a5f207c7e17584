#if TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// The URLSession transport on real sockets, with the shared session and with its own, in addition to the
    /// conformance suite of every transport.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct URLSessionTransportTests {
        enum Kind: String, CaseIterable, CustomTestStringConvertible {
            case sharedSession
            case ownSession

            var transport: any NetworkingComponent {
                switch self {
                case .sharedSession: URLSession.shared
                case .ownSession: URLSessionTransport(configuration: .ephemeral)
                }
            }

            var testDescription: String {
                rawValue
            }
        }

        // MARK: Messages

        @Test(arguments: Kind.allCases)
        func returnsTheResponse(kind: Kind) async throws {
            try await withTestServer { server in
                server.route(.get, "/hello") { _ in
                    TestResponse(
                        headerFields: [.contentType: "text/plain", .eTag: "\"1\""],
                        body: .data(Data("Hello".utf8))
                    )
                }
                let network = kind.transport.server(baseURL: server.url)
                let response = try await network.data(HTTPRequestData(path: "hello"))
                #expect(response.status == .ok)
                #expect(response.status.reasonPhrase == "OK")
                #expect(response.headerFields[.eTag] == "\"1\"")
                #expect(response.data == Data("Hello".utf8))
                #expect(response.url == server.url.appending(path: "hello"))
            }
        }

        @Test(arguments: Kind.allCases)
        func sendsHeaderFields(kind: Kind) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = kind.transport.server(userAgent: "Shop/2.1").server(baseURL: server.url)
                var request = HTTPRequestData(headerFields: [.accept: "text/plain", .cacheControl: "no-cache"])
                request.headerFields[.acceptLanguage] = "de"
                try await network.data(request)
                let fields = try #require(server.requests.first).headerFields
                #expect(fields[.accept] == "text/plain")
                #expect(fields[.cacheControl] == "no-cache")
                #expect(fields[.acceptLanguage] == "de")
                #expect(fields[.userAgent] == "Shop/2.1")
            }
        }

        // MARK: Redirects

        @Test(arguments: Kind.allCases)
        func doesNotSendCredentialsToAnotherOrigin(kind: Kind) async throws {
            try await withTestServer { server in
                let elsewhere = "http://localhost:\(server.port)/elsewhere"
                server.route(.get, "/start") { _ in .redirect(to: elsewhere) }
                server.route(.get, "/elsewhere") { _ in .redirect(to: "\(server.url)/back") }
                server.route(.get, "/back") { _ in .ok }
                let network = kind.transport.server(baseURL: server.url)
                var request = HTTPRequestData(path: "start")
                request.headerFields[.authorization] = "Bearer token-1"
                request.headerFields[.cookie] = "session=1"
                let response = try await network.data(request)
                #expect(response.redirects.count == 2)
                #expect(server.requests.map { $0.headerFields[.authorization] } == ["Bearer token-1", nil, nil])
                #expect(server.requests.map { $0.headerFields[.cookie] } == ["session=1", nil, nil])
            }
        }

        @Test func storesCookiesInItsConfiguration() async throws {
            try await withTestServer { server in
                server.route(.get, "/login") { _ in
                    TestResponse(
                        status: .found,
                        headerFields: [
                            .location: "/home", .setCookie: "id=1; Path=/; Expires=Wed, 09 Jun 2100 10:18:14 GMT",
                        ]
                    )
                }
                server.route(.get, "/home") { _ in .ok }
                let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
                try await network.data(HTTPRequestData(path: "login"))
                try await network.data(HTTPRequestData(path: "home", headerFields: [.cookie: "own=2"]))
                try await network.data(HTTPRequestData(path: "home"))
                #expect(server.requests.map { $0.headerFields[.cookie] } == [nil, "id=1", "own=2", "id=1"])
            }
        }

        @Test func storesNoCookiesIfTheConfigurationForbidsIt() async throws {
            try await withTestServer { server in
                server.route(.get, "/") { _ in TestResponse(headerFields: [.setCookie: "id=1; Path=/"]) }
                let configuration = URLSessionConfiguration.ephemeral
                configuration.httpCookieAcceptPolicy = .never
                let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                try await network.data(HTTPRequestData())
                #expect(server.requests.map { $0.headerFields[.cookie] } == [nil, nil])
            }
        }

        // MARK: Failures

        @Test(arguments: Kind.allCases)
        func reportsATruncatedBody(kind: Kind) async throws {
            try await withTestServer { server in
                server.route(.get, "/") { _ in
                    TestResponse(headerFields: [.contentLength: "100"], body: .data(Data("only these".utf8)))
                }
                let network = kind.transport.server(baseURL: server.url)
                let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
                #expect(error?.kind == .truncated)
                #expect(error?.response?.status == .ok)
                #expect(error?.reason.contains("10 of 100") == true)
            }
        }

        @Test(arguments: Kind.allCases)
        func reportsAConnectionErrorForAClosedPort(kind: Kind) async throws {
            // Port 1 is reserved and has no server.
            let network = kind.transport.server(baseURL: try #require(URL(string: "http://127.0.0.1:1")))
            let error = await #expect(throws: NetworkingError.self) {
                try await network.data(HTTPRequestData(path: "x"))
            }
            #expect(error?.kind == .connection)
            #expect(error?.underlying is URLError)
            #expect(error?.request.url == URL(string: "http://127.0.0.1:1/x"))
        }

        @Test(arguments: Kind.allCases)
        func reportsAClosedConnection(kind: Kind) async throws {
            try await withTestServer { server in
                server.route(.get, "/") { _ in .hangUp }
                let network = kind.transport.server(baseURL: server.url)
                let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
                #expect(error?.kind == .invalidResponse || error?.kind == .connectionLost)
            }
        }

        #if canImport(FoundationNetworking)
        @Test func rejectsASessionWithACustomDelegate() async throws {
            final class Delegate: NSObject, URLSessionDelegate {}
            let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            let network = session.server(authority: "api.example.com")
            let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.reason.contains("URLSessionTransport") == true)
        }
        #endif

        // MARK: Cancellation and time

        @Test(arguments: Kind.allCases)
        func cancelledCallerReturnsAtOnceAndTheServerHandlerIsCancelled(kind: Kind) async throws {
            try await withTestServer { server in
                let handlerWasCancelled = Gate()
                let gate = Gate()
                server.route(.get, "/held") { _ in
                    do {
                        try await gate.wait()
                    } catch {
                        handlerWasCancelled.open()
                        throw error
                    }
                    return .ok
                }
                let network = kind.transport.server(baseURL: server.url)
                let call = Task { try await network.data(HTTPRequestData(path: "held")) }
                _ = try await server.waitForRequests(1)
                call.cancel()
                let result = await call.result
                #expect(throws: CancellationError.self) { try result.get() }
                try await handlerWasCancelled.wait()
                #expect(server.requests.count == 1)
            }
        }

        @Test(arguments: Kind.allCases)
        func timeoutEndsTheTransfer(kind: Kind) async throws {
            try await withTestServer { server in
                let gate = Gate()
                server.route(.get, "/held") { _ in
                    try await gate.wait()
                    return .ok
                }
                let clock = ManualClock()
                let network = kind.transport.timeout(.seconds(10)).server(baseURL: server.url)
                    .environment(\.clock, .manual(clock))
                let call = Task { try await network.data(HTTPRequestData(path: "held")) }
                _ = try await server.waitForRequests(1)
                clock.advance(by: .seconds(10))
                let result = await call.result
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .timeout)
            }
        }

        // MARK: Progress and sinks

        @Test(arguments: Kind.allCases)
        func keepsTheLaws(kind: Kind) async throws {
            try await withTestServer { server in
                server.route(.get, "/") { _ in .ok }
                let network = kind.transport.server(baseURL: server.url)
                let request = HTTPRequestData()
                let response = try await network.data(request)
                #expect(response.request == request)
                #expect(response.sentRequest.url == server.url.appending(path: "/"))
                let cancelled = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await network.data(request)
                }
                let result = await cancelled.result
                #expect(throws: CancellationError.self) { try result.get() }
                #expect(server.requests.count == 1)
            }
        }
    }
}
#endif
