/// An authority as authorities are compared: in lower case, and without the port that the scheme implies.
package struct AuthorityKey: Hashable, Sendable {
    package let text: String

    package init(_ authority: String, isPlain: Bool = false) {
        // Most are written so that nothing has to be made of them.
        guard authority.utf8.contains(where: { $0 == UInt8(ascii: ":") || $0 >= 0x80 || 0x41...0x5a ~= $0 }) else {
            text = authority
            return
        }
        let text = authority.lowercased()
        let port = isPlain ? ":80" : ":443"
        self.text = text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }
}
