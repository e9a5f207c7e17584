#if Crypto
import Crypto
import FoundationForNetworking
public import NetworkingCore

/// A proof that the same app requests and redeems an authorization code: PKCE with SHA-256 (RFC 7636).
///
/// Signing in creates a proof key automatically. Use this type for a custom exchange with a provider.
///
/// ```swift
/// let key = ProofKey()
/// var url = URL(string: "https://login.example.com/authorize")!
/// url.append(queryItems: [URLQueryItem(name: "code_challenge", value: key.challenge)])
/// ```
public struct ProofKey: Sendable, Hashable {
    /// The secret sent to the token endpoint: 43 to 128 unreserved characters.
    public let verifier: String

    /// Creates a proof key from the environment's source of secrets.
    ///
    /// - Parameter length: The number of characters of the verifier, with 6 random bits each; 43 by default.
    /// - Precondition: The length is from 43 to 128 (RFC 7636 section 4.1).
    public init(length: Int = 43) {
        precondition((43...128).contains(length), "a verifier has 43 to 128 characters (is \(length))")
        let bytes = NetworkEnvironment.current.secureRandom.bytes((length * 3 + 3) / 4)
        verifier = String(Base64URL.encode(bytes).prefix(length))
    }

    /// Creates a proof key from an existing verifier; `nil` if the verifier is invalid.
    ///
    /// - Parameter verifier: The verifier, which must be valid by RFC 7636 section 4.1.
    public init?(verifier: String) {
        let isUnreserved = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~".utf8.contains(byte)
            }
        }
        guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(isUnreserved) else { return nil }
        self.verifier = verifier
    }

    /// The value sent to the authorization endpoint: the SHA-256 of the verifier, in base64url.
    public var challenge: String {
        Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)))
    }

    /// The name of the method that derives the challenge from the verifier.
    public static let method = "S256"
}

extension ProofKey: RedactedDescription {}
#endif
