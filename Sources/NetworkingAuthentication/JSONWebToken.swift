import NetworkingCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What can be read from a JSON Web Token without trusting it (RFC 7519).
///
/// Its signature is the server's to check. A client may look at when it says that it runs out, to renew it in time, and
/// at nothing else.
public enum JSONWebToken {
    /// When a token says that it runs out.
    ///
    /// - Parameter token: The token.
    /// - Returns: The moment of its `exp` claim; nil when it has none, or is no such token.
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
