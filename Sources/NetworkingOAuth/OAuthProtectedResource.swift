#if Crypto
public import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
public import NetworkingCore

/// The metadata of a server whose requests need tokens: the providers that issue them, and the scopes (RFC 9728).
///
/// ```swift
/// let url = URL(string: "https://mcp.example.com/mcp")!
/// let resource = try await OAuthProtectedResource.discovered(for: url, over: URLSession.shared)
/// let server = try await resource.authorizationServer(over: URLSession.shared)
/// ```
///
/// An app that knows its provider does not need it.
public struct OAuthProtectedResource: Sendable, Hashable {
    /// The identifier of the resource, for ``OAuthSystem/resources``.
    public let resource: String
    /// The issuers of the providers that issue tokens for the resource, in the order of the metadata; ten at most.
    public let authorizationServers: [String]
    /// The scopes to request: those that a refusal named, or else all that the metadata lists.
    public let scopes: [String]
    /// The name of the resource for users; `nil` if it has none.
    public let name: String?
    /// Whether the resource accepts only tokens that are bound to a key (RFC 9449).
    public let requiresDPoP: Bool

    /// Loads the metadata of a resource.
    ///
    /// It is at the URL that a refusal of the resource names (`WWW-Authenticate: Bearer resource_metadata="…"`).
    /// Without one, it is at the well-known path in front of the path of the resource, or else at that of the host.
    ///
    /// Metadata is used only if it belongs to the resource (section 3.3): it names the URL of the resource, or a parent
    /// of that URL and is at the well-known place of the parent. If the resource is on another machine, its metadata
    /// and its providers may not be on this machine or in a private network.
    ///
    /// - Parameters:
    ///   - url: The URL of the resource, such as the URL of an MCP server.
    ///   - refusal: The response with which the resource has refused a request to this URL; `nil` if there is none. The
    ///     response of another server, to which a redirect has led, is ignored.
    ///   - network: Sends the requests, without credentials and without following redirects.
    /// - Returns: The metadata.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/discovery`` if there is no metadata, if it belongs to
    ///   another resource, or if it names no usable provider; of the kind ``OAuthError/Kind/misconfigured`` if the URL
    ///   of the resource is neither https nor on this machine; `NetworkingError` if the resource cannot be reached or
    ///   is down.
    public static func discovered(
        for url: URL,
        after refusal: HTTPResponseData? = nil,
        over network: some NetworkingComponent
    ) async throws -> OAuthProtectedResource {
        guard url.isProtected, let identifier = ResourceIdentifier(url) else {
            throw OAuthError(
                .misconfigured,
                "The URL of the resource is neither https nor on this machine. Use its https URL."
            )
        }
        // Another server must not choose the provider to which the user signs in for this one.
        let isOwn = refusal?.sentRequest.origin == HTTPRequestData(method: .get, url: url).origin
        let challenges =
            (isOwn ? refusal?.challenges : nil)?.filter { $0.isOf(scheme: "Bearer") || $0.isOf(scheme: "DPoP") } ?? []
        let challenged = challenges.compactMap { $0["scope"] }.first.map(Self.words)
        var places: [URL] = []
        if let named = challenges.lazy.compactMap({ $0["resource_metadata"] }).first {
            guard let place = URL(string: named), place.isProtected, !place.isOutOfReach(of: url) else {
                throw OAuthError(
                    .discovery,
                    "The resource names a URL of its metadata that is not https, or is on this machine or in a private "
                        + "network, so it was not loaded. Report this to its operator."
                )
            }
            places = [place]
        } else {
            places = [identifier.metadataURL, identifier.host?.metadataURL].compactMap(\.self)
        }
        var failure = OAuthError(.discovery, "The resource has no metadata. Set the issuer of its provider.")
        for place in places {
            var request = HTTPRequestData(method: .get, url: place)
            request.headerFields[.accept] = "application/json"
            let response = try await network.plainResponse(to: request)
            guard !response.status.isOutage else { throw NetworkingError.refusedStatus(of: response) }
            guard response.status == .ok, let metadata = try? JSONDecoder().decode(Metadata.self, from: response.data)
            else {
                failure = OAuthError(
                    .discovery,
                    statusCode: response.status.code,
                    of: response,
                    "The resource has no readable metadata (status \(response.status.code)). Set the issuer of its "
                        + "provider."
                )
                continue
            }
            return try metadata.resource(of: identifier, at: place, asking: challenged)
        }
        throw failure
    }

    /// Loads the metadata of the first provider of the resource that has some.
    ///
    /// - Parameters:
    ///   - requiresProofKeys: Whether the metadata of the provider has to confirm PKCE with SHA-256, as MCP demands;
    ///     `true` by default. Pass `false` for a grant without a page.
    ///   - network: Sends the requests, without credentials and without following redirects.
    /// - Returns: The provider's endpoints.
    /// - Throws: The error of the last provider (``OAuthServer/discovered(from:over:)``), and ``OAuthError`` of the
    ///   kind ``OAuthError/Kind/discovery`` if that provider does not support PKCE.
    public func authorizationServer(
        requiringProofKeys requiresProofKeys: Bool = true,
        over network: some NetworkingComponent
    ) async throws -> OAuthServer {
        var failure = OAuthError(.discovery, "The metadata of the resource names no provider.")
        for issuer in authorizationServers {
            do {
                let server = try await OAuthServer.discovered(from: issuer, over: network)
                guard server.confirmsProofKeys || !requiresProofKeys else {
                    throw OAuthError(
                        .discovery,
                        "The metadata of the provider does not confirm PKCE with \(ProofKey.method), so the code could "
                            + "be stolen. Ask the provider to support it."
                    )
                }
                return server
            } catch let error as OAuthError {
                failure = error
            }
        }
        throw failure
    }

    fileprivate init(
        resource: String,
        authorizationServers: [String],
        scopes: [String],
        name: String?,
        requiresDPoP: Bool
    ) {
        self.resource = resource
        self.authorizationServers = authorizationServers
        self.scopes = scopes
        self.name = name
        self.requiresDPoP = requiresDPoP
    }

    fileprivate static func words(_ scope: String) -> [String] {
        scope.split(separator: " ").prefix(maximumScopes).map(String.init)
    }

    /// The maximum number of providers of one resource, each of which may cost several requests.
    fileprivate static let maximumProviders = 10
    /// The maximum number of scopes of one resource.
    fileprivate static let maximumScopes = 100
}

extension HTTPResponseData {
    /// The scopes that a server requires in addition, if it has refused a token because of its scope (RFC 6750 section
    /// 3.1); otherwise empty.
    ///
    /// ```swift
    /// if !response.requiredScopes.isEmpty {
    ///     try await network.oauth(client).signIn(scopes: client.system.scopes + response.requiredScopes)
    /// }
    /// ```
    public var requiredScopes: [String] {
        let refusal = challenges.first {
            ($0.isOf(scheme: "Bearer") || $0.isOf(scheme: "DPoP")) && $0["error"] == "insufficient_scope"
        }
        return refusal?["scope"].map(OAuthProtectedResource.words) ?? []
    }
}

/// The fields of the metadata that this library uses (RFC 9728 section 2).
private struct Metadata: Decodable {
    let resource: String
    let authorizationServers: [String]?
    let scopes: [String]?
    let name: String?
    let requiresDPoP: Bool?

    enum CodingKeys: String, CodingKey {
        case resource
        case authorizationServers = "authorization_servers"
        case scopes = "scopes_supported"
        case name = "resource_name"
        case requiresDPoP = "dpop_bound_access_tokens_required"
    }

    /// Returns the metadata, after checking that it belongs to the resource.
    ///
    /// - Parameters:
    ///   - asked: The resource that the app named.
    ///   - place: The URL of the metadata.
    ///   - scopes: The scopes that the resource has asked for; `nil` if it has not.
    /// - Returns: The metadata.
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/discovery``.
    func resource(
        of asked: ResourceIdentifier,
        at place: URL,
        asking scopes: [String]?
    ) throws -> OAuthProtectedResource {
        // Section 7.3: a token for the resource that the metadata names would be sent to the one that the app named.
        guard let stated = URL(string: resource).flatMap({ ResourceIdentifier($0) }),
            stated == asked
                || stated.isParent(of: asked) && ResourceIdentifier(place) == stated.metadataURL.flatMap({ .init($0) })
        else {
            throw OAuthError(
                .discovery,
                "The metadata belongs to another resource, so it was not used. Check the URL of the resource."
            )
        }
        let servers = (authorizationServers ?? [])
            .filter { issuer in
                guard let url = URL(string: issuer) else { return false }
                return url.isProtected && !url.isOutOfReach(of: asked.url)
            }
            .prefix(OAuthProtectedResource.maximumProviders)
        guard !servers.isEmpty else {
            throw OAuthError(
                .discovery,
                "The metadata of the resource names no provider with an https URL on a public host. Set the issuer of "
                    + "its provider."
            )
        }
        return OAuthProtectedResource(
            resource: resource,
            authorizationServers: Array(servers),
            scopes: scopes ?? Array((self.scopes ?? []).prefix(OAuthProtectedResource.maximumScopes)),
            name: name.map { PrintableText.cut(PrintableText.singleLine($0), to: 200) },
            requiresDPoP: requiresDPoP ?? false
        )
    }
}

/// The URL of a resource, in one spelling.
private struct ResourceIdentifier: Equatable {
    private let origin: String
    /// The path with percent encoding; empty for the root.
    private let path: String
    private let query: String?

    /// Reads a URL; `nil` if it cannot identify a resource (RFC 9728 section 1.2).
    init?(_ url: URL) {
        guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true), components.fragment == nil,
            components.user == nil, components.password == nil, let origin = components.normalizedOrigin
        else { return nil }
        self.origin = origin
        path = components.percentEncodedPath == "/" ? "" : components.percentEncodedPath
        query = components.percentEncodedQuery
        // A dot segment could make one resource look like a part of another.
        guard !path.split(separator: "/").contains(where: { [".", ".."].contains(PercentEncoding.decode($0)) }) else {
            return nil
        }
        guard URL(string: origin) != nil else { return nil }
    }

    private init(origin: String) {
        self.origin = origin
        path = ""
        query = nil
    }

    var url: URL {
        URL(string: origin + path) ?? URL(filePath: "/")
    }

    /// The identifier of the whole host; `nil` if this is it.
    var host: ResourceIdentifier? {
        path.isEmpty && query == nil ? nil : ResourceIdentifier(origin: origin)
    }

    /// The URL of the metadata (RFC 9728 section 3.1).
    var metadataURL: URL? {
        URL(string: "\(origin)/.well-known/oauth-protected-resource\(path)\(query.map { "?\($0)" } ?? "")")
    }

    /// Whether another resource is below this one on the same host.
    func isParent(of other: ResourceIdentifier) -> Bool {
        let directory = path.hasSuffix("/") ? path : "\(path)/"
        return origin == other.origin && query == nil && other.path.hasPrefix(directory)
    }
}
#endif
