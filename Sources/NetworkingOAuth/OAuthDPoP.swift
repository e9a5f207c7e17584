#if Crypto
/// Whether the tokens of a client are bound to a private key (DPoP, RFC 9449).
///
/// A stolen token that is bound to a key is of no use without the key. Each sign-in creates a key, which is stored
/// together with the tokens of the session and kept when the session is renewed.
public enum OAuthDPoP: Sendable, Hashable {
    /// Tokens are bearer tokens.
    case disabled
    /// Tokens are bound to a key if the provider supports it. Otherwise they are bearer tokens.
    case preferred
    /// Tokens are bound to a key, and a provider that issues bearer tokens is refused.
    ///
    /// A session without a key, such as one from before, is used until it expires, and is not renewed.
    case required
}

extension OAuthSystem {
    /// Returns a new key for the tokens of a session; `nil` if they are not to be bound to one.
    ///
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/discovery`` if the provider does not support the key.
    func newKey(at server: OAuthServer) throws -> DPoPKey? {
        let isSupported = server.dpopAlgorithms?.contains("ES256") ?? true
        switch dpop {
        case .disabled: return nil
        case .preferred: return isSupported ? DPoPKey() : nil
        case .required:
            guard isSupported else {
                throw OAuthError(
                    .discovery,
                    "The provider does not support DPoP with ES256, which the system requires. Use dpop = .preferred "
                        + "to accept bearer tokens."
                )
            }
            return DPoPKey()
        }
    }
}
#endif
