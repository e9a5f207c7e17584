#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore
import Synchronization

/// Adds proofs to the requests of one client, and keeps the nonces that servers require in them.
final class DPoPProofs: Sendable {
    private let state = Mutex(State())

    private struct State {
        /// The last nonces, the latest one last.
        var nonces: [(place: Place, nonce: String)] = []
        /// The key that was used last.
        var key: DPoPKey?
    }

    /// The origin that has sent a nonce, and the thumbprint of the key in whose proofs it is used.
    ///
    /// A nonce that names a user to a server must not be sent after another user has signed in.
    private struct Place: Equatable {
        let origin: [String]
        let key: String

        init(_ request: HTTPRequestData, _ key: DPoPKey) {
            origin = request.origin
            self.key = key.thumbprint
        }
    }

    /// The maximum number of nonces that are kept.
    static let maximumNonces = 64
    /// The maximum length of a nonce, in bytes.
    static let maximumNonce = 1_024

    // MARK: Proofs

    /// Adds a proof for a request to a token endpoint.
    func prove(_ request: inout HTTPRequestData, with key: DPoPKey) throws {
        request.setCredential(try key.proof(for: request, nonce: nonce(for: request, key)), for: .dpop)
    }

    /// Adds an access token that is bound to a key, and a proof of the key.
    func present(_ session: Session, with key: DPoPKey, on request: inout HTTPRequestData) throws {
        let proof = try key.proof(for: request, accessToken: session.accessToken, nonce: nonce(for: request, key))
        request.setCredential("DPoP \(session.accessToken)", for: .authorization)
        request.setCredential(proof, for: .dpop)
    }

    /// Returns the key of a session; `nil` if its tokens are not bound to one.
    ///
    /// The last key is kept, because creating it from its representation takes as long as a signature.
    ///
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/signInRequired`` if the stored key was damaged.
    func key(of session: Session) throws(OAuthError) -> DPoPKey? {
        guard let bound = session.boundKey else { return nil }
        if let key = state.withLock({ $0.key }), key.rawRepresentation == bound.representation { return key }
        guard let key = session.dpopKey else {
            throw OAuthError(
                .signInRequired,
                "The stored key of the session is damaged, so its tokens cannot be used. Ask the user to sign in again."
            )
        }
        state.withLock { $0.key = key }
        return key
    }

    // MARK: Nonces

    /// Keeps the nonce of a response for the next proofs of a key to the same origin (RFC 9449 section 8.2).
    func learn(from response: HTTPResponseData, with key: DPoPKey) {
        guard let nonce = response.dpopNonce else { return }
        let place = Place(response.sentRequest, key)
        state.withLock { state in
            if let last = state.nonces.last, last.place == place, last.nonce == nonce { return }
            state.nonces.removeAll { $0.place == place }
            if state.nonces.count >= Self.maximumNonces { state.nonces.removeFirst() }
            state.nonces.append((place, nonce))
        }
    }

    private func nonce(for request: HTTPRequestData, _ key: DPoPKey) -> String? {
        let place = Place(request, key)
        return state.withLock { state in state.nonces.last { $0.place == place }?.nonce }
    }
}

/// Sends the sessions of a client, with a proof if their tokens are bound to a key.
struct DPoPPresenter: CredentialPresenter {
    let proofs: DPoPProofs

    func scheme(of session: Session) -> String? {
        session.isBoundToKey ? "DPoP" : Session.scheme
    }

    func apply(_ session: Session, to request: inout HTTPRequestData) throws {
        let key: DPoPKey?
        do {
            key = try proofs.key(of: session)
        } catch {
            throw NetworkingError(.unauthorized, request: request, underlying: error, reason: error.reason)
        }
        if let key {
            try proofs.present(session, with: key, on: &request)
        } else {
            try session.apply(to: &request)
        }
    }

    func learn(from response: HTTPResponseData, with session: Session) {
        guard let key = try? proofs.key(of: session) else { return }
        proofs.learn(from: response, with: key)
    }

    /// Whether a resource requires a nonce that it has sent (RFC 9449 section 9), or has received a proof twice.
    func asksForRepetition(_ refusal: HTTPResponseData, with session: Session) -> Bool {
        guard session.isBoundToKey else { return false }
        let errors = refusal.challenges.filter { $0.isOf(scheme: "DPoP") }.map { $0["error"] }
        if errors.contains("use_dpop_nonce") { return refusal.dpopNonce != nil }
        // A transport sends a request again with the same proof if a kept connection ended before the response.
        return errors.contains("invalid_dpop_proof") && !refusal.repeatedExchanges.isEmpty
    }
}

extension HTTPResponseData {
    /// The nonce for the next proof; `nil` if the response has none, or one with characters or a length that no server
    /// needs (RFC 9449 section 8.1).
    var dpopNonce: String? {
        let isAllowed = { (byte: UInt8) in
            (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }
        guard let nonce = headerFields[singleton: .dpopNonce], !nonce.isEmpty,
            nonce.utf8.count <= DPoPProofs.maximumNonce, nonce.utf8.allSatisfy(isAllowed)
        else { return nil }
        return nonce
    }
}

extension HTTPField.Name {
    static let dpop = HTTPField.Name("DPoP")!
    static let dpopNonce = HTTPField.Name("DPoP-Nonce")!
}
#endif
