/// A normalised authority for comparisons: in lower case, without the default port of the scheme.
///
/// An authority that the app names without a scheme is compared with that of a request under the scheme of the request:
/// `host:80` is `host` over plain http, and another server over https.
package struct AuthorityKey: Hashable, Sendable {
    package let text: String

    package init(_ authority: String, isPlain: Bool = false) {
        // Most authorities are normalised already.
        let isNormalised = authority.utf8.withContiguousStorageIfAvailable {
            Self.isNormalised(UnsafeRawBufferPointer($0))
        }
        guard isNormalised != true else {
            text = authority
            return
        }
        let text = authority.lowercased()
        let port = isPlain ? ":80" : ":443"
        self.text = text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }

    /// Whether no byte is a colon, a capital letter or beyond ASCII.
    ///
    /// Eight bytes at once take a tenth of the instructions, and each request compares authorities several times.
    private static func isNormalised(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits = 0x80 * ones
        var marks: UInt64 = 0
        var start = 0
        while start < bytes.count {
            var word: UInt64 = 0
            if bytes.count >= 8 {
                // The last word overlaps the one before it.
                start = min(start, bytes.count - 8)
                word = bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            } else {
                for byte in bytes { word = word << 8 | UInt64(byte) }
            }
            start += 8
            let lower = word & ~highBits
            // The high bit of a byte: set above "@", and not above "Z".
            let isCapital = (lower + (0x80 - 0x41) * ones) & ~(lower + (0x80 - 0x5B) * ones)
            let colons = lower ^ (0x3A * ones)
            let isColon = ~(colons + 0x7F * ones)
            marks |= (word | isCapital | isColon) & highBits
        }
        return marks == 0
    }
}

extension HTTPRequestData {
    /// The authority for comparisons; `nil` while the request has none.
    package var authorityKey: AuthorityKey? {
        authority.map { AuthorityKey($0, isPlain: scheme == "http") }
    }
}
