#if Crypto
import FoundationForNetworking
public import NetworkingCore
import RawStructuredFieldValues

/// Signs requests with HTTP Message Signatures (RFC 9421), in the fields Signature-Input and Signature.
///
/// ```swift
/// let network = URLSession.shared
///     .signed(with: MessageSigner(privateKey, keyID: "app-1", lifetime: .seconds(300)))
///     .retry()
///     .server(authority: "api.example.com")
/// ```
///
/// Each attempt and each hop gets a new date and nonce. Existing signatures of the request are kept, and can be
/// covered. A signature with the same key and label is replaced; if another key uses the label, this signature becomes
/// `sig1-2`.
///
/// A missing component fails the request with `NetworkingError.Kind.invalidRequest`. If the digest of the body is
/// covered and the request has no Content-Digest field (RFC 9530), the signer adds the field. A body that can be sent
/// only once then fails with `NetworkingError.Kind.bodyNotReplayable`.
///
/// With a ``SignatureAgent``, the signer follows the profile for automated clients (Web Bot Auth,
/// draft-ietf-webbotauth-httpsig-protocol): the request names in Signature-Agent where the server finds the key.
///
/// The Signature field is a credential: it is redacted in logs, and not sent over plain http unless the request allows
/// it.
public struct MessageSigner: RequestSigner {
    private let key: any MessageSigningKey
    /// The name of the key, sent as `keyid`.
    public let keyID: String
    private let components: [MessageComponent]?
    private let lifetime: Duration?
    private let hasNonce: Bool
    private let namesAlgorithm: Bool
    private let tag: String?
    private let label: String
    private let digest: ContentDigestAlgorithm
    private let agent: SignatureAgent?

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: The signing key.
    ///   - keyID: The name by which the server knows the key.
    ///   - components: The components to cover, in order. By default the method, the authority, the path and the query,
    ///     and for a request with a body also its digest and its type.
    ///   - lifetime: The lifetime of the signature in whole seconds, sent as `expires`; `nil` leaves it to the server,
    ///     and is five minutes with an agent, whose signatures must expire.
    ///   - hasNonce: Whether the signature has a nonce of 128 random bits, so that the server can detect replays.
    ///   - namesAlgorithm: Whether the algorithm is sent as `alg`; the server should know it from the key.
    ///   - tag: The purpose of the signature, as defined by an application's protocol; `web-bot-auth` by default with
    ///     an agent.
    ///   - label: The label that distinguishes the signature from others of the message: lower-case letters, digits and
    ///     `_-.*`, starting with a letter; `sig1` by default.
    ///   - digest: The algorithm for the digest of the body.
    ///   - agent: Where the server finds the key. The signer sets this member of Signature-Agent and covers it, in
    ///     addition to `components`. `keyID` must then be the thumbprint of the key, and the components must include
    ///     the authority or the target URI.
    public init(
        _ key: some MessageSigningKey,
        keyID: String,
        components: [MessageComponent]? = nil,
        lifetime: Duration? = nil,
        hasNonce: Bool = true,
        namesAlgorithm: Bool = false,
        tag: String? = nil,
        label: String = "sig1",
        digest: ContentDigestAlgorithm = .sha256,
        agent: SignatureAgent? = nil
    ) {
        self.key = key
        self.keyID = keyID
        self.components = components
        self.lifetime = lifetime ?? (agent == nil ? nil : .seconds(300))
        self.hasNonce = hasNonce
        self.namesAlgorithm = namesAlgorithm
        self.tag = tag ?? (agent == nil ? nil : "web-bot-auth")
        self.label = label
        self.digest = digest
        self.agent = agent
    }

    /// Adds the signature, and a missing digest of the body if the signature covers it.
    public func sign(_ request: inout HTTPRequestData) async throws {
        do {
            try await add(to: &request)
        } catch let fault as SignatureFault {
            throw SignableMessage.request(request).error(for: fault)
        }
    }

    private func add(to request: inout HTTPRequestData) async throws {
        var components = components ?? request.standardComponents
        if components.contains(where: { $0.name == "content-digest" }), !request.headerFields.contains(.contentDigest) {
            try await request.setContentDigest(digest)
        }
        var fields = try SignatureFields(of: .request(request))
        let label = fields.label(label, for: keyID)
        if let agent {
            try request.setSignatureAgent(agent, for: label)
            let member = MessageComponent.field(.signatureAgent).member(label)
            if !components.contains(member) {
                components.append(member)
            }
        }
        let message = try await SignableMessage.request(request).measured()
        let signature = try MessageSignature(
            label: label,
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
        let created = Int64(environment.clock.date.bounded.timeIntervalSince1970.rounded(.down))
        var parameters: OrderedMap<String, RFC9651BareItem> = ["created": .integer(created)]
        if let lifetime {
            // A lifetime of centuries is practically unlimited, and larger numbers are not valid in a field.
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

    /// Serialises the Signature-Input field before signing, so that nothing is signed that cannot be sent.
    private func serialized(_ signature: MessageSignature, in fields: SignatureFields) throws -> String {
        var fields = fields
        fields.add(signature, Data())
        guard !label.isEmpty, let input = try? fields.inputs.serialized else {
            throw SignatureFault(
                "Its signature cannot be serialized. The label must consist of lower-case letters, digits and _-.* and "
                    + "must not start with a digit; the key ID, the tag and the names of components must be in ASCII."
            )
        }
        return input
    }
}

extension HTTPRequestData {
    /// The components that are covered by default.
    ///
    /// They exclude @target-uri, because a proxy that terminates TLS in front of the server changes it.
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
    /// The name of the key, without the key.
    public var description: String {
        "MessageSigner(keyID: \(keyID))"
    }

    /// The same as the description.
    public var debugDescription: String {
        description
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["keyID": keyID])
    }
}
#endif
