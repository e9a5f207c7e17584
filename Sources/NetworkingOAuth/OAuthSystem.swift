#if Crypto
public import FoundationForNetworking
public import NetworkingCore

/// A provider of tokens, and the app's registration there.
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
/// ``spotify(clientID:redirectURI:scopes:)`` is predefined. Providers with metadata need only their issuer, and the
/// others need their endpoints (``init(server:clientID:authentication:redirectURI:scopes:)``).
public struct OAuthSystem: Sendable {
    /// The source of the endpoints.
    enum Source: Sendable, Hashable {
        case known(OAuthServer)
        /// The metadata of an issuer.
        case discovered(String)
    }

    let source: Source
    /// The client ID of the app at the provider.
    public var clientID: String
    /// The client authentication of the app at the token endpoint.
    public var authentication: OAuthClientAuthentication
    /// The redirect URI as registered with the provider; `nil` for grants without a page.
    ///
    /// A loopback URI (`http://127.0.0.1/callback`) without a port matches any port (RFC 8252 section 7.3). An app with
    /// several providers uses a separate URI for each, so that no provider can pass off its callback as another's (RFC
    /// 9700 section 4.4).
    public var redirectURI: URL?
    /// The scopes to request.
    public var scopes: [String]
    /// The method by which requests select these credentials in a stack with several.
    public var authenticationMethod = AuthenticationMethod.oauth
    /// Additional query items for the sign-in page, such as `prompt` or `login_hint`.
    public var authorizationParameters: [URLQueryItem] = []
    /// Additional fields for each request to the token endpoint, such as `audience`.
    public var tokenParameters: [URLQueryItem] = []
    /// The identifiers of the resources that the tokens are for (RFC 8707), which are sent with each request for them.
    ///
    /// They replace the parameters with the name `resource`.
    public var resources: [String] = []
    /// Whether tokens are bound to a private key (RFC 9449); not by default.
    public var dpop = OAuthDPoP.disabled
    /// Replaces the requests to the endpoints of a provider that deviates from the protocol; `nil` by default.
    ///
    /// ```swift
    /// var system = OAuthSystem.provider(issuer: "https://login.example.com", clientID: "shop")
    /// system.prepareRequest = { original in
    ///     var request = original.request
    ///     let fields = original.fields.map { ($0.name, $0.value ?? "") }
    ///     request.body = .json(Dictionary(fields) { first, _ in first })
    ///     return request
    /// }
    /// ```
    ///
    /// The result must go to https or to this machine. It is sent once, without credentials of the stack and without
    /// following redirects. A proof (``dpop``) is added to the result. An error of the closure fails the sign-in or the
    /// renewal.
    public var prepareRequest: (@Sendable (OAuthEndpointRequest) async throws -> HTTPRequestData)?
    /// Reads the token responses of a provider that deviates from the protocol; `nil` by default.
    ///
    /// ```swift
    /// var system = OAuthSystem.provider(issuer: "https://login.example.com", clientID: "shop")
    /// system.readFields = { response in
    ///     struct Envelope: Decodable { var token: String }
    ///     guard let envelope = try? JSONDecoder().decode(Envelope.self, from: response.data) else { return nil }
    ///     var fields = OAuthTokenFields()
    ///     fields.accessToken = envelope.token
    ///     return fields
    /// }
    /// ```
    ///
    /// If it returns `nil`, the client reads the response as a standard one. An error of the closure fails the sign-in
    /// or the renewal.
    public var readFields: (@Sendable (HTTPResponseData) throws -> OAuthTokenFields?)?

    /// Creates a system from the endpoints of a provider.
    ///
    /// - Parameters:
    ///   - server: The endpoints.
    ///   - clientID: The client ID of the app at the provider.
    ///   - authentication: The client authentication of the app; `.none` for an app that runs on its users' devices.
    ///   - redirectURI: The URI to which the provider redirects users.
    ///   - scopes: The scopes to request.
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

    /// Returns a system for a provider that publishes its metadata (RFC 8414, OpenID Connect Discovery 1.0).
    ///
    /// The metadata is loaded when it is first needed.
    ///
    /// - Parameters:
    ///   - issuer: The identifier of the provider: an https URL. A trailing slash makes no difference.
    ///   - clientID: The client ID of the app at the provider.
    ///   - authentication: The client authentication of the app.
    ///   - redirectURI: The URI to which the provider redirects users.
    ///   - scopes: The scopes to request.
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
    /// The provider and the client ID, without secrets.
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

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["clientID": clientID, "scopes": scopes])
    }
}

extension AuthenticationMethod {
    /// The tokens of an ``OAuthClient``.
    public static let oauth = AuthenticationMethod(rawValue: "oauth")
}

/// The way an app authenticates itself at a token endpoint (RFC 6749 section 2.3).
public enum OAuthClientAuthentication: Sendable, Hashable {
    /// No authentication, because users could extract a secret: for apps on phones and desktops, and command-line
    /// tools.
    case none
    /// A secret in the Authorization field (`client_secret_basic`).
    case basic(secret: String)
    /// A secret in the body (`client_secret_post`).
    case body(secret: String)

    var secret: String? {
        switch self {
        case .none: nil
        case .basic(let secret), .body(let secret): secret
        }
    }
}

extension OAuthClientAuthentication: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, without the secret.
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

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
#endif
