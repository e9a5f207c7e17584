#if Crypto
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The endpoints of a provider, and what it says of itself (RFC 8414).
///
/// ```swift
/// let server = OAuthServer(
///     authorizationEndpoint: URL(string: "https://login.example.com/authorize")!,
///     tokenEndpoint: URL(string: "https://login.example.com/token")!
/// )
/// ```
///
/// A provider that publishes its metadata needs none of this:
/// ``OAuthSystem/provider(issuer:clientID:authentication:redirectURI:scopes:)``. Every endpoint is https, or on this
/// machine: others are not asked.
public struct OAuthServer: Sendable, Hashable {
    /// What the provider calls itself, which its callbacks may have to repeat (RFC 9207).
    public var issuer: String?
    /// Where users sign in.
    public var authorizationEndpoint: URL?
    /// Where tokens come from.
    public var tokenEndpoint: URL
    /// Where tokens are made void (RFC 7009).
    public var revocationEndpoint: URL?
    /// Where signing in with another device begins (RFC 8628).
    public var deviceAuthorizationEndpoint: URL?
    /// Whether every callback names the issuer, so that one without cannot be the provider's.
    public var namesIssuerInCallbacks: Bool
    /// Its metadata say that it has no PKCE with SHA-256.
    var lacksProofKeys = false

    /// Creates the description of a provider.
    ///
    /// - Parameters:
    ///   - issuer: What the provider calls itself.
    ///   - authorizationEndpoint: Where users sign in.
    ///   - tokenEndpoint: Where tokens come from.
    ///   - revocationEndpoint: Where tokens are made void.
    ///   - deviceAuthorizationEndpoint: Where signing in with another device begins.
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
            ("device authorization", deviceAuthorizationEndpoint),
        ]
        return endpoints.compactMap { (name, url) in url.map { (name, $0) } }
    }

    /// Checks every endpoint before a page is shown or anything is sent.
    func checkEndpoints() throws {
        for (name, url) in endpoints where !url.isProtected || url.fragment() != nil {
            throw OAuthError(
                .misconfigured,
                "The \(name) endpoint of the provider is neither https nor on this machine, or has a fragment, so it is not asked. "
                    + "Use its https URL."
            )
        }
    }
}
#endif
