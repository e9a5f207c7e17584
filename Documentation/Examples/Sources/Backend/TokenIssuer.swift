import Crypto
import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// The tokens of an OAuth provider, and a user that agrees to everything.
final class TokenIssuer: Sendable {
    private let state = Mutex(State())

    private struct State {
        /// The challenge and the redirect URI of each code.
        var codes: [String: (challenge: String, redirectURI: String)] = [:]
        var accessToken = ""
        var refreshToken = ""
        var issued = 0
        var signIns = 0

        mutating func issueTokens() -> [String: String] {
            issued += 1
            accessToken = "access-\(issued)"
            refreshToken = "refresh-\(issued)"
            return ["access_token": accessToken, "refresh_token": refreshToken, "token_type": "Bearer"]
        }
    }

    /// Makes the current access token invalid.
    func expireAccessToken() {
        state.withLock { $0.accessToken = "" }
    }

    /// The number of times that the user has signed in.
    var signIns: Int {
        state.withLock { $0.signIns }
    }

    /// The number of times that tokens were issued.
    var issued: Int {
        state.withLock { $0.issued }
    }

    /// Whether a request has the current access token.
    func accepts(_ request: RecordedRequest) -> Bool {
        state.withLock { !$0.accessToken.isEmpty && request.headerFields[.authorization] == "Bearer \($0.accessToken)" }
    }

    /// Redirects the browser to the app, with a code.
    func authorize(_ request: RecordedRequest) -> TestResponse {
        let query = request.queryValues
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
    func tokens(for request: RecordedRequest) throws -> TestResponse {
        let form = request.form
        let tokens: [String: String]? = state.withLock { state in
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
        return try tokens.map { try .json($0) } ?? .json(text: #"{"error": "invalid_grant"}"#, status: .badRequest)
    }

    /// The challenge of a verifier (RFC 7636 section 4.2).
    private static func challenge(for verifier: String) -> String {
        Data(SHA256.hash(data: Data(verifier.utf8))).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
