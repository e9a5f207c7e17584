#if Crypto
public import Networking
import RawStructuredFieldValues

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signs requests with HTTP Message Signatures (RFC 9421), in the fields Signature-Input and Signature.
///
/// ```swift
/// let network = URLSession.shared
///     .signed(with: MessageSigner(privateKey, keyID: "app-1", lifetime: .seconds(300)))
///     .retry()
///     .server(authority: "api.example.com")
/// ```
///
/// Each attempt and each hop has its own date and nonce. Signatures that the request has are kept, and can be covered;
/// one of the same key and label is replaced, another of the same label makes this one `sig1-2`.
///
/// A component that is not there fails the request with `NetworkingError.Kind.invalidRequest`. Where the digest of the
/// body is covered and the request has no Content-Digest field (RFC 9530), it gets one, and a body that can be sent
/// only once fails with `NetworkingError.Kind.bodyNotReplayable`.
///
/// Signature is a credential: it is hidden in logs and not sent over plain http, unless the request allows that.
public struct MessageSigner: RequestSigner {
    private let key: any MessageSigningKey
    /// The name of the key, which goes along as `keyid`.
    public let keyID: String
    private let components: [MessageComponent]?
    private let lifetime: Duration?
    private let hasNonce: Bool
    private let namesAlgorithm: Bool
    private let tag: String?
    private let label: String
    private let digest: ContentDigestAlgorithm

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: Signs.
    ///   - keyID: The name by which the server knows the key.
    ///   - components: What the signature covers, in order. By default the method, the authority, the path and the
    ///     query, and of a request with a body its digest and its type.
    ///   - lifetime: How long the signature is good, in whole seconds, which goes along as `expires`; nil leaves that
    ///     to the server.
    ///   - hasNonce: Whether it has 128 random bits, by which the server can tell a request that is sent again by
    ///     others.
    ///   - namesAlgorithm: Whether the algorithm goes along as `alg`; the server should know it by the key.
    ///   - tag: What the signature is for, as the protocol of an application names it.
    ///   - label: What tells the signature from others of the message: small letters, digits and `_-.*`.
    ///   - digest: How the digest of the body is computed.
    public init(
        _ key: some MessageSigningKey,
        keyID: String,
        components: [MessageComponent]? = nil,
        lifetime: Duration? = nil,
        hasNonce: Bool = true,
        namesAlgorithm: Bool = false,
        tag: String? = nil,
        label: String = "sig1",
        digest: ContentDigestAlgorithm = .sha256
    ) {
        self.key = key
        self.keyID = keyID
        self.components = components
        self.lifetime = lifetime
        self.hasNonce = hasNonce
        self.namesAlgorithm = namesAlgorithm
        self.tag = tag
        self.label = label
        self.digest = digest
    }

    /// Adds the signature, and the digest of the body where that is covered.
    public func sign(_ request: inout HTTPRequestData) async throws {
        do {
            try await add(to: &request)
        } catch let fault as SignatureFault {
            throw SignableMessage.request(request).error(for: fault)
        }
    }

    private func add(to request: inout HTTPRequestData) async throws {
        let components = components ?? request.standardComponents
        if components.contains(where: { $0.name == "content-digest" }), !request.headerFields.contains(.contentDigest) {
            try await request.setContentDigest(digest)
        }
        let message = SignableMessage.request(request)
        var fields = try SignatureFields(of: message)
        let signature = try MessageSignature(
            label: fields.label(label, for: keyID),
            covering: components,
            parameters: parameters()
        )
        let (input, base) = try (serialized(signature, in: fields), message.base(for: signature))
        fields.add(signature, try await key.messageSignature(of: base))
        request.headerFields[.signatureInput] = input
        request.setCredential(try fields.signatures.serialized, for: .signature)
    }

    private func parameters() throws -> OrderedMap<String, RFC9651BareItem> {
        let environment = NetworkEnvironment.current
        let created = Int64(environment.clock.date.timeIntervalSince1970.rounded(.down))
        var parameters: OrderedMap<String, RFC9651BareItem> = ["created": .integer(created)]
        if let lifetime {
            // Centuries are for ever, and a longer number than this has no place in a field.
            parameters["expires"] = .integer(created + min(max(lifetime.components.seconds, 0), 1 << 40))
        }
        parameters["keyid"] = .string(keyID)
        if namesAlgorithm, let algorithm = key.signatureAlgorithm {
            parameters["alg"] = .string(algorithm)
        }
        if hasNonce {
            parameters["nonce"] = .string(Data(environment.secureRandom.bytes(16)).base64EncodedString())
        }
        if let tag {
            parameters["tag"] = .string(tag)
        }
        return parameters
    }

    /// The Signature-Input field, before anything is signed that could not be sent.
    private func serialized(_ signature: MessageSignature, in fields: SignatureFields) throws -> String {
        var fields = fields
        fields.add(signature, Data())
        guard !label.isEmpty, let input = try? fields.inputs.serialized else {
            throw SignatureFault(
                "Its signature cannot be written. The label consists of small letters, digits and _-.* and does not begin with "
                    + "a digit; key id, tag and the names of components are in ASCII."
            )
        }
        return input
    }
}

extension HTTPRequestData {
    /// What is covered when nobody says otherwise.
    ///
    /// Not @target-uri: a proxy that ends TLS in front of the server changes it.
    fileprivate var standardComponents: [MessageComponent] {
        var components: [MessageComponent] = [.method, .authority, .path, .query]
        if body != nil || headerFields.contains(.contentDigest) {
            components.append(.contentDigest)
        }
        if body?.contentType != nil || headerFields.contains(.contentType) {
            components.append(.contentType)
        }
        return components
    }
}

extension MessageSigner: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name of the key, and nothing of the key.
    public var description: String {
        "MessageSigner(keyID: \(keyID))"
    }

    /// The same as the description.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["keyID": keyID])
    }
}
#endif
