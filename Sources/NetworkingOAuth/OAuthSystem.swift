#if Crypto
public import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A provider of tokens, and what it knows an app by.
///
/// ```swift
/// let system = OAuthSystem.provider(
///     issuer: "https://login.example.com",
///     clientID: "shop",
///     redirectURI: URL(string: "com.example.shop:/callback")!,
///     scopes: ["openid", "orders"]
/// )
/// ```
///
/// ``spotify(clientID:redirectURI:scopes:)`` is ready; others with metadata take their issuer, and those without their
/// endpoints (``init(server:clientID:authentication:redirectURI:scopes:)``).
public struct OAuthSystem: Sendable {
    /// Where the endpoints come from.
    enum Source: Sendable, Hashable {
        case known(OAuthServer)
        /// The metadata of an issuer.
        case discovered(String)
    }

    let source: Source
    /// What the provider knows the app by.
    public var clientID: String
    /// How the app proves that it is the app, at the token endpoint.
    public var authentication: OAuthClientAuthentication
    /// Where the provider sends users back to, as it is registered there; nil for grants without a page.
    ///
    /// On loopback (`http://127.0.0.1/callback`) without a port it stands for any port (RFC 8252 section 7.3). An app
    /// with several providers has one for each, so that none can pass off an answer as another's (RFC 9700 section
    /// 4.4).
    public var redirectURI: URL?
    /// What the tokens are to be good for.
    public var scopes: [String]
    /// How requests name these credentials, where a stack has several.
    public var authenticationMethod = AuthenticationMethod.oauth
    /// Further query items for the page where users sign in, such as `prompt` or `login_hint`.
    public var authorizationParameters: [URLQueryItem] = []
    /// Further fields for each request to the token endpoint, such as `resource` (RFC 8707) or `audience`.
    public var tokenParameters: [URLQueryItem] = []

    /// Creates a system from the endpoints of a provider.
    ///
    /// - Parameters:
    ///   - server: The endpoints.
    ///   - clientID: What the provider knows the app by.
    ///   - authentication: How the app proves that it is the app; nothing, for an app that is on its users' devices.
    ///   - redirectURI: Where the provider sends users back to.
    ///   - scopes: What the tokens are to be good for.
    public init(
        server: OAuthServer,
        clientID: String,
        authentication: OAuthClientAuthentication = .none,
        redirectURI: URL? = nil,
        scopes: [String] = []
    ) {
        self.init(.known(server), clientID, authentication, redirectURI, scopes)
    }

    private init(
        _ source: Source,
        _ clientID: String,
        _ authentication: OAuthClientAuthentication,
        _ redirectURI: URL?,
        _ scopes: [String]
    ) {
        self.source = source
        self.clientID = clientID
        self.authentication = authentication
        self.redirectURI = redirectURI
        self.scopes = scopes
    }

    /// A provider that publishes its metadata (RFC 8414, OpenID Connect Discovery 1.0), which is got when it is first
    /// needed.
    ///
    /// - Parameters:
    ///   - issuer: What the provider calls itself: an https URL. A slash at its end does not matter.
    ///   - clientID: What the provider knows the app by.
    ///   - authentication: How the app proves that it is the app.
    ///   - redirectURI: Where the provider sends users back to.
    ///   - scopes: What the tokens are to be good for.
    /// - Returns: The system.
    public static func provider(
        issuer: String,
        clientID: String,
        authentication: OAuthClientAuthentication = .none,
        redirectURI: URL? = nil,
        scopes: [String] = []
    ) -> OAuthSystem {
        OAuthSystem(.discovered(issuer), clientID, authentication, redirectURI, scopes)
    }
}

extension OAuthSystem: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The provider and the app's id, and no secret.
    public var description: String {
        let provider =
            switch source {
            case .known(let server): server.tokenEndpoint.host() ?? "unknown"
            case .discovered(let issuer): issuer
            }
        return "OAuthSystem(\(provider), clientID: \(clientID))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["clientID": clientID, "scopes": scopes])
    }
}

extension AuthenticationMethod {
    /// The tokens of an ``OAuthClient``.
    public static let oauth = AuthenticationMethod(rawValue: "oauth")
}

/// How an app proves at a token endpoint that it is the app (RFC 6749 section 2.3).
public enum OAuthClientAuthentication: Sendable, Hashable {
    /// It does not, since its users could read any secret that it has: apps for phones and desktops, and command-line
    /// tools.
    case none
    /// With a secret in the Authorization field (`client_secret_basic`).
    case basic(secret: String)
    /// With a secret in the body (`client_secret_post`).
    case body(secret: String)

    var secret: String? {
        switch self {
        case .none: nil
        case .basic(let secret), .body(let secret): secret
        }
    }
}

extension OAuthClientAuthentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The way, and nothing of the secret.
    public var description: String {
        switch self {
        case .none: "none"
        case .basic: "basic(<redacted>)"
        case .body: "body(<redacted>)"
        }
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
#endif
