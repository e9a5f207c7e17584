/// An authority as authorities are compared: in lower case, and without the port that the scheme implies.
struct AuthorityKey: Hashable, Sendable {
    let text: String

    init(_ authority: String, isPlain: Bool = false) {
        let text = authority.lowercased()
        let port = isPlain ? ":80" : ":443"
        self.text = text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }
}
