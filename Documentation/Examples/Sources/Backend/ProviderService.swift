import Crypto
import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Plays an OAuth provider, a user that agrees to everything, the browser, and an API that requires a token.
package final class ProviderService: Service {
    private let state = Mutex(State())

    private struct State {
        /// The challenge and the redirect URI of each code.
        var codes: [String: (challenge: String, redirectURI: String)] = [:]
        var accessToken = ""
        var refreshToken = ""
        var issued = 0
        var signIns = 0
        var revocations = 0

        mutating func issueTokens() -> [String: String] {
            issued += 1
            accessToken = "access-\(issued)"
            refreshToken = "refresh-\(issued)"
            return ["access_token": accessToken, "refresh_token": refreshToken, "token_type": "Bearer"]
        }
    }

    package init() {}

    /// Opens a page as a browser does, and follows its redirect.
    package func openInBrowser(_ page: URL) async throws {
        try await URLSession.shared.data(HTTPRequestData(url: page))
    }

    /// Makes the current access token invalid.
    package func expireAccessToken() {
        state.withLock { $0.accessToken = "" }
    }

    /// The number of times that the user has signed in.
    package var signIns: Int {
        state.withLock { $0.signIns }
    }

    /// The number of tokens that were revoked.
    package var revocations: Int {
        state.withLock { $0.revocations }
    }

    package func script(_ server: TestServer) {
        let root = server.url.absoluteString
        let metadata = [
            "issuer": root,
            "authorization_endpoint": "\(root)/authorize",
            "token_endpoint": "\(root)/token",
            "revocation_endpoint": "\(root)/revoke",
        ]
        server.route(.get, "/.well-known/oauth-authorization-server") { _ in try .json(metadata) }
        server.route(.get, "/authorize") { [self] request in authorize(request.queryValues) }
        server.route(.post, "/token") { [self] request in
            guard let tokens = tokens(for: request.form) else {
                return .json(text: #"{"error": "invalid_grant"}"#, status: .badRequest)
            }
            return try .json(tokens)
        }
        server.route(.post, "/revoke") { [self] _ in
            state.withLock { $0.revocations += 1 }
            return .ok
        }
        server.route(.get, "/orders") { [self] request in
            let isValid = state.withLock { request.headerFields[.authorization] == "Bearer \($0.accessToken)" }
            return isValid ? .json(text: #"["Espresso cup", "Moka pot"]"#) : .status(.unauthorized)
        }
    }

    /// Redirects the browser to the app, with a code.
    private func authorize(_ query: [String: String]) -> TestResponse {
        guard let challenge = query["code_challenge"], query["code_challenge_method"] == "S256",
            let redirectURI = query["redirect_uri"], let callback = URL(string: redirectURI)
        else { return .status(.badRequest) }
        let code = UUID().uuidString
        state.withLock { state in
            state.signIns += 1
            state.codes[code] = (challenge, redirectURI)
        }
        let items = [URLQueryItem(name: "code", value: code), URLQueryItem(name: "state", value: query["state"])]
        return .redirect(to: callback.appending(queryItems: items).absoluteString)
    }

    /// Issues tokens for a code or a refresh token, each of which is valid once.
    private func tokens(for form: [String: String]) -> [String: String]? {
        state.withLock { state in
            switch form["grant_type"] {
            case "authorization_code":
                guard let code = form["code"].flatMap({ state.codes.removeValue(forKey: $0) }),
                    form["redirect_uri"] == code.redirectURI,
                    Self.challenge(for: form["code_verifier"] ?? "") == code.challenge
                else { return nil }
            case "refresh_token":
                guard form["refresh_token"] == state.refreshToken else { return nil }
            default:
                return nil
            }
            return state.issueTokens()
        }
    }

    /// The challenge of a verifier (RFC 7636 section 4.2).
    private static func challenge(for verifier: String) -> String {
        Data(SHA256.hash(data: Data(verifier.utf8))).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
