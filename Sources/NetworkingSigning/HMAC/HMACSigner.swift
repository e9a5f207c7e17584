#if Crypto
public import Crypto
public import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signs with a key that the server has too, by an HMAC (RFC 2104) over the parts that its scheme names.
///
/// Many services have a scheme of their own. Most take a few lines:
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
/// let hook = HMACSigner(keyID: "hook", key: key, signing: [.body], into: .field(.xHubSignature256) { "sha256=\($0.hexadecimal)" })
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
/// The text that is signed has the parts in order, with the separator between each two. Fields that the transport sets
/// itself, such as Host and Content-Length, are not there yet. Bodies are read in chunks; one that can be read only
/// once cannot be signed, and fails with `NetworkingError.Kind.bodyNotReplayable`.
public struct HMACSigner: RequestSigner {
    /// Names the key.
    public let keyID: String

    private let key: SymmetricKey
    private let hashFunction: any HashFunction.Type
    private let parts: [Part]
    private let separator: String
    private let destination: Destination

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - keyID: Names the key, and is no secret.
    ///   - key: The key.
    ///   - function: The hash function; SHA-256 by default.
    ///   - parts: What is signed, in order.
    ///   - separator: What stands between two parts; nothing by default.
    ///   - destination: Where the signature goes.
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

    /// That of the Authorization field, where the signature goes there.
    public var scheme: String? {
        destination.scheme
    }

    /// Sets the fields of the parts that have one, and the signature.
    public func sign(_ request: inout HTTPRequestData) async throws {
        let values = try await values(for: request, by: hashFunction)
        for part in parts {
            part.setField(of: &request, to: values)
        }
        let code = try await code(over: request, values, by: hashFunction)
        destination.write(Signature(keyID: keyID, code: code, values), to: &request)
    }

    /// What is new for each request.
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
