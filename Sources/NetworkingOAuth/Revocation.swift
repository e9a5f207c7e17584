#if Crypto
import HTTPTypes
import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes the tokens of a session void (RFC 7009).
struct Revocation {
    let endpoint: TokenEndpoint

    /// Revokes the refresh token first, since new access tokens come from it, and then the access token, which a provider may
    /// have revoked with it.
    func revoke(_ session: Session) async throws {
        if let token = session.refreshToken {
            try await revoke(token, "refresh_token")
        }
        try await revoke(session.accessToken, "access_token")
    }

    private func revoke(_ token: String, _ type: String) async throws {
        let fields = [URLQueryItem(name: "token", value: token), URLQueryItem(name: "token_type_hint", value: type)]
        let response: HTTPResponseData
        do {
            response = try await endpoint.answer(to: fields)
        } catch let error where !(error is CancellationError) {
            throw Self.failed(
                nil,
                underlying: error,
                (error as? NetworkingError).map { "\($0.kind)" } ?? "\(Swift.type(of: error))"
            )
        }
        guard response.status.kind != .successful else { return }
        let answer = try? JSONDecoder().decode([String: String].self, from: response.data)
        // Section 2.2.1: some revoke refresh tokens alone.
        guard answer?["error"] != "unsupported_token_type" else { return }
        let refusal = ProviderError(code: answer?["error"], explanation: nil, hiding: [token])
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
            "Nobody is signed in here any more, but the provider could not be told to void the tokens (\(why)). "
                + "They are good until they run out."
        )
    }
}
#endif
