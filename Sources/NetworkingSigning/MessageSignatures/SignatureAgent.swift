#if Crypto
public import Crypto
public import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import RawStructuredFieldValues

/// The place where a server finds the key of an automated client: a member of the field Signature-Agent
/// (draft-ietf-webbotauth-httpsig-protocol).
///
/// ```swift
/// let key = Curve25519.Signing.PrivateKey()
/// let signer = MessageSigner(
///     key,
///     keyID: key.publicKey.thumbprint,
///     components: [.authority],
///     agent: SignatureAgent(URL(string: "https://bot.example.com")!)
/// )
/// ```
///
/// ```http
/// Signature-Agent: sig1="https://bot.example.com"
/// Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=…;expires=…;keyid="…";tag="web-bot-auth"
/// ```
public struct SignatureAgent: Sendable, Hashable {
    /// How the URL leads to the key.
    public enum Discovery: String, Sendable, Hashable {
        /// The URL is an origin with a directory of keys at `/.well-known/http-message-signatures-directory`.
        case directory
        /// The URL is that of a JSON Web Key Set.
        case keySet = "jwks_uri"
        /// The URL is that of an OAuth client ID metadata document, which has the keys or names their URL.
        case clientMetadata = "cimd"
    }

    /// The URL, with the scheme `https`.
    public let url: URL
    /// How the URL leads to the key.
    public let discovery: Discovery

    /// Creates a place.
    ///
    /// A request fails with `NetworkingError.Kind.invalidRequest` if the scheme of the URL is not `https`, if it has
    /// credentials, or if the URL of a directory has more than an origin.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - discovery: How the URL leads to the key.
    public init(_ url: URL, discovery: Discovery = .directory) {
        self.url = url
        self.discovery = discovery
    }

    /// The value of the member.
    fileprivate var item: Item {
        get throws {
            var text = url.absoluteString
            guard url.scheme?.lowercased() == "https", let host = url.host, !host.isEmpty, url.user == nil,
                text.utf8.allSatisfy({ $0 > 32 && $0 < 127 })
            else { throw SignatureFault("The URL of its SignatureAgent must be an https URL in ASCII.") }
            if discovery == .directory {
                guard ["", "/"].contains(url.path), url.query == nil, url.fragment == nil else {
                    throw SignatureFault(
                        "The URL of its SignatureAgent has more than an origin, but discovery .directory uses only the "
                            + "origin. Leave out the path, or use another discovery."
                    )
                }
                if text.hasSuffix("/") {
                    text.removeLast()
                }
                return Item(bareItem: RFC9651BareItem.string(text), parameters: [:])
            }
            return Item(
                bareItem: RFC9651BareItem.string(text),
                parameters: ["type": RFC9651BareItem.token(discovery.rawValue)]
            )
        }
    }
}

extension HTTPRequestData {
    /// Sets the member of a label in the field Signature-Agent, and keeps those of other signatures.
    mutating func setSignatureAgent(_ agent: SignatureAgent, for label: String) throws {
        var members: OrderedMap<String, ItemOrInnerList>
        do {
            members = try OrderedMap(lines: SignableMessage.request(self).lines(of: .signatureAgent))
        } catch {
            throw SignatureFault("Its Signature-Agent field is malformed: it is not a dictionary (RFC 9651).")
        }
        members[label] = .item(try agent.item)
        guard let field = try? members.serialized else {
            throw SignatureFault("The label of its signature cannot be a key of the Signature-Agent field.")
        }
        headerFields[.signatureAgent] = field
    }
}

extension Curve25519.Signing.PublicKey {
    /// The thumbprint of the key as a JSON Web Key, in base64url (RFC 7638, RFC 8037 appendix A.3).
    ///
    /// Servers that find keys by Signature-Agent expect it as the `keyid` of a signature.
    public var thumbprint: String {
        let key = #"{"crv":"Ed25519","kty":"OKP","x":"\#(Base64URL.encode(rawRepresentation))"}"#
        return Base64URL.encode(Data(SHA256.hash(data: Data(key.utf8))))
    }
}
#endif
