/// The parts of an authority (RFC 3986 section 3.2).
///
/// It works on bytes, because a request's authority is parsed each time it is sent, and characters would cost 2 us.
package struct Authority {
    /// The text before the last `@`, if there is one.
    package let userinfo: Substring?
    /// The host, without the brackets of an IPv6 address.
    package let host: Substring
    /// The text after the host, without its colon; it is not always a number.
    let portText: Substring?
    /// Whether the host was in brackets, as IPv6 addresses are.
    private let isBracketed: Bool

    package init(_ authority: String) {
        var rest = authority[...]
        if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) {
            userinfo = rest[..<at]
            rest = rest[rest.utf8.index(after: at)...]
        } else {
            userinfo = nil
        }
        // A port or nothing follows the bracket. Otherwise the bracket belongs to an invalid host.
        if rest.utf8.first == UInt8(ascii: "["), let bracket = rest.utf8.firstIndex(of: UInt8(ascii: "]")),
            [nil, UInt8(ascii: ":")].contains(rest.utf8[bracket...].dropFirst().first)
        {
            isBracketed = true
            host = rest[rest.utf8.index(after: rest.startIndex)..<bracket]
            rest = rest[rest.utf8.index(after: bracket)...]
            portText = rest.isEmpty ? nil : rest[rest.utf8.index(after: rest.startIndex)...]
        } else if let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")) {
            isBracketed = false
            host = rest[..<colon]
            portText = rest[rest.utf8.index(after: colon)...]
        } else {
            isBracketed = false
            host = rest
            portText = nil
        }
    }

    /// Whether a byte is a letter, a digit, a hyphen or a dot, which can only be part of a host.
    static func isPlainNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default:
            false
        }
    }

    package var port: Int? {
        portText.flatMap { DecimalDigits.number($0.utf8) }.flatMap { UInt16(exactly: $0) }.map { Int($0) }
    }

    /// Whether the host is a name or an IPv4 address, or an IPv6 address in brackets.
    ///
    /// A name has no percent-encoded characters, although RFC 3986 allows them. One part of a client would compare them
    /// as they are, and another would decode them into a delimiter or a NUL, which ends the name early.
    var hasValidHost: Bool {
        guard isBracketed else {
            // Names outside ASCII reach the resolver as they are. All other ASCII characters are invalid in a host.
            return !host.isEmpty && host.utf8.allSatisfy { PercentEncoding.hostName.allows($0) || $0 >= 128 }
        }
        let address = host.utf8.prefix { $0 != UInt8(ascii: "%") }
        guard address.contains(UInt8(ascii: ":")), address.allSatisfy(PercentEncoding.address.allows) else {
            return false
        }
        // A zone has a percent sign in front, which is escaped (RFC 6874).
        let zone = host.utf8.dropFirst(address.count)
        return zone.isEmpty
            || zone.starts(with: "%25".utf8) && zone.count > 3
                && zone.dropFirst(3).allSatisfy(PercentEncoding.hostName.allows)
    }

    /// The maximum length of a host, which is that of a DNS name (RFC 3986 section 3.2.2).
    static let maximumHostBytes = 255

    /// Whether it names this machine: `localhost` and its subdomains (RFC 6761), 127.0.0.0/8 and `::1`.
    var isLoopback: Bool {
        let host = host.lowercased()
        if host == "localhost" || host == "::1" { return true }
        if host.hasSuffix(".localhost") { return hasValidHost }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    }
}

extension PercentEncoding {
    /// The ASCII characters of names, IPv4 addresses and zones.
    fileprivate static let hostName = PercentEncoding(
        allowing: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )
    /// The characters of IPv6 addresses.
    fileprivate static let address = PercentEncoding(allowing: "ABCDEFabcdef0123456789.:")
}
