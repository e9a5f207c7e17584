#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization

/// An OAuth provider and an API that accepts its tokens.
///
/// It checks codes, proof keys and tokens as a real one does.
final class ScriptedProvider: Sendable {
    struct State {
        var number = 0
        /// The parameters of each authorization request, keyed by the code that was issued for it.
        var codes: [String: [String: String]] = [:]
        var accessTokens: Set<String> = []
        var refreshTokens: Set<String> = []
        var revoked: [String] = []
        var forms: [[String: String]] = []
        /// Responses of the token endpoint that are sent before the regular ones.
        var scriptedResponses: [MockResponse] = []
        var lifetime: Double? = 3_600
        var rotates = true
        var suffix = ""
        var deviceLifetime = 60
        var devicePolls = 0
        var deviceIsApproved = false
        var revocationResponse = MockResponse.ok()
    }

    static let server = OAuthServer(
        issuer: "https://login.example.com",
        authorizationEndpoint: URL(string: "https://login.example.com/authorize"),
        tokenEndpoint: URL(string: "https://login.example.com/token")!,
        revocationEndpoint: URL(string: "https://login.example.com/revoke"),
        deviceAuthorizationEndpoint: URL(string: "https://login.example.com/device")
    )
    static let redirectURI = URL(string: "com.example.shop:/callback")!

    let state = Mutex(State())

    static func system(_ authentication: OAuthClientAuthentication = .none) -> OAuthSystem {
        OAuthSystem(
            server: server,
            clientID: "shop",
            authentication: authentication,
            redirectURI: redirectURI,
            scopes: ["orders", "profile"]
        )
    }

    func set<Value: Sendable>(_ key: any WritableKeyPath<State, Value> & Sendable, _ value: Value) {
        state.withLock { $0[keyPath: key] = value }
    }

    func get<Value: Sendable>(_ key: any KeyPath<State, Value> & Sendable) -> Value {
        state.withLock { $0[keyPath: key] }
    }

    /// Invalidates all access tokens.
    func expireTokens() {
        state.withLock { $0.accessTokens = [] }
    }

    var transport: MockTransport {
        MockTransport { [self] request in response(to: request) }
    }

    private func response(to request: HTTPRequestData) -> MockResponse {
        switch (request.authority, request.path) {
        case ("login.example.com", "/token"): return token(request)
        case ("login.example.com", "/revoke"):
            return state.withLock { state in
                state.revoked.append(Self.form(request)["token"] ?? "")
                return state.revocationResponse
            }
        case ("login.example.com", "/device"):
            let lifetime = state.withLock { $0.deviceLifetime }
            return .text(
                #"{"device_code":"device-secret","user_code":"WDJB-MJHT","verification_uri":"https://login.example.com/go","expires_in":\#(lifetime),"interval":5}"#
            )
        default:
            let token = request.headerFields[.authorization]?.dropFirst("Bearer ".count)
            let isKnown = state.withLock { $0.accessTokens.contains(token.map(String.init) ?? "") }
            return isKnown ? .text("hello") : .status(.unauthorized)
        }
    }

    static func form(_ request: HTTPRequestData) -> [String: String] {
        let text = String(decoding: request.body?.data ?? Data(), as: UTF8.self).replacing("+", with: " ")
        let pairs = text.split(separator: "&")
            .map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    .map { $0.removingPercentEncoding ?? "?" }
                return (parts[0], parts[1])
            }
        return Dictionary(pairs) { "\($0) twice: \($1)" }
    }

    private func token(_ request: HTTPRequestData) -> MockResponse {
        state.withLock { state in
            let form = Self.form(request)
            state.forms.append(form)
            if !state.scriptedResponses.isEmpty { return state.scriptedResponses.removeFirst() }
            switch form["grant_type"] {
            case "authorization_code":
                guard let asked = state.codes.removeValue(forKey: form["code"] ?? ""),
                    asked["redirect_uri"] == form["redirect_uri"],
                    ProofKey(verifier: form["code_verifier"] ?? "")?.challenge == asked["code_challenge"]
                else { return Self.refusal("invalid_grant") }
            case "refresh_token":
                guard state.refreshTokens.contains(form["refresh_token"] ?? "") else {
                    return Self.refusal("invalid_grant")
                }
                guard state.rotates else {
                    return Self.tokens(&state, withRefreshToken: false)
                }
                state.refreshTokens = []
            case "client_credentials":
                return Self.tokens(&state, withRefreshToken: false)
            case "urn:ietf:params:oauth:grant-type:device_code":
                state.devicePolls += 1
                guard form["device_code"] == "device-secret" else { return Self.refusal("invalid_grant") }
                guard state.deviceIsApproved else { return Self.refusal("authorization_pending") }
            default:
                return Self.refusal("unsupported_grant_type")
            }
            return Self.tokens(&state, withRefreshToken: true)
        }
    }

    private static func tokens(_ state: inout State, withRefreshToken hasRefreshToken: Bool) -> MockResponse {
        state.number += 1
        let (access, refresh) = ("access-\(state.number)\(state.suffix)", "refresh-\(state.number)\(state.suffix)")
        state.accessTokens.insert(access)
        var fields: [String] = [#""access_token": "\#(access)""#, #""token_type": "Bearer""#]
        if let lifetime = state.lifetime {
            fields.append(#""expires_in": \#(lifetime)"#)
        }
        if hasRefreshToken {
            state.refreshTokens.insert(refresh)
            fields.append(#""refresh_token": "\#(refresh)""#)
        }
        return .text("{\(fields.joined(separator: ", "))}")
    }

    static func refusal(
        _ code: String,
        _ explanation: String = "no",
        status: HTTPResponse.Status = .badRequest
    ) -> MockResponse {
        MockResponse(
            status: status,
            data: Data(#"{"error": "\#(code)", "error_description": "\#(explanation)"}"#.utf8),
            headerFields: [.contentType: "application/json"]
        )
    }

    // MARK: The authorization page

    /// Approves a page and returns its callback.
    func approve(_ page: URL) -> URL {
        let items = URLComponents(url: page, resolvingAgainstBaseURL: true)?.queryItems ?? []
        let asked = Dictionary(items.map { ($0.name, $0.value ?? "") }) { "\($0) twice: \($1)" }
        let code = state.withLock { state in
            state.number += 1
            let code = "code-\(state.number)\(state.suffix)"
            state.codes[code] = asked
            return code
        }
        let encoded = code.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return URL(string: "\(asked["redirect_uri"] ?? "")?code=\(encoded)&state=\(asked["state"] ?? "")")!
    }
}

/// A user agent that runs a closure in place of the user.
struct ScriptedAgent: OAuthUserAgent {
    let callback: @Sendable (OAuthAuthorization) async throws -> URL

    func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        OAuthCallback(try await callback(authorization), to: authorization)
    }
}

extension ScriptedProvider {
    /// A grant that approves every page.
    var user: OAuthGrant {
        .authorizationCode(ScriptedAgent { self.approve($0.url) })
    }

    /// The stack of an app.
    func network(
        _ client: OAuthClient,
        over transport: MockTransport,
        _ clock: ManualClock = ManualClock()
    ) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            transport.authenticated(oauth: client).server(authority: "api.example.com").server(prefixPath: "v1")
                .environment(\.clock, .manual(clock))
        )
    }
}

extension MockResponse {
    /// A failure of the transport.
    static func failing(_ kind: NetworkingError.Kind) -> MockResponse {
        .failure(NetworkingError(kind, request: HTTPRequestData(path: "/")))
    }
}

extension MockTransport {
    /// The authority and path of each request.
    var destinations: [String] {
        requests.map { "\($0.authority ?? "")\($0.path ?? "")" }
    }
}

/// Returns the `OAuthError` that an error is or has as its underlying error.
func oauthError(_ error: (any Error)?) -> OAuthError? {
    (error as? OAuthError) ?? ((error as? NetworkingError)?.underlying as? OAuthError)
}
#endif
