import Foundation
import NetworkingOAuth
import NetworkingTestServer
import Synchronization

/// A small but strict OAuth provider, a user that approves everything, and an API that requires a token.
final class Provider: Sendable {
    private let state = Mutex(State())

    private struct State {
        /// The challenge and the redirect URI of each code.
        var codes: [String: (challenge: String, redirectURI: String)] = [:]
        var access = ""
        var refresh = ""
        var revoked: [String] = []
        var issued = 0

        mutating func tokens() -> [String: String] {
            issued += 1
            (access, refresh) = ("access-\(issued)", "refresh-\(issued)")
            return ["access_token": access, "token_type": "Bearer", "refresh_token": refresh]
        }
    }

    /// Makes the current access token invalid.
    func expire() {
        state.withLock { $0.access = "" }
    }

    /// The number of revoked tokens.
    var revocations: Int {
        state.withLock { $0.revoked.count }
    }

    func script(_ server: TestServer) {
        let root = server.url.absoluteString
        let metadata = [
            "issuer": root,
            "authorization_endpoint": "\(root)/authorize",
            "token_endpoint": "\(root)/token",
            "revocation_endpoint": "\(root)/revoke",
        ]
        server.route(.get, "/.well-known/oauth-authorization-server") { _ in try .json(metadata) }
        server.route(.get, "/authorize") { [self] request in authorize(request) }
        server.route(.post, "/token") { [self] request in try token(form(request)) }
        server.route(.post, "/revoke") { [self] request in
            let token = form(request)["token"] ?? ""
            state.withLock { state in
                state.revoked.append(token)
                if token == state.access { state.access = "" }
                if token == state.refresh { state.refresh = "" }
            }
            return .ok
        }
        server.route(.get, "/cups") { [self] request in
            let isGood = state.withLock { request.headerFields[.authorization] == "Bearer \($0.access)" }
            return isGood ? .text("espresso, mocha") : .status(.unauthorized)
        }
    }

    /// Redirects the browser to the app, with a code.
    private func authorize(_ request: RecordedRequest) -> TestResponse {
        let asked = Dictionary(request.queryItems.map { ($0.name, $0.value ?? "") }) { _, last in last }
        guard let challenge = asked["code_challenge"], asked["code_challenge_method"] == ProofKey.method,
            let redirectURI = asked["redirect_uri"], let back = URL(string: redirectURI)
        else { return .status(.badRequest) }
        let code = UUID().uuidString
        state.withLock { $0.codes[code] = (challenge, redirectURI) }
        let parameters = [URLQueryItem(name: "code", value: code), URLQueryItem(name: "state", value: asked["state"])]
        return .redirect(to: back.appending(queryItems: parameters).absoluteString)
    }

    /// Issues tokens for a code or a refresh token, each of which is valid once.
    private func token(_ form: [String: String]) throws -> TestResponse {
        let tokens: [String: String]? = state.withLock { state in
            switch form["grant_type"] {
            case "authorization_code":
                guard let code = form["code"].flatMap({ state.codes.removeValue(forKey: $0) }),
                    form["redirect_uri"] == code.redirectURI,
                    let verifier = form["code_verifier"], ProofKey(verifier: verifier)?.challenge == code.challenge
                else { return nil }
            case "refresh_token":
                guard form["refresh_token"] == state.refresh else { return nil }
            default: return nil
            }
            return state.tokens()
        }
        guard let tokens else { return try .json(["error": "invalid_grant"], status: .badRequest) }
        return try .json(tokens)
    }

    private func form(_ request: RecordedRequest) -> [String: String] {
        var components = URLComponents()
        components.percentEncodedQuery = String(decoding: request.body, as: UTF8.self)
        let items = components.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { _, last in last }
    }
}
