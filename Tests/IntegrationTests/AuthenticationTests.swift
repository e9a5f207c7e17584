#if TestServer && URLSession
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

extension Loopback {
    /// `authenticated` over real sockets, with a server that accepts each refresh token once.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct AuthenticationTests {
        private struct Tokens: Codable {
            var accessToken: String
            var refreshToken: String
        }

        private final class Accounts: Sendable {
            private let tokens = Mutex(Tokens(accessToken: "access-0", refreshToken: "refresh-0"))
            let refreshes = Atomic(0)
            let reuses = Atomic(0)

            func script(_ server: TestServer) {
                server.route(.get, "/me") { [self] request in
                    let accepted = "Bearer \(tokens.withLock { $0.accessToken })"
                    return request.headerFields[.authorization] == accepted ? .text("Emily") : .status(.unauthorized)
                }
                server.route(.post, "/refresh") { [self] request in
                    let number = refreshes.add(1, ordering: .relaxed).newValue
                    let sent = String(decoding: request.body, as: UTF8.self)
                    let next: Tokens? = tokens.withLock { tokens in
                        guard sent == tokens.refreshToken else { return nil }
                        tokens = Tokens(accessToken: "access-\(number)", refreshToken: "refresh-\(number)")
                        return tokens
                    }
                    guard let next else {
                        reuses.add(1, ordering: .relaxed)
                        return .status(.badRequest)
                    }
                    return try .json(next)
                }
            }

            func expire() {
                tokens.withLock { $0.accessToken = "none" }
            }
        }

        private struct Renewal: AuthenticationDelegate {
            let url: URL

            func refresh(
                _ session: Session,
                after response: HTTPResponseData?,
                over network: any NetworkingComponent
            ) async throws -> Session {
                let body = RequestBody.data(Data((session.refreshToken ?? "").utf8))
                let request = HTTPRequestData(method: .post, url: url.appending(path: "refresh"), body: body)
                let tokens = try await network.request(request, as: Tokens.self)
                return session.renewed(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
            }
        }

        private static let transports = {
            var names = ["URLSession"]
            #if AsyncHTTPClient
            names.append("AsyncHTTPClient")
            #endif
            return names
        }()

        private static func transport(_ name: String) -> any NetworkingComponent {
            #if AsyncHTTPClient
            if name == "AsyncHTTPClient" { return AsyncHTTPClientTransport() }
            #endif
            return URLSessionTransport(configuration: .ephemeral)
        }

        @Test(arguments: transports)
        func aThousandRequestsRefreshOncePerExpiry(name: String) async throws {
            try await withTestServer { server in
                let accounts = Accounts()
                accounts.script(server)
                let session = Session(userID: "emily", accessToken: "access-0", refreshToken: "refresh-0")
                let network = Self.transport(name)
                    .timeout(.seconds(100))
                    .authenticated(with: TokenStore(session, delegate: Renewal(url: server.url)))
                    .checkedStatusCode()
                    .server(baseURL: server.url)
                for round in 1...2 {
                    accounts.expire()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<1_000 {
                            group.addTask { _ = try await network.data(HTTPRequestData(path: "me")) }
                        }
                        try await group.waitForAll()
                    }
                    #expect(accounts.refreshes.load(ordering: .relaxed) == round)
                    server.forgetRequests()
                }
                #expect(accounts.reuses.load(ordering: .relaxed) == 0)
            }
        }

        /// Foundation handles challenges itself, which must not happen here.
        @Test(arguments: transports)
        func stackHandlesChallengesInsteadOfFoundation(name: String) async throws {
            try await withTestServer { server in
                server.route("/") { request in
                    request.headerFields[.authorization] == "Basic ZW1pbHk6cGFzcw=="
                        ? .text("Emily")
                        : TestResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: "Basic realm=\"x\""])
                }
                let network = Self.transport(name).timeout(.seconds(100))
                for (password, status) in [("pass", HTTPResponse.Status.ok), ("wrong", .unauthorized)] {
                    let response =
                        try await network
                        .authenticated(with: BasicCredentials(user: "emily", password: password), preemptive: false)
                        .server(baseURL: server.url).data(HTTPRequestData())
                    #expect(response.status == status)
                }
            }
        }
    }
}
#endif
