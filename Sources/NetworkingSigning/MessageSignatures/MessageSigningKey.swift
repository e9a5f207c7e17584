#if Crypto
public import Crypto
public import FoundationForNetworking

/// A key that signs messages, for ``MessageSigner``.
///
/// `SymmetricKey` (hmac-sha256), `Curve25519.Signing.PrivateKey` (ed25519), `P256.Signing.PrivateKey`
/// (ecdsa-p256-sha256) and `P384.Signing.PrivateKey` (ecdsa-p384-sha384) conform to it. This key never leaves the
/// Secure Enclave:
///
/// <!-- snippet: fragment Apple's platforms -->
/// ```swift
/// struct EnclaveKey: MessageSigningKey {
///     let key: SecureEnclave.P256.Signing.PrivateKey
///
///     var signatureAlgorithm: String? { "ecdsa-p256-sha256" }
///
///     func messageSignature(of base: Data) async throws -> Data {
///         try key.signature(for: base).rawRepresentation
///     }
/// }
/// ```
public protocol MessageSigningKey: Sendable {
    /// The name of its algorithm in the registry of RFC 9421 section 6.2; `nil` if it has none.
    var signatureAlgorithm: String? { get }

    /// Signs the base of a signature.
    ///
    /// It may call a service. It must return promptly when it is cancelled.
    ///
    /// - Parameter base: The signature base (RFC 9421 section 2.5), the input of the algorithm before hashing.
    /// - Returns: The signature; for ECDSA the two numbers concatenated, not in DER.
    /// - Throws: The reason why the base cannot be signed; the request fails with it.
    func messageSignature(of base: Data) async throws -> Data
}

/// A key that verifies signatures, for ``MessageVerifier``.
///
/// `SymmetricKey` and the public keys of `Curve25519.Signing`, `P256.Signing` and `P384.Signing` conform to it.
public protocol MessageVerifyingKey: Sendable {
    /// The name of its algorithm in the registry of RFC 9421 section 6.2; `nil` if it has none.
    ///
    /// A signature that names another algorithm is rejected.
    var signatureAlgorithm: String? { get }

    /// Returns whether a signature is valid.
    ///
    /// - Parameters:
    ///   - signature: The signature, of any length.
    ///   - base: The signature base.
    /// - Returns: `true` if the matching key has created the signature from this base.
    /// - Throws: The reason why the signature cannot be checked; the verification fails with it.
    func isMessageSignature(_ signature: Data, of base: Data) async throws -> Bool
}

extension SymmetricKey: MessageSigningKey, MessageVerifyingKey {
    /// hmac-sha256 (RFC 9421 section 3.3.3).
    public var signatureAlgorithm: String? {
        "hmac-sha256"
    }

    /// Signs the base of a signature.
    public func messageSignature(of base: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: base, using: self))
    }

    /// Returns whether a signature is valid, in constant time.
    public func isMessageSignature(_ signature: Data, of base: Data) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: base, using: self)
    }
}

extension Curve25519.Signing.PrivateKey: MessageSigningKey {
    /// ed25519 (RFC 9421 section 3.3.6).
    public var signatureAlgorithm: String? {
        "ed25519"
    }

    /// Signs the base of a signature.
    public func messageSignature(of base: Data) throws -> Data {
        try signature(for: base)
    }
}

extension Curve25519.Signing.PublicKey: MessageVerifyingKey {
    /// ed25519 (RFC 9421 section 3.3.6).
    public var signatureAlgorithm: String? {
        "ed25519"
    }

    /// Returns whether a signature is valid.
    public func isMessageSignature(_ signature: Data, of base: Data) -> Bool {
        isValidSignature(signature, for: base)
    }
}

extension P256.Signing.PrivateKey: MessageSigningKey {
    /// ecdsa-p256-sha256 (RFC 9421 section 3.3.4).
    public var signatureAlgorithm: String? {
        "ecdsa-p256-sha256"
    }

    /// Signs the base of a signature, with a different result each time.
    public func messageSignature(of base: Data) throws -> Data {
        try signature(for: base).rawRepresentation
    }
}

extension P256.Signing.PublicKey: MessageVerifyingKey {
    /// ecdsa-p256-sha256 (RFC 9421 section 3.3.4).
    public var signatureAlgorithm: String? {
        "ecdsa-p256-sha256"
    }

    /// Returns whether a signature is valid.
    public func isMessageSignature(_ signature: Data, of base: Data) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return isValidSignature(signature, for: base)
    }
}

extension P384.Signing.PrivateKey: MessageSigningKey {
    /// ecdsa-p384-sha384 (RFC 9421 section 3.3.5).
    public var signatureAlgorithm: String? {
        "ecdsa-p384-sha384"
    }

    /// Signs the base of a signature, with a different result each time.
    public func messageSignature(of base: Data) throws -> Data {
        try signature(for: base).rawRepresentation
    }
}

extension P384.Signing.PublicKey: MessageVerifyingKey {
    /// ecdsa-p384-sha384 (RFC 9421 section 3.3.5).
    public var signatureAlgorithm: String? {
        "ecdsa-p384-sha384"
    }

    /// Returns whether a signature is valid.
    public func isMessageSignature(_ signature: Data, of base: Data) -> Bool {
        guard let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return isValidSignature(signature, for: base)
    }
}
#endif
