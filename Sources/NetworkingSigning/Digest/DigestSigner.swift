#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
public import NetworkingCore

/// Signs requests with `Authorization: Digest` (RFC 7616), which proves knowledge of a password without sending it.
///
/// ```swift
/// let network = URLSession.shared
///     .timeout(.seconds(10))
///     .signed(with: DigestSigner(user: "emily", password: password))
///     .retry()
///     .server(authority: "camera.example.com")
/// ```
///
/// The first request is sent unsigned, and sent again with a signature for the server's challenge. The challenge
/// defines a protection space: the origin, or the URLs in its `domain`. Later requests to that space are signed at
/// once, each with its own count, until the server sends a new challenge. A rejected password is not tried again: the
/// 401 is the response. So is a 401 with an invalid or unsupported challenge.
///
/// The algorithms are MD5, SHA-256 and SHA-512-256, each also as `-sess`, and SHA-512, which is not registered but used
/// by some servers. The strongest algorithm that a server offers is used. The user and the password are always sent in
/// UTF-8, whatever the challenge says, and are not normalised (RFC 7616 section 4 requires NFC). If a server also
/// offers Basic, an `authenticated` with `preemptive: false` sends no password, because Digest is stronger.
///
/// The server's own proof (`rspauth` in Authentication-Info) is verified. A body that can be read only once is consumed
/// by the first, unsigned request. Over plain http, Digest protects only the password against eavesdroppers: such a
/// request requires `HTTPRequestData.allowsPlaintextCredentials`.
///
/// With `coversBody`, every signature covers the body (`auth-int`). Challenges that do not allow this are rejected,
/// because an attacker could have removed `auth-int`. If there is no other challenge, the call fails with
/// `NetworkingError.Kind.unauthorized`. Once the challenge is known, a body that can be read only once fails with
/// `.bodyNotReplayable`.
public struct DigestSigner: RequestSigner {
    private let user: String
    private let password: String
    private let coversBody: Bool
    private let sessions = DigestSessions()

    /// Creates a signer with its own store of challenges.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - password: The password.
    ///   - coversBody: Whether every signature must cover the body (`auth-int`). Bodies are then read twice, and
    ///     responses are not compressed. If `false`, bodies are covered only if the server allows nothing else.
    public init(user: String, password: String, coversBody: Bool = false) {
        self.user = user
        self.password = password
        self.coversBody = coversBody
    }

    /// The name of the user.
    public var keyID: String {
        user
    }

    /// The scheme `Digest`.
    public var scheme: String? {
        "Digest"
    }

    /// `AuthenticationMethod.digest`.
    public var method: AuthenticationMethod {
        .digest
    }

    /// Signs the request for its known challenge; without one, the request is unchanged.
    public func sign(_ request: inout HTTPRequestData) async throws {
        guard let session = sessions.next(for: request) else { return }
        let quality = session.challenge.quality(coversBody: coversBody)
        let authorization = DigestAuthorization(session, for: request, covering: quality)
        var body: String?
        if quality == .bodyToo {
            body = try await authorization.algorithm.hashBody(of: request)
            // The server's proof covers the bytes on the wire, but transports decompress bodies.
            request.headerFields[.acceptEncoding] = "identity"
        }
        let digest = authorization.digest(user: user, password: password, method: request.method.rawValue, body: body)
        request.setCredential(
            authorization.field(digest: digest, user: user, to: session.challenge),
            for: .authorization
        )
    }

    /// Stores the server's challenge, and verifies the server's proof.
    ///
    /// - Throws: `NetworkingError.Kind.invalidResponse` if the server's proof is wrong, and
    ///   `NetworkingError.Kind.unauthorized` if the signature must cover the body and no challenge allows that.
    public func signsAgain(after response: HTTPResponseData) async throws -> Bool {
        let authorization = DigestAuthorization(in: response.sentRequest)
        guard response.status == .unauthorized else {
            if let authorization {
                try await acceptInfo(of: response, to: authorization)
            }
            return false
        }
        let challenges = DigestChallenge.byStrength(response.challenges)
        let challenge = challenges.first { $0.allowsBody || !coversBody }
        let isWorthAnother = challenge.map { deserves($0, afterRefusalOf: authorization) } ?? false
        if let authorization {
            sessions.end(authorization.nonce)
        }
        if challenge == nil, !challenges.isEmpty { throw response.leavesBodyUncovered }
        guard let challenge, isWorthAnother else { return false }
        sessions.begin(challenge, to: response.sentRequest)
        return true
    }

    /// Whether to send the request again for a challenge, because it does not mean that the password is wrong.
    private func deserves(_ challenge: DigestChallenge, afterRefusalOf authorization: DigestAuthorization?) -> Bool {
        guard let authorization else { return true }
        guard challenge.nonce != authorization.nonce else { return false }
        // A nonce that was used by other requests or has been dropped may have expired, even if the server does not say
        // so.
        let count = max(UInt32(authorization.count, radix: 16) ?? 1, sessions.count(of: authorization.nonce) ?? .max)
        return challenge.isStale || challenge.realm != authorization.realm || count > 1
    }

    // MARK: Authentication-Info

    /// Verifies the server's proof, and stores its next nonce (RFC 7616 section 3.5).
    private func acceptInfo(of response: HTTPResponseData, to authorization: DigestAuthorization) async throws {
        guard let field = response.headerFields[.authenticationInfo],
            let info = AuthenticationChallenge.challenges(in: "Digest \(field)").first
        else { return }
        guard try await proves(info, response, authorization) else { throw response.isUnproven }
        // The key of a session depends on its first nonce, and servers disagree about the key after a new nonce.
        if let next = info["nextnonce"], next != authorization.nonce, !authorization.algorithm.isSession,
            DigestChallenge.canBeSentBack(next)
        {
            sessions.replace(authorization.nonce, by: next)
        }
    }

    /// Returns whether the server's proof is correct; `true` if it sends none.
    private func proves(
        _ info: AuthenticationChallenge,
        _ response: HTTPResponseData,
        _ authorization: DigestAuthorization
    ) async throws -> Bool {
        guard let proof = info["rspauth"] else { return true }
        guard info["cnonce"] ?? authorization.clientNonce == authorization.clientNonce,
            info["nc"].map({ UInt32($0, radix: 16) == UInt32(authorization.count, radix: 16) }) ?? true
        else { return false }
        var authorization = authorization
        if authorization.quality != nil, let quality = info["qop"].flatMap({ DigestQuality(rawValue: $0) }) {
            authorization.quality = quality
        }
        var body: String?
        if authorization.quality == .bodyToo {
            // A body that went to a sink is no longer available.
            guard let data = response.body.data ?? (response.body.count == 0 ? Data() : nil) else { return true }
            body = try await authorization.algorithm.hashBody(data)
        }
        let expected = authorization.digest(user: user, password: password, method: "", body: body)
        return SecretComparison.areEqual(proof.lowercased(), expected)
    }
}

extension AuthenticationMethod {
    /// A user and a password, of which only a proof is sent (RFC 7616).
    public static let digest = AuthenticationMethod(rawValue: "digest")
}

extension HTTPField.Name {
    fileprivate static let authenticationInfo = HTTPField.Name("Authentication-Info")!
}

extension HTTPResponseData {
    /// The error contains no response, because an `authenticated` further out would treat the 401 as a challenge for
    /// its own credentials.
    fileprivate var leavesBodyUncovered: NetworkingError {
        NetworkingError(
            .unauthorized,
            request: sentRequest,
            reason:
                "The server's Digest challenge does not allow the body to be covered (qop=auth-int), which coversBody "
                + "requires, so no credentials were sent. Let the server offer auth-int, or create the DigestSigner "
                + "without coversBody."
        )
    }

    fileprivate var isUnproven: NetworkingError {
        NetworkingError(
            .invalidResponse,
            request: sentRequest,
            reason:
                "The response does not prove that the server knows the password (rspauth, RFC 7616 section 3.5), so it "
                + "was discarded. It may come from another server, or was changed in transit; use https."
        )
    }
}
#endif
