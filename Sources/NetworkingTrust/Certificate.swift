public import FoundationForNetworking

/// An X.509 certificate, as an authority to trust or as the source of a pin.
///
/// ```swift
/// let certificates = try Certificate.contents(of: Bundle.main.url(forResource: "api", withExtension: "pem")!)
/// let pins = certificates.map(\.publicKeyPin)
/// ```
///
/// The initializers check the structure. They check neither the signature nor the validity, which the transport does
/// during the handshake.
public struct Certificate: Sendable, Hashable {
    /// The maximum size of one certificate, in bytes: 64 KiB.
    static let maximumBytes = 1 << 16
    /// The maximum size of a file or a PEM text, in bytes: 4 MiB.
    static let maximumFileBytes = 4 << 20
    /// The maximum number of certificates in a PEM text.
    static let maximumCount = 1_000

    /// The certificate in DER.
    public let der: Data

    /// The pin of the certificate's public key, which stays the same if the server renews the certificate with its key.
    public let publicKeyPin: CertificatePin

    /// Creates a certificate from DER, the format of most `.cer` files.
    ///
    /// - Parameter der: The bytes of one certificate, at most 64 KiB.
    /// - Throws: ``ServerTrustError`` if the bytes are not a certificate.
    public init(der: Data) throws(ServerTrustError) {
        let bytes = [UInt8](der.prefix(Self.maximumBytes + 1))
        guard bytes.count <= Self.maximumBytes, let key = DERReader.publicKeyInfo(of: bytes) else {
            throw ServerTrustError("The data is not an X.509 certificate in DER. Pass PEM to Certificate.pem(_:).")
        }
        self.der = Data(bytes)
        publicKeyPin = CertificatePin(.publicKey, digest: SHA256Digest.of(key))
    }

    /// The pin of this certificate, which matches no renewed certificate.
    public var certificatePin: CertificatePin {
        CertificatePin(.certificate, digest: SHA256Digest.of(der))
    }

    /// Returns the certificates of a PEM text (RFC 7468), in their order.
    ///
    /// Other text and other blocks, such as keys, are ignored.
    ///
    /// - Parameter text: The text, at most 4 MiB with at most 1,000 certificates.
    /// - Returns: The certificates, at least one.
    /// - Throws: ``ServerTrustError`` if the text has no certificate or an invalid one.
    public static func pem(_ text: String) throws(ServerTrustError) -> [Certificate] {
        guard text.utf8.count <= maximumFileBytes else {
            throw ServerTrustError("The PEM text is longer than \(maximumFileBytes) bytes.")
        }
        var certificates: [Certificate] = []
        var block: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingPrefix { $0.isWhitespace }
            if line.hasPrefix("-----BEGIN CERTIFICATE-----") {
                guard block == nil else { throw ServerTrustError("A certificate of the PEM text has no end.") }
                block = ""
            } else if line.hasPrefix("-----END CERTIFICATE-----"), let base64 = block {
                guard certificates.count < maximumCount else {
                    throw ServerTrustError("The PEM text has more than \(maximumCount) certificates.")
                }
                guard let der = Data(base64Encoded: base64) else {
                    throw ServerTrustError("A certificate of the PEM text is not valid base64.")
                }
                certificates.append(try Certificate(der: der))
                block = nil
            } else if block != nil {
                block?.append(contentsOf: line.filter { !$0.isWhitespace })
            }
        }
        guard block == nil else { throw ServerTrustError("A certificate of the PEM text has no end.") }
        guard !certificates.isEmpty else { throw ServerTrustError("The PEM text has no certificate.") }
        return certificates
    }

    /// Returns the certificates of a file, in DER or PEM.
    ///
    /// Reads the file on the calling thread.
    ///
    /// - Parameter url: The URL of a `.cer`, `.der`, `.crt` or `.pem` file, at most 4 MiB.
    /// - Returns: The certificates, at least one.
    /// - Throws: ``ServerTrustError`` if the file cannot be read or has no valid certificate.
    public static func contents(of url: URL) throws(ServerTrustError) -> [Certificate] {
        guard url.isFileURL, let data = try? Data(contentsOf: url), data.count <= maximumFileBytes else {
            throw ServerTrustError("The file \(url.lastPathComponent) cannot be read, or is too large.")
        }
        do throws(ServerTrustError) {
            // The second byte distinguishes DER from PEM: the length of a certificate has several bytes, and the first
            // of them is not ASCII.
            if data.first == DERReader.sequence, data.dropFirst().first ?? 0 >= 0x80 {
                return [try Certificate(der: data)]
            }
            return try pem(String(decoding: data, as: UTF8.self))
        } catch {
            throw ServerTrustError("The file \(url.lastPathComponent) has no usable certificate. \(error.reason)")
        }
    }
}

extension Certificate: CustomStringConvertible, CustomReflectable {
    /// The pin of the public key, without any name from the certificate.
    public var description: String {
        "Certificate(\(publicKeyPin))"
    }

    /// The contents of a dump: the pin.
    public var customMirror: Mirror {
        Mirror(self, children: ["publicKeyPin": publicKeyPin])
    }
}
