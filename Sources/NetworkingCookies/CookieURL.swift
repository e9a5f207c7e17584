package import FoundationForNetworking
import NetworkingCore

/// The parts of a request's URL that decide which cookies it sends and may set (RFC 6265bis).
package struct CookieURL: Sendable, Hashable {
    /// The host, in lower case and without the brackets of an IPv6 address.
    let host: String
    /// The path, percent-encoded and without the query.
    let path: String
    /// Whether cookies with `Secure` may be sent and set.
    package let isSecure: Bool
    /// Whether the host is an IP address, which has no domains.
    let isAddress: Bool

    /// Creates the value for a URL; `nil` if the URL has no host.
    package init?(_ url: URL) {
        // The host of a request for the URL, because Foundation decodes a name such as `xn--exmple-cua.com`.
        guard let host = HTTPRequestData(url: url).host, !host.isEmpty else { return nil }
        self.init(scheme: url.scheme ?? "", host: host, path: url.path(percentEncoded: true))
    }

    /// Creates the value for the URL of a request; `nil` if the request has no authority yet.
    ///
    /// Plain http to this machine counts as secure, because no other machine can read it.
    init?(_ request: HTTPRequestData) {
        guard let host = request.host, !host.isEmpty else { return nil }
        self.init(
            scheme: request.scheme ?? "https",
            host: host,
            path: request.path ?? "/",
            isLoopback: request.isLoopback
        )
    }

    /// Creates the value from the parts of a URL.
    ///
    /// - Parameters:
    ///   - scheme: The scheme.
    ///   - host: The host, with or without the brackets of an IPv6 address.
    ///   - path: The path without the query.
    ///   - isLoopback: Whether the host counts as secure even over plain http. URLSession on Apple's platforms has no
    ///     such exception.
    init(scheme: String, host: String, path: String, isLoopback: Bool = false) {
        let name = host.lowercased()
        self.host = name.hasPrefix("[") ? String(name.dropFirst().prefix { $0 != "]" }) : name
        self.path = path
        isSecure = isLoopback || scheme.lowercased() == "https"
        isAddress = Self.isAddress(self.host)
    }

    /// The path of a cookie without a path attribute: the directory of the URL (RFC 6265bis section 5.1.4).
    var defaultPath: String {
        let bytes = path.utf8
        guard bytes.first == UInt8(ascii: "/"), let slash = bytes.lastIndex(of: UInt8(ascii: "/")),
            slash != bytes.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    // MARK: Matching

    /// Returns whether the host is the given domain or a subdomain of it (RFC 6265bis section 5.1.3).
    func isWithin(domain: String) -> Bool {
        Self.host(host, isWithin: domain)
    }

    static func host(_ host: String, isWithin domain: String) -> Bool {
        // Compares bytes, because a combining character after the dot would form a different character with it.
        let (bytes, suffix) = (host.utf8, domain.utf8)
        if bytes.elementsEqual(suffix) { return true }
        let labels = bytes.count - suffix.count
        // Other software may decode a percent escape to a character that ends the host.
        guard !suffix.isEmpty, labels > 0, bytes.dropFirst(labels).elementsEqual(suffix), !isAddress(host),
            !bytes.contains(UInt8(ascii: "%"))
        else { return false }
        return bytes.prefix(labels).last == UInt8(ascii: ".")
    }

    /// Returns whether a request for a path sends the cookies of another path (RFC 6265bis section 5.1.4).
    static func path(_ path: String, isWithin other: String) -> Bool {
        let (bytes, prefix) = ((path.isEmpty ? "/" : path).utf8, other.utf8)
        guard bytes.starts(with: prefix) else { return false }
        let slash = UInt8(ascii: "/")
        return bytes.count == prefix.count || prefix.last == slash || bytes.dropFirst(prefix.count).first == slash
    }

    /// Returns whether a host is an IPv6 address, or ends in a number, as IPv4 addresses do in every notation.
    static func isAddress(_ host: String) -> Bool {
        if host.utf8.contains(UInt8(ascii: ":")) { return true }
        let labels = host.utf8.split(separator: UInt8(ascii: "."))
        guard let last = labels.last else { return false }
        let digits = last.starts(with: "0x".utf8) ? last.dropFirst(2) : last
        let isHexadecimal = digits.count < last.count
        return digits.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "a")...UInt8(ascii: "f"): isHexadecimal
            default: false
            }
        }
    }
}
