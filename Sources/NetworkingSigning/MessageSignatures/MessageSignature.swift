#if Crypto
public import FoundationForNetworking
import NetworkingCore
import RawStructuredFieldValues

/// The metadata of a signature: the components it covers, its date and its key (RFC 9421 section 2.3).
///
/// ```swift
/// let signature = try await verifier.verify(response)
/// guard signature.covers(.contentDigest), let nonce = signature.nonce, nonces.insert(nonce).inserted else {
///     throw Replayed()
/// }
/// ```
public struct MessageSignature: Sendable, Hashable {
    /// The label, which the signature does not cover.
    public let label: String
    /// The covered components, in order.
    public let components: [MessageComponent]
    /// The components with the parameters, as signed.
    let input: InnerList

    /// The maximum number of components in a received signature, because each takes time to verify.
    static let maximumComponents = 64

    /// Parses a received signature, and throws if it violates RFC 9421.
    init(label: String, input: InnerList) throws {
        guard input.bareInnerList.count <= Self.maximumComponents else {
            throw SignatureFault(
                "The signature \"\(label)\" covers more than \(Self.maximumComponents) components, so it is not "
                    + "verified."
            )
        }
        self.label = label
        self.input = input
        components = try input.bareInnerList.map { try MessageComponent($0) }
        try checkComponents()
        try checkParameters()
    }

    /// Creates the metadata of a new signature.
    init(label: String, covering components: [MessageComponent], parameters: OrderedMap<String, RFC9651BareItem>) throws
    {
        self.label = label
        self.components = components
        var items = BareInnerList()
        for component in components { items.append(component.item) }
        input = InnerList(bareInnerList: items, parameters: parameters)
        try checkComponents()
    }

    private func checkComponents() throws {
        var seen: Set<MessageComponent> = []
        for component in components {
            guard component.name != "@signature-params" else {
                throw SignatureFault(
                    "The signature covers \"@signature-params\", which every signature covers implicitly."
                )
            }
            guard seen.insert(component).inserted else {
                throw SignatureFault("The signature covers \(component) twice.")
            }
        }
    }

    private func checkParameters() throws {
        for (name, value) in input.rfc9651Parameters {
            switch (name, value) {
            case ("created", .integer), ("expires", .integer): continue
            case ("nonce", .string), ("alg", .string), ("keyid", .string), ("tag", .string): continue
            case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _):
                throw SignatureFault("The parameter \(name) of the signature \"\(label)\" is malformed.")
            default: continue
            }
        }
    }
}

extension MessageSignature {
    /// The creation date, in whole seconds, if it is stated.
    public var created: Date? {
        date("created")
    }

    /// The expiration date, in whole seconds, if it is stated.
    public var expires: Date? {
        date("expires")
    }

    /// A value that makes the signature unique; the app must reject a nonce that it has already seen.
    public var nonce: String? {
        string("nonce")
    }

    /// The algorithm, if it is stated.
    public var algorithm: String? {
        string("alg")
    }

    /// The name of the key, if it is stated.
    public var keyID: String? {
        string("keyid")
    }

    /// The purpose of the signature, if it is stated.
    public var tag: String? {
        string("tag")
    }

    /// Returns whether the signature covers a component.
    ///
    /// - Parameter component: The component.
    /// - Returns: `true` if it is among ``components``.
    public func covers(_ component: MessageComponent) -> Bool {
        components.contains(component)
    }

    /// Whether the signature covers the digest of the message's own body, in any form.
    var coversContentDigest: Bool {
        components.contains { $0.name == "content-digest" && !$0.isOfRequest }
    }

    private func date(_ name: String) -> Date? {
        guard case .integer(let seconds) = input.rfc9651Parameters[name] else { return nil }
        return Date(timeIntervalSince1970: Double(seconds))
    }

    private func string(_ name: String) -> String? {
        guard case .string(let text) = input.rfc9651Parameters[name] else { return nil }
        return text
    }
}

extension MessageComponent {
    fileprivate init(_ item: Item) throws {
        guard case .string(let name) = item.rfc9651BareItem else {
            throw SignatureFault("The signature covers a component whose name is not a string.")
        }
        self.init(name, item.rfc9651Parameters)
    }
}

/// The two fields that hold the signatures of a message (RFC 9421 section 4).
struct SignatureFields {
    private(set) var inputs: OrderedMap<String, ItemOrInnerList>
    private(set) var signatures: OrderedMap<String, ItemOrInnerList>

    init(of message: SignableMessage) throws {
        do {
            inputs = try OrderedMap(lines: message.lines(of: .signatureInput))
            signatures = try OrderedMap(lines: message.lines(of: .signature))
        } catch {
            throw SignatureFault(
                "Its Signature-Input or Signature field is malformed: it is not a dictionary (RFC 9651)."
            )
        }
    }

    var labels: [String] {
        inputs.map { $0.0 }
    }

    /// Returns the metadata of a signature.
    func signature(_ label: String) throws -> MessageSignature {
        guard case .innerList(let input) = inputs[label] else {
            throw SignatureFault("The member \"\(label)\" of its Signature-Input field is not a list of components.")
        }
        return try MessageSignature(label: label, input: input)
    }

    /// Returns the bytes of a signature.
    func bytes(of label: String) throws -> Data {
        guard case .item(let item) = signatures[label], case .undecodedByteSequence(let text) = item.rfc9651BareItem,
            let bytes = Data(base64Encoded: text)
        else {
            throw SignatureFault(
                "Its Signature field has no signature \"\(label)\", or one that is not a byte sequence."
            )
        }
        return bytes
    }

    /// Returns a label that no signature of another key uses.
    func label(_ wish: String, for keyID: String) -> String {
        let candidates = sequence(state: 1) { number -> String? in
            defer { number += 1 }
            return number == 1 ? wish : "\(wish)-\(number)"
        }
        return candidates.first { candidate in
            inputs[candidate] == nil && signatures[candidate] == nil
                || (try? signature(candidate).keyID) == keyID
        } ?? wish
    }

    /// Adds a signature, replacing the one with the same label.
    mutating func add(_ signature: MessageSignature, _ bytes: Data) {
        inputs[signature.label] = .innerList(signature.input)
        let item = Item(bareItem: RFC9651BareItem.undecodedByteSequence(bytes.base64EncodedString()), parameters: [:])
        signatures[signature.label] = .item(item)
    }
}

extension MessageSignature: CustomStringConvertible {
    /// The label, the covered components and the name of the key.
    public var description: String {
        let covered = components.map { "\($0)" }.joined(separator: " ")
        return "\(label): \(covered)\(keyID.map { ", by \($0)" } ?? "")"
    }
}
#endif
