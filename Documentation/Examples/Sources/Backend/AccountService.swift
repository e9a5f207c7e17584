import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates dummyjson.com with one user: login with a password, and new tokens for a refresh token.
package final class AccountService: Service {
    private let state = Mutex(State())
    private let slowCall = Gate()

    private struct State {
        var number = 0
        var isExpired = false
        var refreshes = 0
    }

    private struct Tokens: Encodable {
        let id = 1
        let accessToken: String
        let refreshToken: String
    }

    package init() {}

    /// Makes the current access token invalid.
    package func expireAccessToken() {
        state.withLock { $0.isExpired = true }
    }

    /// The number of times that a client has renewed its tokens.
    package var refreshes: Int {
        state.withLock { $0.refreshes }
    }

    /// Waits until a request for the posts has arrived.
    ///
    /// Its response takes half a minute.
    package func waitForSlowCall() async throws {
        try await slowCall.wait()
    }

    package func script(_ server: TestServer) {
        server.route(.post, "/auth/login") { [self] request in
            let form = try request.json(as: [String: String].self)
            guard form == ["username": "emilys", "password": "emilyspass"] else {
                return .json(text: #"{"message": "Invalid credentials"}"#, status: .badRequest)
            }
            return try .json(newTokens())
        }
        server.route(.get, "/auth/me") { [self] request in
            guard accepts(request) else { return Self.refusal }
            return .json(text: #"{"id": 1, "username": "emilys", "firstName": "Emily"}"#)
        }
        server.route(.post, "/auth/refresh") { [self] request in
            let sent = try request.json(as: [String: String].self)["refreshToken"]
            guard sent == state.withLock({ "refresh-\($0.number)" }) else { return .status(.forbidden) }
            state.withLock { $0.refreshes += 1 }
            return try .json(newTokens())
        }
        server.route(.get, "/posts") { [self] request in
            guard accepts(request) else { return Self.refusal }
            slowCall.open()
            return .text("[]").delayed(head: .seconds(30))
        }
    }

    private static var refusal: TestResponse {
        .json(text: #"{"message": "Invalid/Expired Token!"}"#, status: .unauthorized)
    }

    private func accepts(_ request: RecordedRequest) -> Bool {
        state.withLock { state in
            !state.isExpired && request.headerFields[.authorization] == "Bearer access-\(state.number)"
        }
    }

    private func newTokens() -> Tokens {
        state.withLock { state in
            state.number += 1
            state.isExpired = false
            return Tokens(accessToken: "access-\(state.number)", refreshToken: "refresh-\(state.number)")
        }
    }
}
