#if Crypto
import Crypto
public import FoundationForNetworking
import HTTPTypes
public import NetworkingAuthentication
public import NetworkingCore

/// A private key to which a provider binds the tokens of a session: DPoP with ES256 (RFC 9449).
///
/// A client creates and uses the keys of its sessions itself (``OAuthSystem/dpop``). Use this type for code outside the
/// stack, such as the handshake of a socket:
///
/// ```swift
/// let session = try await network.oauth(client).validSession()
/// if let key = session.dpopKey {
///     request.headerFields[.authorization] = "DPoP \(session.accessToken)"
///     request.headerFields[HTTPField.Name("DPoP")!] = try key.proof(for: request, accessToken: session.accessToken)
/// }
/// ```
public struct DPoPKey: Sendable {
    /// The SHA-256 thumbprint of the public key in base64url (RFC 7638), which the provider binds tokens to.
    public let thumbprint: String
    private let key: P256.Signing.PrivateKey
    /// The encoded header of each proof.
    private let header: String

    /// Creates a key from the environment's source of secrets.
    public init() {
        let source = NetworkEnvironment.current.secureRandom
        // Nearly all numbers of 32 bytes are valid keys. A source for tests may return only invalid ones.
        for _ in 0..<4 {
            if let key = DPoPKey(rawRepresentation: Data(source.bytes(32))) {
                self = key
                return
            }
        }
        self.init(P256.Signing.PrivateKey())
    }

    /// Creates a key from its representation; `nil` if that is not a key.
    ///
    /// - Parameter rawRepresentation: The 32 bytes of a ``rawRepresentation``.
    public init?(rawRepresentation: Data) {
        // Zero is no key, whatever the cryptographic library says.
        guard rawRepresentation.count == 32, rawRepresentation.contains(where: { $0 != 0 }),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: rawRepresentation)
        else { return nil }
        self.init(key)
    }

    private init(_ key: P256.Signing.PrivateKey) {
        self.key = key
        let point = key.publicKey.rawRepresentation
        let members = [
            "crv": "P-256", "kty": "EC",
            "x": Base64URL.encode(point.prefix(32)), "y": Base64URL.encode(point.suffix(32)),
        ]
        thumbprint = JSONWebKey.thumbprint(of: members)
        let json = JSONWebKey.json(of: members)
        header = Base64URL.encode(#"{"alg":"ES256","jwk":\#(json),"typ":"dpop+jwt"}"#.utf8)
    }

    /// The secret bytes of the key.
    public var rawRepresentation: Data {
        key.rawRepresentation
    }

    /// Returns a proof for one request (RFC 9449 section 4.2).
    ///
    /// A server accepts each proof once. The time is that of the environment's clock.
    ///
    /// - Parameters:
    ///   - request: The request, with its final method and URL. Its query is not part of the proof.
    ///   - accessToken: The access token that the request is sent with; `nil` for a request to a token endpoint.
    ///   - nonce: The last nonce that the server has sent in a DPoP-Nonce field; `nil` if it has sent none.
    /// - Returns: The value of the DPoP field.
    /// - Throws: `NetworkingError` of the kind `invalidRequest` if the request has no absolute URL.
    public func proof(
        for request: HTTPRequestData,
        accessToken: String? = nil,
        nonce: String? = nil
    ) throws -> String {
        guard let target = request.proofTarget else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "The request has no absolute URL, so there is no proof for it. Name the server with "
                    + "server(authority:)."
            )
        }
        let claims = Claims(
            ath: accessToken.map { Base64URL.encode(SHA256.hash(data: Data($0.utf8))) },
            htm: request.method.rawValue,
            htu: target,
            iat: Int64(NetworkEnvironment.current.clock.date.timeIntervalSince1970),
            jti: Base64URL.encode(NetworkEnvironment.current.secureRandom.bytes(16)),
            nonce: nonce
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = "\(header).\(Base64URL.encode(try encoder.encode(claims)))"
        let signature = try key.signature(for: Data(text.utf8))
        return "\(text).\(Base64URL.encode(signature.rawRepresentation))"
    }

    /// The claims of a proof, with the names of the RFC.
    private struct Claims: Encodable {
        let ath: String?
        let htm: String
        let htu: String
        let iat: Int64
        let jti: String
        let nonce: String?
    }
}

extension DPoPKey: Hashable {
    /// Whether both are the same key.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.thumbprint == rhs.thumbprint
    }

    /// Hashes the public key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(thumbprint)
    }
}

extension DPoPKey: RedactedDescription {}

extension Session {
    /// The private key that the tokens are bound to; `nil` for bearer tokens, and if the stored key was damaged.
    public var dpopKey: DPoPKey? {
        boundKey.flatMap { DPoPKey(rawRepresentation: $0.representation) }
    }

    /// Returns the session with its tokens bound to a key.
    ///
    /// It is for tokens that another part of the app has obtained with proofs of this key.
    ///
    /// - Parameter key: The key.
    /// - Returns: The session.
    public func bound(to key: DPoPKey) -> Session {
        var session = self
        session.boundKey = BoundKey(representation: key.rawRepresentation)
        return session
    }
}

/// Public keys in JSON (RFC 7517).
enum JSONWebKey {
    /// Returns the thumbprint of a key: the SHA-256 of its required members, in base64url (RFC 7638).
    ///
    /// - Parameter members: The required members of its type. Neither names nor values need escapes in JSON.
    /// - Returns: The thumbprint.
    static func thumbprint(of members: [String: String]) -> String {
        Base64URL.encode(SHA256.hash(data: Data(json(of: members).utf8)))
    }

    /// Returns the members in the order of their names, without spaces (RFC 7638 section 3.3).
    static func json(of members: [String: String]) -> String {
        let pairs = members.sorted { $0.key < $1.key }.map { "\"\($0)\":\"\($1)\"" }
        return "{\(pairs.joined(separator: ","))}"
    }
}

extension HTTPRequestData {
    /// The URL of the request without query and fragment (RFC 9449 section 4.2), in the spelling to which servers
    /// normalize it (RFC 3986 section 6.2.2); `nil` if the URL is not absolute.
    fileprivate var proofTarget: String? {
        guard let url, let components = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let origin = components.normalizedOrigin
        else { return nil }
        let path = components.percentEncodedPath
        return origin + (path.isEmpty ? "/" : path)
    }
}

extension URLComponents {
    /// Scheme, host and port in one spelling, without the standard port of the scheme; `nil` if there is no host.
    var normalizedOrigin: String? {
        guard let scheme = scheme?.lowercased(), let host = percentEncodedHost?.lowercased(), !host.isEmpty else {
            return nil
        }
        // Not every Foundation returns the brackets of an IPv6 address.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = port.flatMap { $0 == (scheme == "http" ? 80 : 443) ? nil : ":\($0)" }
        return "\(scheme)://\(name)\(port ?? "")"
    }
}
#endif
