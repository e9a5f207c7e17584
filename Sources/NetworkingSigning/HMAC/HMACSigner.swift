#if Crypto
public import Crypto
import FoundationForNetworking
public import NetworkingCore

/// Signs requests with a secret shared with the server, by an HMAC (RFC 2104) over configurable parts.
///
/// Many services define their own scheme. Most take a few lines:
///
/// ```swift
/// // X-Timestamp: 1700000000
/// // X-Signature: the HMAC of timestamp, method, path with query and body, in hexadecimal digits
/// let shop = HMACSigner(
///     keyID: "shop-7",
///     key: key,
///     signing: [.timestamp(in: .xTimestamp), .method, .target, .body],
///     into: .field(.xSignature)
/// )
///
/// // X-Hub-Signature-256: sha256=…
/// let hook = HMACSigner(keyID: "hook", key: key, signing: [.body], into: .field(.xHubSignature256) {
///     "sha256=\($0.hexadecimal)"
/// })
///
/// // Authorization: HMAC-SHA512 keyId="app-1", signature="…"
/// let api = HMACSigner(
///     keyID: "app-1",
///     key: key,
///     using: SHA512.self,
///     signing: [.method, .target, .authority, .timestamp(.httpDate, in: .date), .bodyDigest()],
///     separator: "\n",
///     into: .authorization("HMAC-SHA512") { "keyId=\"\($0.keyID)\", signature=\"\($0.base64)\"" }
/// )
/// ```
///
/// The signed text consists of the parts in order, joined by the separator. Fields that the transport sets itself, such
/// as Host and Content-Length, are not available yet. Bodies are read in chunks; a body that can be read only once
/// cannot be signed, and fails with `NetworkingError.Kind.bodyNotReplayable`.
public struct HMACSigner: RequestSigner {
    /// The name of the key.
    public let keyID: String

    private let key: SymmetricKey
    private let hashFunction: any HashFunction.Type
    private let parts: [Part]
    private let separator: String
    private let destination: Destination

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - keyID: The name of the key, which is not secret.
    ///   - key: The key.
    ///   - function: The hash function; SHA-256 by default.
    ///   - parts: The parts to sign, in order.
    ///   - separator: The text between two parts; empty by default.
    ///   - destination: The destination of the signature.
    public init(
        keyID: String,
        key: SymmetricKey,
        using function: any HashFunction.Type = SHA256.self,
        signing parts: [Part],
        separator: String = "",
        into destination: Destination
    ) {
        self.keyID = keyID
        self.key = key
        hashFunction = function
        self.parts = parts
        self.separator = separator
        self.destination = destination
    }

    /// The scheme of the Authorization field, if the signature is placed there.
    public var scheme: String? {
        destination.scheme
    }

    /// Sets the signature, and the fields of the parts that have one.
    public func sign(_ request: inout HTTPRequestData) async throws {
        let values = try await values(for: request, by: hashFunction)
        for part in parts {
            part.setField(of: &request, to: values)
        }
        let code = try await code(over: request, values, by: hashFunction)
        destination.write(Signature(keyID: keyID, code: code, values), to: &request)
    }

    /// Returns the values that change with each request.
    private func values<Hash: HashFunction & SendableMetatype>(
        for request: HTTPRequestData,
        by function: Hash.Type
    ) async throws -> Values {
        var values = Values()
        if parts.contains(where: \.isBodyDigest) {
            values.bodyDigest = Array(try await request.bodyDigest(using: function))
        }
        values.timestamp = parts.lazy.compactMap { $0.timestamp(of: values.date) }.first
        return values
    }

    @concurrent
    private func code<Hash: HashFunction & SendableMetatype>(
        over request: HTTPRequestData,
        _ values: Values,
        by function: Hash.Type
    ) async throws -> [UInt8] {
        var code = HMAC<Hash>(key: key)
        for (index, part) in parts.enumerated() {
            if index > 0 {
                code.update(data: Data(separator.utf8))
            }
            if let text = part.text(of: request, values) {
                code.update(data: Data(text.utf8))
            } else {
                try await request.readBody { code.update(data: $0) }
            }
        }
        return Array(code.finalize())
    }
}
#endif
