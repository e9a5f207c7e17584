import FoundationForNetworking

/// A SHA-256 digest that identifies the key, or the certificate, of a server.
///
/// A pin of a public key is the base64 of the SHA-256 of the SubjectPublicKeyInfo, as in RFC 7469 and in OkHttp:
///
/// ```swift
/// let pin: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
/// ```
///
/// A pin of a whole certificate has the prefix `certificate-sha256/`. Prefer the public key: a server that renews its
/// certificate with the same key keeps the pin.
public struct CertificatePin: Sendable, Hashable {
    /// The part of a certificate that a pin is the hash of.
    public enum Subject: String, Sendable, Hashable, CaseIterable {
        /// The public key of a certificate, with its algorithm.
        case publicKey = "sha256"
        /// The whole certificate.
        case certificate = "certificate-sha256"
    }

    /// The part of a certificate that the pin is the hash of.
    public let subject: Subject

    private let digest: [UInt8]

    init(_ subject: Subject, digest: [UInt8]) {
        self.subject = subject
        self.digest = digest
    }

    /// Creates a pin from text, such as one from a configuration.
    ///
    /// - Parameter text: `sha256/` or `certificate-sha256/`, and the base64 of 32 bytes. `nil` is returned for any
    ///   other text.
    public init?(_ text: String) {
        guard text.utf8.count <= 128, let slash = text.firstIndex(of: "/"),
            let subject = Subject(rawValue: String(text[..<slash])),
            let digest = Data(base64Encoded: String(text[text.index(after: slash)...])),
            digest.count == SHA256Digest.byteCount
        else { return nil }
        self.init(subject, digest: [UInt8](digest))
    }
}

extension CertificatePin: ExpressibleByStringLiteral {
    /// Creates a pin from a literal, which must be valid.
    public init(stringLiteral text: String) {
        guard let pin = CertificatePin(text) else {
            preconditionFailure("\(text) is not a pin; write sha256/ and the base64 of 32 bytes.")
        }
        self = pin
    }
}

extension CertificatePin: CustomStringConvertible {
    /// The text of the pin: `sha256/…`.
    public var description: String {
        "\(subject.rawValue)/\(Data(digest).base64EncodedString())"
    }
}
