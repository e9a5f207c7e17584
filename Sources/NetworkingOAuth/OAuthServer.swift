#if Crypto
public import FoundationForNetworking

/// The endpoints and capabilities of a provider (RFC 8414).
///
/// ```swift
/// let server = OAuthServer(
///     authorizationEndpoint: URL(string: "https://login.example.com/authorize")!,
///     tokenEndpoint: URL(string: "https://login.example.com/token")!
/// )
/// ```
///
/// A provider that publishes its metadata needs none of this: use
/// ``OAuthSystem/provider(issuer:clientID:authentication:redirectURI:scopes:)``. Every endpoint must be https or on
/// this machine; otherwise, signing in fails with ``OAuthError/Kind/misconfigured``.
public struct OAuthServer: Sendable, Hashable {
    /// The identifier of the provider.
    ///
    /// A callback that names another one is rejected (RFC 9207).
    public var issuer: String?
    /// The page where users sign in.
    public var authorizationEndpoint: URL?
    /// The endpoint that issues tokens.
    public var tokenEndpoint: URL
    /// The endpoint that revokes tokens (RFC 7009).
    public var revocationEndpoint: URL?
    /// The endpoint that starts a sign-in with another device (RFC 8628).
    public var deviceAuthorizationEndpoint: URL?
    /// The endpoint that registers apps (RFC 7591).
    public var registrationEndpoint: URL?
    /// Whether every callback names the issuer, so that one without it is rejected.
    public var namesIssuerInCallbacks: Bool
    /// Whether the metadata confirms PKCE with SHA-256.
    ///
    /// A client uses PKCE in any case, unless the metadata excludes it.
    public var confirmsProofKeys = false
    /// The algorithms that the provider supports in proofs of DPoP (RFC 9449 section 5.1); `nil` if they are unknown.
    public var dpopAlgorithms: [String]?
    /// Whether the metadata excludes PKCE with SHA-256.
    var lacksProofKeys = false

    /// Creates the description of a provider.
    ///
    /// - Parameters:
    ///   - issuer: The identifier of the provider.
    ///   - authorizationEndpoint: The page where users sign in.
    ///   - tokenEndpoint: The endpoint that issues tokens.
    ///   - revocationEndpoint: The endpoint that revokes tokens.
    ///   - deviceAuthorizationEndpoint: The endpoint that starts a sign-in with another device.
    ///   - namesIssuerInCallbacks: Whether every callback names the issuer.
    public init(
        issuer: String? = nil,
        authorizationEndpoint: URL? = nil,
        tokenEndpoint: URL,
        revocationEndpoint: URL? = nil,
        deviceAuthorizationEndpoint: URL? = nil,
        namesIssuerInCallbacks: Bool = false
    ) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.revocationEndpoint = revocationEndpoint
        self.deviceAuthorizationEndpoint = deviceAuthorizationEndpoint
        self.namesIssuerInCallbacks = namesIssuerInCallbacks
    }
}

extension OAuthServer {
    /// The endpoints with their names in error messages.
    var endpoints: [(name: String, url: URL)] {
        let endpoints: [(String, URL?)] = [
            ("authorization", authorizationEndpoint), ("token", tokenEndpoint), ("revocation", revocationEndpoint),
            ("device authorization", deviceAuthorizationEndpoint), ("registration", registrationEndpoint),
        ]
        return endpoints.compactMap { (name, url) in url.map { (name, $0) } }
    }

    /// Checks every endpoint before a page is shown or anything is sent.
    func checkEndpoints() throws {
        for (name, url) in endpoints where !url.isProtected || url.fragment() != nil {
            throw OAuthError(
                .misconfigured,
                "The \(name) endpoint of the provider is neither https nor on this machine, or has a fragment, so it "
                    + "is not used. Use its https URL."
            )
        }
    }
}
#endif
