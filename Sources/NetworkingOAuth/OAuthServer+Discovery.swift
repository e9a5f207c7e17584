#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
public import NetworkingCore

extension OAuthServer {
    /// Loads the metadata of a provider (RFC 8414), or its OpenID configuration if only that exists.
    ///
    /// ```swift
    /// let server = try await OAuthServer.discovered(from: "https://login.example.com", over: URLSession.shared)
    /// ```
    ///
    /// A system with an issuer does this automatically.
    ///
    /// If the issuer is on another machine, its metadata may not name endpoints on this machine or with a private or
    /// link-local address: any program that listens there would receive the app's codes and tokens. Endpoints that the
    /// app passes to the initializer may be there.
    ///
    /// - Parameters:
    ///   - issuer: The identifier of the provider: an https URL, or a URL on this machine. It must be identical to that
    ///     in the metadata, including a final slash (RFC 8414 section 3.3).
    ///   - network: Sends the requests, without credentials and without following redirects.
    /// - Returns: The provider's endpoints.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/discovery`` if there is no metadata, if it belongs to
    ///   another issuer, or if it names an endpoint that is not https (an issuer on this machine may name endpoints on
    ///   this machine); of the kind ``OAuthError/Kind/misconfigured`` if the issuer is not such a URL;
    ///   `NetworkingError` if the provider cannot be reached or is down.
    public static func discovered(
        from issuer: String,
        over network: some NetworkingComponent
    ) async throws -> OAuthServer {
        guard let url = URL(string: issuer), url.host() != nil, url.query() == nil, url.fragment() == nil else {
            throw OAuthError(
                .misconfigured,
                "The issuer of the system is not the URL of a provider, such as https://login.example.com."
            )
        }
        var failure = OAuthError(.discovery, "The provider has no metadata. Check the issuer, or set the endpoints.")
        for place in wellKnownPlaces(of: url) {
            var request = HTTPRequestData(method: .get, url: place)
            request.headerFields[.accept] = "application/json"
            let response = try await network.plainResponse(to: request)
            // The other location would not provide more information.
            guard !response.status.isOutage else { throw NetworkingError.refusedStatus(of: response) }
            guard response.status == .ok else {
                failure = noMetadata(response, at: place)
                continue
            }
            guard let metadata = try? JSONDecoder().decode(Metadata.self, from: response.data) else {
                failure = noMetadata(response, at: place)
                continue
            }
            return try metadata.server(of: issuer, at: url)
        }
        throw failure
    }

    /// Returns the locations of the metadata, in the order in which they are tried.
    ///
    /// RFC 8414 section 3.1 inserts the well-known path before the issuer's path, and OpenID Connect Discovery 1.0
    /// section 4 appends its own. Some providers insert that one, too (RFC 8414 section 5).
    private static func wellKnownPlaces(of issuer: URL) -> [URL] {
        guard var components = URLComponents(url: issuer, resolvingAgainstBaseURL: true) else { return [] }
        let path =
            components.percentEncodedPath.hasSuffix("/")
            ? String(components.percentEncodedPath.dropLast()) : components.percentEncodedPath
        let inserted = ["oauth-authorization-server", "openid-configuration"].map { "/.well-known/\($0)\(path)" }
        let paths = inserted + (path.isEmpty ? [] : ["\(path)/.well-known/openid-configuration"])
        return paths.compactMap { path in
            components.percentEncodedPath = path
            return components.url
        }
    }

    private static func noMetadata(_ response: HTTPResponseData, at place: URL) -> OAuthError {
        OAuthError(
            .discovery,
            statusCode: response.status.code,
            of: response,
            "The provider has no readable metadata at \(place.path()) (status \(response.status.code)). Check the "
                + "issuer, or set the endpoints."
        )
    }
}

/// The fields of a provider's metadata that this library uses (RFC 8414 section 2).
private struct Metadata: Decodable {
    let issuer: String
    let authorizationEndpoint: String?
    let tokenEndpoint: String?
    let revocationEndpoint: String?
    let deviceAuthorizationEndpoint: String?
    let registrationEndpoint: String?
    let challengeMethods: [String]?
    let dpopAlgorithms: [String]?
    let namesIssuer: Bool?

    enum CodingKeys: String, CodingKey {
        case issuer
        case authorizationEndpoint = "authorization_endpoint"
        case tokenEndpoint = "token_endpoint"
        case revocationEndpoint = "revocation_endpoint"
        case deviceAuthorizationEndpoint = "device_authorization_endpoint"
        case registrationEndpoint = "registration_endpoint"
        case dpopAlgorithms = "dpop_signing_alg_values_supported"
        case challengeMethods = "code_challenge_methods_supported"
        case namesIssuer = "authorization_response_iss_parameter_supported"
    }

    /// Returns the endpoints, after checking that they may belong to the issuer.
    ///
    /// - Parameters:
    ///   - asked: The issuer that the app named.
    ///   - url: The same as a URL.
    /// - Returns: The provider's endpoints.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/discovery``.
    func server(of asked: String, at url: URL) throws -> OAuthServer {
        // Section 3.3: metadata with a different issuer may belong to another provider.
        guard issuer == asked else {
            let differsInSlash = issuer == "\(asked)/" || "\(issuer)/" == asked
            throw OAuthError(
                .discovery,
                "The metadata belongs to another issuer, so it was not used. "
                    + (differsInSlash
                        ? "The two differ in their final slash only; name the issuer as the provider does."
                        : "Check the issuer.")
            )
        }
        guard let tokenEndpoint = tokenEndpoint.flatMap({ URL(string: $0) }) else {
            throw OAuthError(
                .discovery,
                "The metadata names no token endpoint. Set the endpoints instead of the issuer."
            )
        }
        var server = OAuthServer(
            issuer: issuer,
            authorizationEndpoint: authorizationEndpoint.flatMap { URL(string: $0) },
            tokenEndpoint: tokenEndpoint,
            revocationEndpoint: revocationEndpoint.flatMap { URL(string: $0) },
            deviceAuthorizationEndpoint: deviceAuthorizationEndpoint.flatMap { URL(string: $0) },
            namesIssuerInCallbacks: namesIssuer ?? false
        )
        server.registrationEndpoint = registrationEndpoint.flatMap { URL(string: $0) }
        server.dpopAlgorithms = dpopAlgorithms
        server.confirmsProofKeys = challengeMethods?.contains(ProofKey.method) ?? false
        server.lacksProofKeys = challengeMethods != nil && !server.confirmsProofKeys
        for (name, endpoint) in server.endpoints where !endpoint.isProtected || endpoint.isOutOfReach(of: url) {
            let place = endpoint.isOnThisMachine(butNot: url) ? "on this machine" : "in a private network"
            throw OAuthError(
                .discovery,
                "The metadata of the provider names a \(name) endpoint that is "
                    + "\(endpoint.isProtected ? place : "not https"), so none of its endpoints is used. "
                    + "The provider must name an https URL on a public host. If the app needs this endpoint, set the "
                    + "endpoints instead of the issuer."
            )
        }
        return server
    }
}
#endif
