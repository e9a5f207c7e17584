/// Reads the elements of DER (X.690) one after the other, without trusting any length.
struct DERReader {
    /// An element: its tag, its contents and its whole encoding.
    struct Element {
        let tag: UInt8
        let contents: ArraySlice<UInt8>
        let encoding: ArraySlice<UInt8>
    }

    /// The tag of a SEQUENCE.
    static let sequence: UInt8 = 0x30
    /// The tag of the version within a certificate.
    static let explicitVersion: UInt8 = 0xa0

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Whether no bytes remain.
    var isAtEnd: Bool {
        rest.isEmpty
    }

    /// The tag of the next element; `nil` at the end.
    var nextTag: UInt8? {
        rest.first
    }

    /// Returns the next element; `nil` if the bytes are not DER or end within the element.
    mutating func next() -> Element? {
        var bytes = rest
        // A tag of several bytes occurs in no certificate.
        guard let tag = bytes.popFirst(), tag & 0x1f != 0x1f, let first = bytes.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7f)
            // Three bytes are enough for the longest certificate, and fit an Int of 32 bits.
            guard 1...3 ~= count, bytes.count >= count else { return nil }
            length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            bytes = bytes.dropFirst(count)
        }
        guard length <= bytes.count else { return nil }
        let contents = bytes.prefix(length)
        let element = Element(tag: tag, contents: contents, encoding: rest[rest.startIndex..<contents.endIndex])
        rest = rest[contents.endIndex...]
        return element
    }

    /// Returns the encoding of the public key of a certificate, its SubjectPublicKeyInfo (RFC 5280 section 4.1).
    ///
    /// - Parameter certificate: The DER of a certificate.
    /// - Returns: The encoding; `nil` if the bytes are not a single certificate.
    static func publicKeyInfo(of certificate: [UInt8]) -> ArraySlice<UInt8>? {
        var outside = DERReader(certificate[...])
        guard let whole = outside.next(), whole.tag == sequence, outside.isAtEnd else { return nil }
        var parts = DERReader(whole.contents)
        // The signed part, the algorithm and the signature.
        guard let signed = parts.next(), signed.tag == sequence, parts.next() != nil, parts.next() != nil,
            parts.isAtEnd
        else { return nil }
        var fields = DERReader(signed.contents)
        if fields.nextTag == explicitVersion, fields.next() == nil { return nil }
        // The serial number, the algorithm, the issuer, the validity and the subject.
        for _ in 1...5 {
            guard fields.next() != nil else { return nil }
        }
        guard let info = fields.next(), info.tag == sequence else { return nil }
        return info.encoding
    }
}
