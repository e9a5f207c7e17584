public import FoundationForNetworking
import NetworkingCore

/// Reads claims of a JSON Web Token without trusting it (RFC 7519).
///
/// The signature is not verified, so the claims are not trustworthy. Only the expiration date is read, so that a token
/// can be renewed in time.
public enum JSONWebToken {
    /// Returns the expiration date in a token.
    ///
    /// - Parameter token: The token.
    /// - Returns: The date in its `exp` claim; `nil` if there is none, or if the string is not a JSON Web Token.
    public static func expirationDate(of token: String) -> Date? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            let claims = try? JSONDecoder().decode(Claims.self, from: payload), let seconds = claims.exp,
            seconds.isFinite, abs(seconds) < 1e11
        else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }

    private struct Claims: Decodable {
        let exp: Double?
    }
}
