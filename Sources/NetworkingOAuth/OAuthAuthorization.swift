#if Crypto
public import FoundationForNetworking
import NetworkingCore

/// One attempt to sign a user in: the page to show and the callback to expect (RFC 6749 section 4.1).
///
/// An ``OAuthUserAgent`` receives it. Each authorization has its own state and proof key, so that the callback of one
/// cannot be mistaken for that of another.
public struct OAuthAuthorization: Sendable {
    private let endpoint: URL
    private let items: [URLQueryItem]
    private let state: String
    private let issuer: String?
    private let expectsIssuer: Bool
    let proofKey: ProofKey

    /// The URI to which the provider redirects the user.
    public private(set) var redirectURI: URL

    init(
        for system: OAuthSystem,
        at server: OAuthServer,
        _ parameters: [URLQueryItem] = [],
        boundTo key: DPoPKey? = nil
    ) throws {
        guard let endpoint = server.authorizationEndpoint else {
            throw OAuthError(
                .misconfigured,
                "The provider has no authorization endpoint. Set its authorizationEndpoint, or use another grant."
            )
        }
        guard !server.lacksProofKeys else {
            throw OAuthError(
                .discovery,
                "The provider does not support PKCE with \(ProofKey.method), so the code could be stolen. Ask the "
                    + "provider to support it."
            )
        }
        guard let redirectURI = system.redirectURI, redirectURI.scheme != nil else {
            throw OAuthError(
                .misconfigured,
                "The system has no redirect URI, so the provider could not send the user back. Set the redirect URI "
                    + "that is registered with the provider."
            )
        }
        guard redirectURI.scheme?.lowercased() != "http" || redirectURI.isProtected else {
            throw OAuthError(
                .misconfigured,
                "The redirect URI is plain http to another machine, so the code could be intercepted. Register one "
                    + "with https."
            )
        }
        self.endpoint = endpoint
        self.redirectURI = redirectURI
        issuer = server.issuer
        expectsIssuer = server.namesIssuerInCallbacks
        proofKey = ProofKey()
        state = Base64URL.encode(NetworkEnvironment.current.secureRandom.bytes(16))
        var items = [URLQueryItem(name: "client_id", value: system.clientID)]
        items.append(URLQueryItem(name: "response_type", value: "code"))
        items.append(URLQueryItem(name: Self.redirectItem, value: nil))
        items.append(URLQueryItem(name: "state", value: state))
        items.append(URLQueryItem(name: "code_challenge", value: proofKey.challenge))
        items.append(URLQueryItem(name: "code_challenge_method", value: ProofKey.method))
        if !system.scopes.isEmpty {
            items.append(URLQueryItem(name: "scope", value: system.scopes.joined(separator: " ")))
        }
        if let key {
            // RFC 9449 section 10: the code is of no use with another key.
            items.append(URLQueryItem(name: "dpop_jkt", value: key.thumbprint))
        }
        let names = Set(items.map(\.name) + ["scope"])
        // Items of this attempt override those of the system.
        let given = Set(parameters.map(\.name))
        let further = parameters + system.authorizationParameters.filter { !given.contains($0.name) }
        self.items = items + system.withResources(further.filter { !names.contains($0.name) })
    }

    private static let redirectItem = "redirect_uri"

    /// The URL of the page to show.
    public var url: URL {
        let encoding = QueryEncoding.strict
        let query = items.map { item in
            let value = item.name == Self.redirectItem ? redirectURI.absoluteString : item.value ?? ""
            return "\(encoding.encode(item.name))=\(encoding.encode(value))"
        }
        let page = endpoint.absoluteString
        let separator = !page.contains("?") ? "?" : page.hasSuffix("?") || page.hasSuffix("&") ? "" : "&"
        // A URL followed by URL-encoded text is always a valid URL.
        return URL(string: page + separator + query.joined(separator: "&")) ?? endpoint
    }

    /// Returns this authorization with another port in its redirect URI, for a receiver on this machine (RFC 8252
    /// section 7.3).
    ///
    /// - Parameter port: The port on which the receiver listens.
    /// - Returns: The authorization. Its page redirects the user to that port.
    public func redirecting(toPort port: Int) -> OAuthAuthorization {
        guard var components = URLComponents(url: redirectURI, resolvingAgainstBaseURL: true) else { return self }
        components.port = port
        var authorization = self
        authorization.redirectURI = components.url ?? redirectURI
        return authorization
    }

    /// Returns whether a URL is the callback of this authorization.
    ///
    /// The URL must match the redirect URI and carry this authorization's state. It may report a code or an error.
    ///
    /// - Parameter url: The URL.
    /// - Returns: `true` if the URL is the callback of this authorization.
    public func matches(redirect url: URL) -> Bool {
        guard isRedirect(url), let fields = try? CallbackFields(of: url), let state = fields["state"] else {
            return false
        }
        return SecretComparison.areEqual(state, self.state)
    }

    /// Whether both values belong to the same sign-in attempt.
    func isSame(as other: OAuthAuthorization) -> Bool {
        state == other.state
    }

    // MARK: Callbacks

    /// Returns the code in a callback (RFC 6749 section 4.1.2, RFC 9207 section 2.4).
    func code(of callback: URL) throws -> String {
        guard isRedirect(callback) else {
            throw OAuthError(
                .invalidCallback,
                "The callback did not use the redirect URI of the system. Check the redirect URI that is registered "
                    + "with the provider."
            )
        }
        let fields = try CallbackFields(of: callback)
        guard let state = fields["state"], SecretComparison.areEqual(state, self.state) else {
            throw OAuthError(
                .invalidCallback,
                "The state of the callback does not match the state that was sent, so it belongs to another request. "
                    + "Sign in again."
            )
        }
        if let stated = fields["iss"] {
            guard issuer.map({ $0 == stated }) ?? true else { throw Self.wrongIssuer }
        } else if expectsIssuer {
            throw Self.wrongIssuer
        }
        if let error = fields["error"] {
            throw OAuthError(refusal: error, explanation: fields["error_description"], redacting: [self.state])
        }
        guard let code = fields["code"], !code.isEmpty else {
            throw OAuthError(
                .invalidCallback,
                "The callback has neither a code nor an error, so the provider does not use authorization codes."
            )
        }
        return code
    }

    private static var wrongIssuer: OAuthError {
        OAuthError(
            .invalidCallback,
            "The callback does not come from the expected provider (RFC 9207). Do not trust it; sign in again."
        )
    }

    /// Whether a URL equals the redirect URI, apart from the query.
    private func isRedirect(_ url: URL) -> Bool {
        func parts(of url: URL) -> [String] {
            let path = url.path(percentEncoded: true)
            let port = url.port.map { "\($0)" } ?? ""
            return [url.scheme?.lowercased() ?? "", url.host()?.lowercased() ?? "", port, path == "/" ? "" : path]
        }
        return parts(of: url) == parts(of: redirectURI)
    }
}

/// The parameters that a provider sends in the query of a redirect.
private struct CallbackFields {
    private var values: [String: String] = [:]

    init(of url: URL) throws {
        let text = url.absoluteString.prefix { $0 != "#" }
        guard let question = text.firstIndex(of: "?") else { return }
        for item in text[question...].dropFirst().split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = PercentEncoding.decode(parts[0])
            // A plus sign is kept: providers forget to encode it, and neither a code nor a state contains spaces.
            let value = parts.count > 1 ? PercentEncoding.decode(parts[1]) : ""
            guard values.updateValue(value, forKey: name) == nil else {
                throw OAuthError(
                    .invalidCallback,
                    "The callback has a parameter twice (RFC 6749 section 3.1), so it is ambiguous. Sign in again."
                )
            }
        }
    }

    subscript(name: String) -> String? {
        values[name]
    }
}

extension OAuthError {
    /// Creates the error for a refusal in a callback (RFC 6749 section 4.1.2.1).
    fileprivate init(refusal code: String, explanation: String?, redacting secrets: [String]) {
        let refusal = ProviderError(code: code, explanation: explanation?.replacing("+", with: " "), redacting: secrets)
        guard refusal.code != "access_denied" else {
            self.init(.denied, code: refusal.code, "The user did not agree to sign in\(refusal.text).")
            return
        }
        self.init(
            .authorizationRefused,
            code: refusal.code,
            "The provider refused to sign the user in\(refusal.text). Check the redirect URI and the scopes that are "
                + "registered with it."
        )
    }
}

extension OAuthAuthorization: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The provider's host, without the state or the proof key.
    public var description: String {
        "OAuthAuthorization(\(endpoint.host() ?? "unknown"))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["endpoint": endpoint.host() ?? "unknown"])
    }
}
#endif
