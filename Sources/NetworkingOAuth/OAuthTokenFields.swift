#if Crypto
public import FoundationForNetworking
public import NetworkingCore

/// The fields of a token response, as ``OAuthSystem/readFields`` returns them.
///
/// The client checks them like those of a standard response.
public struct OAuthTokenFields: Sendable, RedactedDescription {
    /// The access token.
    public var accessToken: String?
    /// The refresh token; `nil` if the response has none.
    public var refreshToken: String?
    /// The type of the access token, `Bearer` or `DPoP`; `nil` counts as `Bearer`.
    public var tokenType: String?
    /// The time from the request until the access token expires; `nil` if it is unknown.
    public var lifetime: Duration?
    /// The scope of the access token, separated by spaces; `nil` if it is the requested one.
    public var scope: String?
    /// The claims about the user as a JSON Web Token; `nil` if there are none.
    public var idToken: String?
    /// The code of a refusal, such as `invalid_grant`; `nil` if the response has a token.
    public var error: String?
    /// The explanation of a refusal.
    public var errorDescription: String?

    /// Creates empty fields.
    public init() {}

    /// Reads the fields of a standard response (RFC 6749 section 5); `nil` if the body is not a JSON object.
    ///
    /// - Parameter response: The response of a token endpoint.
    public init?(_ response: HTTPResponseData) {
        guard let fields = try? JSONDecoder().decode(LenientFields.self, from: response.data) else { return nil }
        accessToken = fields["access_token"]
        refreshToken = fields["refresh_token"]
        tokenType = fields["token_type"]
        // Some providers send the number as text. An invalid lifetime is ignored.
        lifetime = fields.seconds("expires_in").map { .seconds($0) }
        scope = fields["scope"] ?? fields.words("scope")
        idToken = fields["id_token"]
        error = fields["error"]
        errorDescription = fields["error_description"]
    }
}

/// A request that a client is about to send to an endpoint of its provider, for ``OAuthSystem/prepareRequest``.
public struct OAuthEndpointRequest: Sendable, RedactedDescription {
    /// The purpose of a request.
    @nonexhaustive
    public enum Purpose: Sendable, Hashable, CaseIterable {
        /// To obtain or renew tokens.
        case token
        /// To obtain a device code.
        case deviceCode
        /// To revoke a token.
        case revocation
    }

    /// The purpose of the request.
    public let purpose: Purpose
    /// The fields of the form, which contain secrets.
    public let fields: [URLQueryItem]
    /// The request as the client would send it: a form, with the client authentication of the app.
    public let request: HTTPRequestData
}
#endif
