#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore

/// Revokes the tokens of a session (RFC 7009).
struct Revocation {
    let endpoint: TokenEndpoint

    /// Revokes the refresh token first, because it yields new access tokens, and then the access token, which a
    /// provider may have revoked with it.
    func revoke(_ session: Session) async throws {
        var failure: OAuthError?
        for (token, type) in [(session.refreshToken, "refresh_token"), (session.accessToken, "access_token")] {
            guard let token else { continue }
            do {
                try await revoke(token, type)
            } catch let error as OAuthError {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private struct Content: Decodable {
        let error: String?
    }

    private func revoke(_ token: String, _ type: String) async throws {
        let fields = [URLQueryItem(name: "token", value: token), URLQueryItem(name: "token_type_hint", value: type)]
        let response: HTTPResponseData
        do {
            response = try await endpoint.response(to: fields)
        } catch let error where !(error is CancellationError) {
            throw Self.failed(
                nil,
                underlying: error,
                (error as? NetworkingError).map { "\($0.kind)" } ?? "\(Swift.type(of: error))"
            )
        }
        guard response.status.kind != .successful else { return }
        let error = (try? JSONDecoder().decode(Content.self, from: response.data))?.error
        // Section 2.2.1: some providers revoke only refresh tokens.
        guard error != "unsupported_token_type" else { return }
        let refusal = ProviderError(code: error, explanation: nil, redacting: [token])
        throw Self.failed(
            refusal.code,
            response.status.code,
            underlying: nil,
            "status \(response.status.code)\(refusal.text)"
        )
    }

    private static func failed(
        _ code: String?,
        _ status: Int? = nil,
        underlying: (any Error)?,
        _ why: String
    ) -> OAuthError {
        OAuthError(
            .revocation,
            code: code,
            statusCode: status,
            underlying: underlying,
            "The user is signed out here, but the provider did not confirm the revocation of the tokens (\(why)). They "
                + "may stay valid until they expire."
        )
    }
}
#endif
