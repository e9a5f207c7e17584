import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The parts of a request's URL that decide which cookies it sends and may set (RFC 6265bis).
struct CookieURL: Sendable, Hashable {
    /// The host, in lower case and without the brackets of an IPv6 address.
    let host: String
    /// The path, percent-encoded and without the query.
    let path: String
    /// Whether the scheme is https.
    ///
    /// Plain http to this machine does not count, as with URLSession on Apple's platforms.
    let isSecure: Bool
    /// Whether the host is an IP address, which has no domains.
    let isAddress: Bool

    /// Creates the value for a URL; `nil` if the URL has no host.
    init?(_ url: URL) {
        guard let host = url.host(percentEncoded: true), !host.isEmpty else { return nil }
        self.init(scheme: url.scheme ?? "", host: host, path: url.path(percentEncoded: true))
    }

    init(scheme: String, host: String, path: String) {
        let name = host.lowercased()
        self.host = name.hasPrefix("[") ? String(name.dropFirst().prefix { $0 != "]" }) : name
        self.path = path
        isSecure = scheme.lowercased() == "https"
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
        host.utf8.elementsEqual(domain.utf8)
            || !domain.isEmpty && !isAddress(host) && Array(host.utf8).ends(with: Array(".\(domain)".utf8))
    }

    /// Returns whether a request for a path sends the cookies of another path (RFC 6265bis section 5.1.4).
    static func path(_ path: String, isWithin other: String) -> Bool {
        let (bytes, prefix) = (Array((path.isEmpty ? "/" : path).utf8), Array(other.utf8))
        guard bytes.starts(with: prefix) else { return false }
        let slash = UInt8(ascii: "/")
        return bytes.count == prefix.count || prefix.last == slash || bytes[prefix.count] == slash
    }

    /// Returns whether the domains below a name belong to different owners, so that a cookie must not reach all of
    /// them.
    ///
    /// The method recognizes names of one label (`com`, `localhost`) and the common second labels of countries
    /// (`co.uk`, `com.au`). The public suffix list, which has 9,000 more, is not part of the library.
    static func isSharedSuffix(_ domain: String) -> Bool {
        let labels = domain.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count > 1, !labels.contains(where: \.isEmpty) else { return true }
        return labels.count == 2 && labels[1].count == 2
            && ["ac", "co", "com", "edu", "gov", "mil", "net", "org"].contains(Substring(labels[0]))
    }

    /// Returns whether a host is an IPv6 address, or ends in a number, as IPv4 addresses do in every notation.
    private static func isAddress(_ host: String) -> Bool {
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

extension [UInt8] {
    fileprivate func ends(with suffix: [UInt8]) -> Bool {
        count >= suffix.count && self[(count - suffix.count)...].elementsEqual(suffix)
    }
}
