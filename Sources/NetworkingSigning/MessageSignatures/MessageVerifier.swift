#if Crypto
import FoundationForNetworking
public import NetworkingCore

/// Verifies HTTP Message Signatures (RFC 9421) of responses, and of requests in tests of a signer.
///
/// ```swift
/// let verifier = MessageVerifier(
///     serverKey,
///     keyID: "server-1",
///     requiring: [.status, .contentDigest, .method.ofRequest, .path.ofRequest]
/// )
/// let response = try await network.data(request)
/// let signature = try await verifier.verify(response)
/// ```
///
/// A signature is valid if it covers the required components and was created with the key. By the environment's clock,
/// it must not be too old, expired or dated in the future. If it covers the digest of the body, the digest is compared
/// with the body. Repeated nonces are not detected; the app must check them itself. A message with more than eight
/// signatures is rejected, and so is a signature that covers more than 64 components. Verification runs off the
/// caller's actor, and a cancelled caller gets `CancellationError`.
public struct MessageVerifier: Sendable {
    private let required: [MessageComponent]
    private let maximumAge: Duration?
    private let leeway: Duration
    private let tag: String?
    private let checksBody: Bool
    private let key: @Sendable (MessageSignature) async throws -> (any MessageVerifyingKey)?

    /// Creates a verifier that looks up the key of each signature.
    ///
    /// - Parameters:
    ///   - required: The components that a signature must cover. A signature that covers nothing fits any message. The
    ///     digest of the body is required only if there is a body.
    ///   - maximumAge: The maximum age of a signature, five minutes by default; `nil` accepts any age, and signatures
    ///     without a date.
    ///   - leeway: The maximum difference between the clocks of the two sides; 30 seconds by default.
    ///   - tag: The required tag; `nil` accepts any.
    ///   - checksBody: Whether the digest, if it is covered, is compared with the body.
    ///   - key: Returns the key of a signature, usually by its ``MessageSignature/keyID``; `nil` rejects the signature.
    ///     It must not trust the other metadata of the signature, which is not verified yet. The verification fails
    ///     with an error that it throws.
    public init(
        requiring required: [MessageComponent],
        maximumAge: Duration? = .seconds(300),
        leeway: Duration = .seconds(30),
        tag: String? = nil,
        checksBody: Bool = true,
        key: @escaping @Sendable (MessageSignature) async throws -> (any MessageVerifyingKey)?
    ) {
        self.required = required
        self.maximumAge = maximumAge
        self.leeway = leeway
        self.tag = tag
        self.checksBody = checksBody
        self.key = key
    }

    /// Creates a verifier with one key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - keyID: The key name that a signature must have; `nil` also accepts signatures with another name or none.
    ///   - required: The components that a signature must cover.
    ///   - maximumAge: The maximum age of a signature.
    ///   - leeway: The maximum difference between the clocks of the two sides.
    ///   - tag: The required tag.
    ///   - checksBody: Whether the digest is compared with the body.
    public init(
        _ key: some MessageVerifyingKey,
        keyID: String?,
        requiring required: [MessageComponent],
        maximumAge: Duration? = .seconds(300),
        leeway: Duration = .seconds(30),
        tag: String? = nil,
        checksBody: Bool = true
    ) {
        self.init(
            requiring: required,
            maximumAge: maximumAge,
            leeway: leeway,
            tag: tag,
            checksBody: checksBody
        ) { signature in
            keyID == nil || signature.keyID == keyID ? key : nil
        }
    }

    /// Verifies a signature of a request.
    ///
    /// - Parameters:
    ///   - request: The request, as sent.
    ///   - label: The label of the signature; `nil` accepts the first valid one.
    /// - Returns: The metadata of the signature.
    /// - Throws: `NetworkingError.Kind.invalidRequest` with the reason if no signature is valid, and
    ///   `NetworkingError.Kind.checksumMismatch` if the body is not the signed one.
    @discardableResult
    public func verify(_ request: HTTPRequestData, label: String? = nil) async throws -> MessageSignature {
        try await verify(.request(request), label: label)
    }

    /// Verifies a signature of a response, which may cover parts of its request.
    ///
    /// - Parameters:
    ///   - response: The response; its `sentRequest` is the request.
    ///   - label: The label of the signature; `nil` accepts the first valid one.
    /// - Returns: The metadata of the signature.
    /// - Throws: `NetworkingError.Kind.invalidResponse` with the reason if no signature is valid, and
    ///   `NetworkingError.Kind.checksumMismatch` if the body is not the signed one.
    @discardableResult
    public func verify(_ response: HTTPResponseData, label: String? = nil) async throws -> MessageSignature {
        try await verify(.response(response), label: label)
    }

    private func verify(_ message: SignableMessage, label: String?) async throws -> MessageSignature {
        do {
            return try await firstGood(in: message, label: label)
        } catch let fault as SignatureFault {
            throw message.error(for: fault)
        }
    }

    /// The maximum number of signatures of a message: each takes time to verify, and the sender chooses their number.
    private static let maximumSignatures = 8

    @concurrent
    private func firstGood(in message: SignableMessage, label: String?) async throws -> MessageSignature {
        let message = try await message.measured()
        let fields = try SignatureFields(of: message)
        let candidates = fields.labels.filter { label == nil || $0 == label }
        guard candidates.count <= Self.maximumSignatures else {
            throw SignatureFault(
                "It has more than \(Self.maximumSignatures) signatures, so none is verified. Verify one by its label."
            )
        }
        var faults: [SignatureFault] = []
        for candidate in candidates {
            do {
                let signature = try fields.signature(candidate)
                try await check(signature, try fields.bytes(of: candidate), of: message)
                return signature
            } catch let fault as SignatureFault {
                faults.append(fault)
            }
        }
        // A fault of the expected key's signature is more useful than one about a foreign signature.
        throw faults.first { !$0.isForeign } ?? faults.first
            ?? SignatureFault(
                label.map { _ in "It has no signature with the requested label." }
                    ?? "It has no signature: there is no Signature-Input field."
            )
    }

    private func check(_ signature: MessageSignature, _ bytes: Data, of message: SignableMessage) async throws {
        if let tag, signature.tag != tag {
            throw SignatureFault("Its signature does not have the requested tag.", isForeign: true)
        }
        guard let key = try await key(signature) else {
            throw SignatureFault("The key of its signature is unknown.", isForeign: true)
        }
        if let stated = signature.algorithm, let known = key.signatureAlgorithm, stated != known {
            throw SignatureFault(
                "Its signature names another algorithm than that of its key, \(known)."
            )
        }
        try checkCoverage(of: signature, in: message)
        try checkDates(of: signature)
        guard try await key.isMessageSignature(bytes, of: try message.base(for: signature)) else {
            throw SignatureFault(
                "Its signature is not valid: the signed content was changed in transit, or another key was used."
            )
        }
        if checksBody, signature.coversContentDigest {
            try await message.checkContentDigest()
        }
    }

    private func checkCoverage(of signature: MessageSignature, in message: SignableMessage) throws {
        let missing = required.filter { component in
            !signature.covers(component) && (component != .contentDigest || message.hasBody)
        }
        guard missing.isEmpty else {
            let names = missing.map(\.description).joined(separator: ", ")
            throw SignatureFault("Its signature does not cover all required components: \(names).")
        }
    }

    private func checkDates(of signature: MessageSignature) throws {
        let now = NetworkEnvironment.current.clock.date
        let leeway = leeway / .seconds(1)
        if let expires = signature.expires, expires.timeIntervalSince(now) < -leeway {
            throw SignatureFault("Its signature has expired. Check the clocks of both sides.")
        }
        if let created = signature.created, created.timeIntervalSince(now) > leeway {
            throw SignatureFault("Its signature was created in the future. Check the clocks of both sides.")
        }
        guard let maximumAge else { return }
        guard let created = signature.created else {
            throw SignatureFault("Its signature does not say when it was created, so its age is unknown.")
        }
        if now.timeIntervalSince(created) > maximumAge / .seconds(1) + leeway {
            throw SignatureFault("Its signature is older than allowed. Check the clocks of both sides.")
        }
    }
}
#endif
