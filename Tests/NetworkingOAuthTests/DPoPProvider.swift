#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization

/// A proof, as a server reads it.
struct Proof {
    let header: [String: Any]
    let claims: [String: Any]
    let thumbprint: String
    /// Whether the key in the header has signed the proof.
    let isSigned: Bool

    struct Malformed: Error {}

    init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64URL.decode(parts[0].utf8), let body = Base64URL.decode(parts[1].utf8),
            let signature = Base64URL.decode(parts[2].utf8),
            let header = try JSONSerialization.jsonObject(with: head) as? [String: Any],
            let claims = try JSONSerialization.jsonObject(with: body) as? [String: Any],
            let jwk = header["jwk"] as? [String: String], jwk["kty"] == "EC", jwk["crv"] == "P-256",
            let x = jwk["x"].flatMap({ Base64URL.decode($0.utf8) }),
            let y = jwk["y"].flatMap({ Base64URL.decode($0.utf8) }), jwk.count == 4
        else { throw Malformed() }
        self.header = header
        self.claims = claims
        let key = try P256.Signing.PublicKey(rawRepresentation: x + y)
        isSigned = try key.isValidSignature(
            P256.Signing.ECDSASignature(rawRepresentation: signature),
            for: Data("\(parts[0]).\(parts[1])".utf8)
        )
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(jwk["x"] ?? "")","y":"\#(jwk["y"] ?? "")"}"#
        thumbprint = Base64URL.encode(SHA256.hash(data: Data(members.utf8)))
    }

    /// A text in the header.
    func field(_ name: String) -> String? {
        header[name] as? String
    }

    /// A text in the claims.
    func claim(_ name: String) -> String? {
        claims[name] as? String
    }

    /// The time at which the proof was made, in whole seconds.
    var date: Date? {
        (claims["iat"] as? Int).map { Date(timeIntervalSince1970: Double($0)) }
    }
}

/// A provider and an API that check proofs as real ones do (RFC 9449 section 4.3).
final class DPoPProvider: Sendable {
    struct State {
        var number = 0
        /// The thumbprint that each token is bound to.
        var accessTokens: [String: String] = [:]
        var refreshTokens: [String: String] = [:]
        /// The identifiers of all proofs.
        var proofs: Set<String> = []
        /// The thumbprint on the page, by the code.
        var codes: [String: String] = [:]
        /// The nonce that each server requires.
        var nonces: [String: String] = [:]
        /// The nonce in each response, if it is not the required one.
        var nextNonce: String?
        var tokenType = "DPoP"
        /// Responses of the API that are sent before the regular ones.
        var scripted: [MockResponse] = []
        /// Responses of the token endpoint that are sent before the regular ones, after its checks.
        var scriptedTokens: [MockResponse] = []
        var deviceIsApproved = false
        var fieldsOfResponses: HTTPFields = [:]
        var complaints: [String] = []
    }

    let state = Mutex(State())
    let clock = ManualClock()

    func set<Value: Sendable>(_ key: any WritableKeyPath<State, Value> & Sendable, _ value: Value) {
        state.withLock { $0[keyPath: key] = value }
    }

    func get<Value: Sendable>(_ key: any KeyPath<State, Value> & Sendable) -> Value {
        state.withLock { $0[keyPath: key] }
    }

    func expireTokens() {
        state.withLock { $0.accessTokens = [:] }
    }

    static func system(_ dpop: OAuthDPoP = .required) -> OAuthSystem {
        var system = ScriptedProvider.system()
        system.dpop = dpop
        return system
    }

    func network(_ client: OAuthClient, over transport: MockTransport) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            transport.authenticated(oauth: client).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    /// A grant that approves every page.
    var user: OAuthGrant {
        .authorizationCode(
            ScriptedAgent { authorization in
                let items = URLComponents(url: authorization.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
                let value = { (name: String) in items.first { $0.name == name }?.value ?? "" }
                let code = self.state.withLock { state in
                    state.number += 1
                    state.codes["code-\(state.number)"] = value("dpop_jkt")
                    return "code-\(state.number)"
                }
                return URL(string: "\(authorization.redirectURI)?code=\(code)&state=\(value("state"))")!
            }
        )
    }

    var transport: MockTransport {
        MockTransport { [self] request in
            state.withLock { state in
                var response: MockResponse =
                    switch request.path {
                    case "/token": token(request, &state)
                    case "/device": .text(Self.deviceCode)
                    default: resource(request, &state)
                    }
                let host = request.authority ?? ""
                if let nonce = state.nextNonce ?? state.nonces[host] {
                    response = response.headerFields([HTTPField.Name("DPoP-Nonce")!: nonce])
                    if state.nonces[host] != nil { state.nonces[host] = nonce }
                }
                return response
            }
        }
    }

    private static let deviceCode = """
        {"device_code": "device-secret", "user_code": "WDJB-MJHT", "interval": 5,
        "verification_uri": "https://login.example.com/go"}
        """

    /// Checks the proof of a request, and returns its thumbprint, or the error code of a refusal.
    private func check(_ request: HTTPRequestData, token: String?, _ state: inout State) -> Result<String, Refusal> {
        guard let text = request.headerFields[HTTPField.Name("DPoP")!], let proof = try? Proof(text) else {
            return .failure(Refusal(code: "invalid_dpop_proof"))
        }
        var url = URLComponents(url: request.url!, resolvingAgainstBaseURL: true)
        url?.query = nil
        let identifier = proof.claim("jti") ?? ""
        let hash = token.map { Base64URL.encode(SHA256.hash(data: Data($0.utf8))) }
        var found: [String: String?] = [:]
        for name in ["htm", "htu", "ath"] { found[name] = proof.claim(name) }
        let expected: [String: String?] = ["htm": request.method.rawValue, "htu": url?.string, "ath": hash]
        let isTyped = proof.field("typ") == "dpop+jwt" && proof.field("alg") == "ES256"
        let isNew = state.proofs.insert(identifier).inserted && !identifier.isEmpty
        let now = Date(timeIntervalSince1970: clock.date.timeIntervalSince1970.rounded(.down))
        guard found == expected, isTyped, isNew, proof.isSigned, proof.date == now else {
            state.complaints.append("\(found), typed: \(isTyped), new: \(isNew), signed: \(proof.isSigned)")
            return .failure(Refusal(code: "invalid_dpop_proof"))
        }
        if let nonce = state.nonces[request.authority ?? ""], proof.claim("nonce") != nonce {
            return .failure(Refusal(code: "use_dpop_nonce"))
        }
        return .success(proof.thumbprint)
    }

    private struct Refusal: Error {
        let code: String
    }

    private func token(_ request: HTTPRequestData, _ state: inout State) -> MockResponse {
        let form = ScriptedProvider.form(request)
        guard state.tokenType == "DPoP" else {
            state.accessTokens["bearer"] = ""
            return .text(#"{"access_token": "bearer", "token_type": "\#(state.tokenType)", "refresh_token": "r"}"#)
        }
        let thumbprint: String
        switch check(request, token: nil, &state) {
        case .success(let found): thumbprint = found
        case .failure(let refusal): return ScriptedProvider.refusal(refusal.code)
        }
        let isBound =
            switch form["grant_type"] {
            case "authorization_code": state.codes.removeValue(forKey: form["code"] ?? "") == thumbprint
            case "refresh_token": state.refreshTokens.removeValue(forKey: form["refresh_token"] ?? "") == thumbprint
            default: true
            }
        guard isBound else { return ScriptedProvider.refusal("invalid_grant") }
        if form["device_code"] != nil, !state.deviceIsApproved {
            return ScriptedProvider.refusal("authorization_pending")
        }
        if !state.scriptedTokens.isEmpty { return state.scriptedTokens.removeFirst() }
        state.number += 1
        let (access, refresh) = ("access-\(state.number)", "refresh-\(state.number)")
        state.accessTokens[access] = thumbprint
        state.refreshTokens[refresh] = thumbprint
        return .text(
            #"{"access_token": "\#(access)", "token_type": "DPoP", "expires_in": 3600, "refresh_token": "\#(refresh)"}"#
        )
    }

    private func resource(_ request: HTTPRequestData, _ state: inout State) -> MockResponse {
        guard let field = request.headerFields[.authorization] else {
            return MockResponse(status: .ok, data: Data("public".utf8))
        }
        if field == "Bearer bearer" { return .text("hello") }
        guard field.hasPrefix("DPoP ") else { return .status(.unauthorized) }
        let token = String(field.dropFirst("DPoP ".count))
        switch check(request, token: token, &state) {
        case .failure(let refusal):
            return .status(
                .unauthorized,
                headerFields: [.wwwAuthenticate: #"DPoP error="\#(refusal.code)", algs="ES256""#]
            )
        case .success(let thumbprint):
            guard state.accessTokens[token] == thumbprint else {
                return .status(.unauthorized, headerFields: [.wwwAuthenticate: #"DPoP error="invalid_token""#])
            }
        }
        if !state.scripted.isEmpty { return state.scripted.removeFirst() }
        return MockResponse(status: .ok, data: Data("hello".utf8), headerFields: state.fieldsOfResponses)
    }
}

extension MockTransport {
    /// The proofs of the requests, in order.
    var proofs: [Proof?] {
        requests.map { request in
            request.headerFields[HTTPField.Name("DPoP")!].flatMap { try? Proof($0) }
        }
    }
}
#endif
