#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore

/// The response of a token endpoint (RFC 6749 sections 5.1 and 5.2).
struct TokenResponse {
    let accessToken: String
    let refreshToken: String?
    let expirationDate: Date?
    let scope: String?
    let idToken: String?
    /// The key that the tokens are bound to; `nil` for bearer tokens.
    private let key: DPoPKey?

    /// Parses the response.
    ///
    /// - Parameters:
    ///   - response: The response of the token endpoint.
    ///   - endpoint: The endpoint.
    ///   - date: The date of the request, from which the lifetime counts.
    ///   - secrets: Values that errors must not quote from the response.
    /// - Throws: ``OAuthError`` if the response is a refusal, or does not follow the protocol;
    ///   the errors of the app's ``OAuthSystem/readFields``.
    init(
        _ response: HTTPResponseData,
        to endpoint: TokenEndpoint,
        at date: Date,
        redacting secrets: [String]
    ) throws {
        let fields = try endpoint.system.readFields?(response) ?? OAuthTokenFields(response)
        // Some providers refuse with a status of 200, and some describe an outage in JSON.
        if let fields, let error = fields.error, fields.accessToken == nil,
            !response.status.isOutage || Self.refusals.contains(error)
        {
            throw Self.refusal(
                ProviderError(code: error, explanation: fields.errorDescription, redacting: secrets),
                response
            )
        }
        // A transient failure does not end a session. It is reported like the failure of any server.
        guard !response.status.isOutage else { throw NetworkingError.refusedStatus(of: response) }
        guard response.status.kind == .successful, let fields else { throw Self.noToken(response) }
        guard let token = fields.accessToken, token.isSendable else {
            throw OAuthError(
                .invalidResponse,
                statusCode: response.status.code,
                of: response,
                "The response of the token endpoint has no usable access token. Report this to the provider."
            )
        }
        key = try Self.key(for: fields.tokenType, response, at: endpoint)
        accessToken = token
        refreshToken = fields.refreshToken.flatMap { $0.isEmpty ? nil : $0 }
        let lifetime = fields.lifetime.flatMap { (.zero ..< .seconds(1e10)).contains($0) ? $0 : nil }
        expirationDate = lifetime.map { date.addingTimeInterval($0 / .seconds(1)) }
        scope = fields.scope
        idToken = fields.idToken
    }

    /// Returns the key that a token of a type is bound to; `nil` for a bearer token.
    private static func key(
        for type: String?,
        _ response: HTTPResponseData,
        at endpoint: TokenEndpoint
    ) throws -> DPoPKey? {
        func invalid(_ reason: String) -> OAuthError {
            OAuthError(.invalidResponse, statusCode: response.status.code, of: response, reason)
        }
        switch type?.lowercased() ?? "bearer" {
        case "bearer":
            // RFC 9449 section 5: whoever has a bearer token can use it.
            guard endpoint.key == nil || !endpoint.requiresKey else {
                throw invalid(
                    "The token endpoint issued a bearer token instead of one that is bound to the key of the session. "
                        + "Check that DPoP is enabled for the app, or use dpop = .preferred and sign in again."
                )
            }
            return nil
        case "dpop":
            guard let key = endpoint.key else {
                throw invalid(
                    "The token endpoint issued a token that is bound to a key, although none was sent. Set dpop of the "
                        + "system."
                )
            }
            return key
        default:
            throw invalid(
                "The token endpoint issued a token that is not a bearer token and not bound to a key with DPoP. Use a "
                    + "provider that issues one of the two."
            )
        }
    }

    /// The codes of refusals (RFC 6749 section 5.2, RFC 8628 section 3.5).
    ///
    /// Any other code with a status of 429 or 5xx describes an outage.
    private static let refusals: Set = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
        "authorization_pending", "slow_down", "access_denied", "expired_token",
    ]

    private static func refusal(_ error: ProviderError, _ response: HTTPResponseData) -> OAuthError {
        let wayOut =
            switch error.code {
            case "invalid_client", "unauthorized_client": "Check the client ID and the authentication of the app."
            case "invalid_grant": "The code or token has expired or was already used; sign in again."
            case "invalid_scope": "Check the scopes."
            case "unsupported_grant_type": "Check the grants that the app is registered for."
            default: "See the provider's documentation for this code."
            }
        return OAuthError(
            .tokenRefused,
            code: error.code,
            statusCode: response.status.code,
            of: response,
            "The token endpoint refused the request\(error.text). \(wayOut)"
        )
    }

    /// Returns the error for a response that does not follow the protocol.
    private static func noToken(_ response: HTTPResponseData) -> OAuthError {
        let status = response.status.code
        let type =
            response.headerFields[singleton: .contentType].map { $0.prefix { $0 != ";" }.lowercased() } ?? "no type"
        let isJSON = type.contains("json")
        let content =
            response.data.isEmpty
            ? "nothing" : isJSON ? "no token" : PrintableText.cut(PrintableText.singleLine(type), to: 64)
        let wayOut =
            switch status {
            case 300..<400: "It redirects, and redirects with tokens are not followed; use the final URL."
            default: "Check its URL."
            }
        return OAuthError(
            .invalidResponse,
            statusCode: status,
            of: response,
            "The token endpoint responded with status \(status) and \(content) instead of a token in JSON. \(wayOut)"
        )
    }

    /// Returns a new session with these tokens.
    ///
    /// - Parameter scopes: The requested scopes, which apply if the response names none (RFC 6749 section 5.1).
    /// - Returns: The session.
    func session(asking scopes: [String]) -> Session {
        var session = Session(
            accessToken: accessToken,
            refreshToken: refreshToken,
            expirationDate: expirationDate,
            scope: scope ?? (scopes.isEmpty ? nil : scopes.joined(separator: " ")),
            idToken: idToken
        )
        session.boundKey = key.map { Session.BoundKey(representation: $0.rawRepresentation) }
        return session
    }

    /// Returns a session renewed with these tokens; missing fields keep their previous value (RFC 6749 section 6).
    func renewing(_ session: Session) -> Session {
        var renewed = session.renewed(
            accessToken: accessToken,
            refreshToken: refreshToken,
            expirationDate: expirationDate
        )
        renewed.scope = scope ?? session.scope
        renewed.idToken = idToken ?? session.idToken
        return renewed
    }
}

extension String {
    /// Whether the text is valid in a header field (RFC 6749 appendix A.12).
    fileprivate var isSendable: Bool {
        !isEmpty && utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
#endif
