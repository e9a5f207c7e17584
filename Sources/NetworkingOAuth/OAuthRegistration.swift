#if Crypto
public import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
public import NetworkingCore

/// The description of an app for its registration with a provider (RFC 7591 section 2).
public struct OAuthClientMetadata: Sendable, Hashable {
    /// The name of the app, which the provider's pages show to users.
    public var name: String
    /// The URIs to which the provider may redirect users.
    public var redirectURIs: [URL]
    /// The grants that the app uses; an authorization code and its renewal by default.
    public var grantTypes = ["authorization_code", "refresh_token"]
    /// The way the app authenticates itself at the token endpoint; `none` by default, for apps on users' devices.
    public var authenticationMethod = "none"
    /// The scopes that the app may request; empty for those that the provider chooses.
    public var scopes: [String] = []
    /// The page of the app; `nil` if it has none.
    public var page: URL?
    /// Whether the provider should issue only tokens that are bound to a key (RFC 9449 section 5.2).
    public var requiresDPoP = false

    /// Creates a description.
    ///
    /// - Parameters:
    ///   - name: The name of the app.
    ///   - redirectURIs: The URIs to which the provider may redirect users.
    public init(name: String, redirectURIs: [URL]) {
        self.name = name
        self.redirectURIs = redirectURIs
    }
}

extension OAuthClientMetadata: Encodable {
    private enum CodingKeys: String, CodingKey {
        case name = "client_name"
        case redirectURIs = "redirect_uris"
        case grantTypes = "grant_types"
        case responseTypes = "response_types"
        case authenticationMethod = "token_endpoint_auth_method"
        case scope
        case page = "client_uri"
        case requiresDPoP = "dpop_bound_access_tokens"
    }

    /// Encodes the metadata with the names of the RFC.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(name, forKey: .name)
        try values.encode(redirectURIs.map(\.absoluteString), forKey: .redirectURIs)
        try values.encode(grantTypes, forKey: .grantTypes)
        try values.encode(grantTypes.contains("authorization_code") ? ["code"] : [], forKey: .responseTypes)
        try values.encode(authenticationMethod, forKey: .authenticationMethod)
        try values.encodeIfPresent(scopes.isEmpty ? nil : scopes.joined(separator: " "), forKey: .scope)
        try values.encodeIfPresent(page?.absoluteString, forKey: .page)
        try values.encodeIfPresent(requiresDPoP ? true : nil, forKey: .requiresDPoP)
    }
}

/// The registration of an app with a provider (RFC 7591 section 3.2.1).
///
/// Store it like a password, and use it for each sign-in. A provider may refuse an app that registers each time.
public struct OAuthRegistration: Sendable, Hashable, Codable, RedactedDescription {
    /// The client ID of the app.
    public let clientID: String
    /// The secret of the app; `nil` if it has none.
    public let clientSecret: String?
    /// The date at which the secret expires; `nil` if it does not expire.
    public let secretExpirationDate: Date?
    private let sendsSecretInBody: Bool

    /// Creates a registration that the app has received in another way.
    ///
    /// - Parameters:
    ///   - clientID: The client ID of the app.
    ///   - authentication: The client authentication of the app.
    public init(clientID: String, authentication: OAuthClientAuthentication = .none) {
        self.clientID = clientID
        clientSecret = authentication.secret
        secretExpirationDate = nil
        if case .body = authentication { sendsSecretInBody = true } else { sendsSecretInBody = false }
    }

    /// The client authentication for an ``OAuthSystem``.
    public var authentication: OAuthClientAuthentication {
        guard let clientSecret else { return .none }
        return sendsSecretInBody ? .body(secret: clientSecret) : .basic(secret: clientSecret)
    }

    fileprivate init(_ fields: LenientFields, _ response: HTTPResponseData) throws {
        func invalid(_ reason: String) -> OAuthError {
            OAuthError(
                .registration,
                statusCode: response.status.code,
                of: response,
                "The provider's response to the registration \(reason). Report this to the provider."
            )
        }
        guard let clientID = fields["client_id"], !clientID.isEmpty, clientID.utf8.count <= 4_096,
            clientID.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw invalid("has no usable client ID") }
        let secret = fields["client_secret"].flatMap { $0.isEmpty ? nil : $0 }
        // Section 2: without a method, it is the secret in the Authorization field.
        let method = fields["token_endpoint_auth_method"] ?? (secret == nil ? "none" : "client_secret_basic")
        guard ["none", "client_secret_basic", "client_secret_post"].contains(method) else {
            throw invalid("names a client authentication that is not supported")
        }
        guard method == "none" || secret != nil else { throw invalid("has no client secret") }
        self.clientID = clientID
        clientSecret = method == "none" ? nil : secret
        sendsSecretInBody = method == "client_secret_post"
        // Section 3.2.1: zero for a secret that does not expire.
        let seconds = fields.seconds("client_secret_expires_at").flatMap { $0 > 0 ? $0 : nil }
        secretExpirationDate = seconds.map { Date(timeIntervalSince1970: $0) }
    }
}

extension OAuthServer {
    /// Registers an app with the provider (RFC 7591).
    ///
    /// ```swift
    /// let resource = try await OAuthProtectedResource.discovered(for: baseURL, over: URLSession.shared)
    /// let server = try await resource.authorizationServer(over: URLSession.shared)
    /// let app = OAuthClientMetadata(name: "Shop", redirectURIs: [callback])
    /// let registration = try await server.register(app, over: URLSession.shared)
    /// ```
    ///
    /// It is for providers that the app learns at run time. The request is sent once, without retries.
    ///
    /// - Parameters:
    ///   - app: The description of the app.
    ///   - accessToken: The token that permits the registration; `nil` if the provider registers any app.
    ///   - network: Sends the request, without credentials of the stack and without following redirects.
    /// - Returns: The registration, which the app stores.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/registration`` if the provider refuses the app or its
    ///   response is invalid, and of the kind ``OAuthError/Kind/misconfigured`` if it has no usable endpoint;
    ///   `NetworkingError` if it cannot be reached or is down.
    public func register(
        _ app: OAuthClientMetadata,
        accessToken: String? = nil,
        over network: some NetworkingComponent
    ) async throws -> OAuthRegistration {
        try checkEndpoints()
        guard let registrationEndpoint else {
            throw OAuthError(
                .misconfigured,
                "The provider has no registration endpoint. Register the app on the provider's pages, and use its "
                    + "client ID."
            )
        }
        var request = HTTPRequestData(method: .post, url: registrationEndpoint, body: .json(app))
        request.headerFields[.accept] = "application/json"
        if let accessToken {
            request.setCredential("Bearer \(accessToken)", for: .authorization)
        }
        let response = try await network.plainResponse(to: request)
        let fields = try? JSONDecoder().decode(LenientFields.self, from: response.data)
        guard response.status.kind == .successful, let fields else {
            guard !response.status.isOutage else { throw NetworkingError.refusedStatus(of: response) }
            let refusal = ProviderError(
                code: fields?["error"],
                explanation: fields?["error_description"],
                redacting: [accessToken].compactMap(\.self)
            )
            throw OAuthError(
                .registration,
                code: refusal.code,
                statusCode: response.status.code,
                of: response,
                "The provider did not register the app\(refusal.text), with status \(response.status.code). Check the "
                    + "redirect URIs, or register the app on the provider's pages."
            )
        }
        return try OAuthRegistration(fields, response)
    }
}

extension OAuthSystem {
    /// Creates a system from a provider and a registration that the app has found at run time.
    ///
    /// - Parameters:
    ///   - server: The endpoints of the provider.
    ///   - registration: The registration of the app.
    ///   - redirectURI: One of the redirect URIs of the registration; `nil` for grants without a page.
    ///   - resource: The resource that the tokens are for. It sets the ``resources`` and the ``scopes``, and requires
    ///     ``dpop`` if the resource does.
    public init(
        server: OAuthServer,
        registration: OAuthRegistration,
        redirectURI: URL? = nil,
        for resource: OAuthProtectedResource? = nil
    ) {
        self.init(
            server: server,
            clientID: registration.clientID,
            authentication: registration.authentication,
            redirectURI: redirectURI,
            scopes: resource?.scopes ?? []
        )
        resources = resource.map { [$0.resource] } ?? []
        dpop = resource?.requiresDPoP == true ? .required : .disabled
    }
}
#endif
