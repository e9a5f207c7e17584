/// A normalised authority for comparisons: in lower case, without the default port of the scheme.
///
/// An authority that the app names without a scheme is compared with that of a request under the scheme of the request:
/// `host:80` is `host` over plain http, and another server over https.
package struct AuthorityKey: Hashable, Sendable {
    package let text: String

    package init(_ authority: String, isPlain: Bool = false) {
        // Most authorities are normalised already. Reading the bytes in place takes a third of the instructions.
        let isUnusual = authority.utf8.withContiguousStorageIfAvailable { bytes in
            // Without a branch for each byte.
            var marks: UInt8 = 0
            for byte in bytes {
                marks |= byte & 0x80 | (byte == UInt8(ascii: ":") ? 1 : 0) | (byte &- 0x41 < 26 ? 1 : 0)
            }
            return marks != 0
        }
        guard isUnusual != false else {
            text = authority
            return
        }
        let text = authority.lowercased()
        let port = isPlain ? ":80" : ":443"
        self.text = text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }
}

extension HTTPRequestData {
    /// The authority for comparisons; `nil` while the request has none.
    package var authorityKey: AuthorityKey? {
        authority.map { AuthorityKey($0, isPlain: scheme == "http") }
    }
}
