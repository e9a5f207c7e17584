#if Crypto
import HTTPTypes
public import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A user and a password for `Authorization: Digest` (RFC 7616), which proves the password and does not send it.
///
/// ```swift
/// let network = URLSession.shared
///     .timeout(.seconds(10))
///     .signed(with: DigestSigner(user: "emily", password: password))
///     .retry()
///     .server(authority: "camera.example.com")
/// ```
///
/// The first request goes without, and is sent again with the answer to the server's challenge. From then on requests
/// to that protection space, which is the origin or what the challenge's `domain` names, are sent with it at once, each
/// with a count of its own, until the server wants a new answer. A password that is refused is not tried again: the 401
/// is the response. So is one whose challenge cannot be answered.
///
/// The algorithms are MD5, SHA-256 and SHA-512-256, each also as `-sess`, and SHA-512, which is not registered and some
/// servers have; of those that a server offers, the strongest is used. User and password are sent in UTF-8, whether the
/// challenge says so or not, in the form in which they are given (RFC 7616 section 4 wants NFC). A server that names
/// Basic too gets no password from an `authenticated` with `preemptive: false`: Digest is the stronger.
///
/// What a server proves of itself in turn (`rspauth` in Authentication-Info) is checked. A body that can be read only
/// once is used up by the request that goes without. In plain http, Digest keeps the password from those who listen,
/// and nothing else: such a request needs `HTTPRequestData.allowsPlaintextCredentials`.
///
/// With `coversBody`, every answer covers the body (`auth-int`). Challenges that do not allow that are not answered,
/// since anybody on the way could have taken `auth-int` out of them: the call fails with
/// `NetworkingError.Kind.unauthorized` if there is no other challenge, and with `.bodyNotReplayable` if the body can be
/// read only once.
public struct DigestSigner: RequestSigner {
    private let user: String
    private let password: String
    private let coversBody: Bool
    private let sessions = DigestSessions()

    /// Creates a signer, which remembers challenges on its own.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - password: The password.
    ///   - coversBody: Whether every answer must cover the body (`auth-int`). Bodies are then read twice, and responses
    ///     are not compressed. Without it, bodies are covered only where the server allows nothing else.
    public init(user: String, password: String, coversBody: Bool = false) {
        self.user = user
        self.password = password
        self.coversBody = coversBody
    }

    /// The user.
    public var keyID: String {
        user
    }

    /// Digest.
    public var scheme: String? {
        "Digest"
    }

    /// `AuthenticationMethod.digest`.
    public var method: AuthenticationMethod {
        .digest
    }

    /// Answers the challenge that is known for the request's place; without one it leaves the request as it is.
    public func sign(_ request: inout HTTPRequestData) async throws {
        guard let session = sessions.next(for: request) else { return }
        let quality = session.challenge.quality(coversBody: coversBody)
        let answer = DigestAnswer(session, for: request, covering: quality)
        var body: String?
        if quality == .bodyToo {
            body = try await answer.algorithm.hashBody(of: request)
            // The server's proof is of the body as it is sent, and transports undo compression, whoever asked for that.
            request.headerFields[.acceptEncoding] = "identity"
        }
        let digest = answer.digest(user: user, password: password, method: request.method.rawValue, body: body)
        request.setCredential(answer.field(digest: digest, user: user, to: session.challenge), for: .authorization)
    }

    /// Remembers what the server asks for, and checks what it proves.
    ///
    /// - Throws: `NetworkingError.Kind.invalidResponse` if the server does not know the password, and
    ///   `NetworkingError.Kind.unauthorized` if no answer to its challenge would cover the body although it must.
    public func signsAgain(after response: HTTPResponseData) async throws -> Bool {
        let answer = DigestAnswer(in: response.sentRequest)
        guard response.status == .unauthorized else {
            if let answer {
                try await acceptInfo(of: response, to: answer)
            }
            return false
        }
        let challenges = DigestChallenge.byStrength(response.challenges)
        let challenge = challenges.first { $0.allowsBody || !coversBody }
        let isWorthAnother = challenge.map { deserves($0, afterRefusalOf: answer) } ?? false
        if let answer {
            sessions.end(answer.nonce)
        }
        if challenge == nil, !challenges.isEmpty { throw response.leavesBodyUncovered }
        guard let challenge, isWorthAnother else { return false }
        sessions.begin(challenge, to: response.sentRequest)
        return true
    }

    /// Whether a challenge is to be answered, and does not say that the password is wrong.
    private func deserves(_ challenge: DigestChallenge, afterRefusalOf answer: DigestAnswer?) -> Bool {
        guard let answer else { return true }
        guard challenge.nonce != answer.nonce else { return false }
        // A nonce that others have used, or have given up since, may have run out, also where the server does not say
        // so.
        let count = max(UInt32(answer.count, radix: 16) ?? 1, sessions.count(of: answer.nonce) ?? .max)
        return challenge.isStale || challenge.realm != answer.realm || count > 1
    }

    // MARK: What the server says when it lets a request in

    /// Checks the server's proof, and goes on with the nonce that it wants next (RFC 7616 section 3.5).
    private func acceptInfo(of response: HTTPResponseData, to answer: DigestAnswer) async throws {
        guard let field = response.headerFields[.authenticationInfo],
            let info = AuthenticationChallenge.challenges(in: "Digest \(field)").first
        else { return }
        guard try await proves(info, response, answer) else { throw response.isUnproven }
        // The key of a session is made of its first nonce, and servers do not agree on what becomes of it with another.
        if let next = info["nextnonce"], next != answer.nonce, !answer.algorithm.isSession,
            DigestChallenge.canBeSentBack(next)
        {
            sessions.replace(answer.nonce, by: next)
        }
    }

    /// Whether the server knows the password, as far as it says anything of that.
    private func proves(
        _ info: AuthenticationChallenge,
        _ response: HTTPResponseData,
        _ answer: DigestAnswer
    ) async throws -> Bool {
        guard let proof = info["rspauth"] else { return true }
        guard info["cnonce"] ?? answer.clientNonce == answer.clientNonce,
            info["nc"].map({ UInt32($0, radix: 16) == UInt32(answer.count, radix: 16) }) ?? true
        else { return false }
        var answer = answer
        if answer.quality != nil, let quality = info["qop"].flatMap({ DigestQuality(rawValue: $0) }) {
            answer.quality = quality
        }
        var body: String?
        if answer.quality == .bodyToo {
            // One that went to a sink is gone.
            guard let data = response.body.data ?? (response.body.count == 0 ? Data() : nil) else { return true }
            body = try await answer.algorithm.hashBody(data)
        }
        let expected = answer.digest(user: user, password: password, method: "", body: body)
        return SecretComparison.areEqual(proof.lowercased(), expected)
    }
}

extension AuthenticationMethod {
    /// A user and a password that is proved and not sent (RFC 7616).
    public static let digest = AuthenticationMethod(rawValue: "digest")
}

extension HTTPField.Name {
    fileprivate static let authenticationInfo = HTTPField.Name("Authentication-Info")!
}

extension HTTPResponseData {
    /// Holds no response: an `authenticated` further out would take the 401 as a demand for its own credentials.
    fileprivate var leavesBodyUncovered: NetworkingError {
        NetworkingError(
            .unauthorized,
            request: sentRequest,
            reason:
                "The server's Digest challenge does not let an answer cover the body (qop=auth-int), which coversBody requires, "
                + "so it was not answered. Have the server offer auth-int, or create the DigestSigner without coversBody."
        )
    }

    fileprivate var isUnproven: NetworkingError {
        NetworkingError(
            .invalidResponse,
            request: sentRequest,
            reason:
                "The answer does not prove that the server knows the password (rspauth, RFC 7616 section 3.5), so it is not "
                + "handed on. It may come from somebody else, or was changed on its way; use https."
        )
    }
}
#endif
