import FoundationForNetworking

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
    package let isBracketed: Bool

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
    package static func isPlainNameByte(_ byte: UInt8) -> Bool {
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

    /// The IP address of the host; `nil` if the host is a name.
    package var address: HostAddress? {
        HostAddress(host)
    }

    /// Whether a connection to the host does not leave this machine, so that no third party can read a secret on the
    /// way: `localhost`, 127.0.0.0/8 and `::1`, in any spelling of an address.
    ///
    /// Other names count as another machine. A system asks DNS for `api.localhost` and `localhost.`, although RFC 6761
    /// section 6.3 forbids it. So do `0.0.0.0` and `::`, which are no destinations (RFC 1122 section 3.2.1.3).
    var isLoopback: Bool {
        address?.isLoopback ?? (host.lowercased() == "localhost")
    }

    /// Whether the host may lead to this machine, for checks that refuse such a host.
    ///
    /// It is also `true` for the names and addresses that only some systems connect to this machine: `localhost.`,
    /// `api.localhost`, `0.0.0.0`, `::`, and IPv6 addresses with an embedded IPv4 address of this machine.
    package var mayNameThisMachine: Bool {
        let name = canonicalHost
        return ["localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback"].contains(name)
            || name.hasSuffix(".localhost") || HostAddress(name)?.reachesThisMachine == true
    }

    /// Whether the host is an address of a private or link-local network, for checks that refuse such a host.
    ///
    /// A name is not resolved, so a name that leads to such an address is not recognized.
    package var isInPrivateNetwork: Bool {
        HostAddress(canonicalHost)?.isPrivate == true
    }

    /// The host as lenient clients understand it: decoded, in ASCII, in lower case and without a dot at its end.
    private var canonicalHost: String {
        var name = PercentEncoding.decode(host)
        if !name.utf8.allSatisfy({ $0 < 0x80 }) {
            name = URL(string: "http://\(name)/")?.host ?? name
        }
        name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// Returns whether a URL's host is the host: the same text, or its labels outside ASCII in their coded form.
    ///
    /// The mapping of international names turns some labels into other ASCII labels, such as full-width letters into
    /// letters. Such a host would be another server for the checks than for the connection.
    func isHost(_ other: String) -> Bool {
        // Only the percent sign before a zone is encoded.
        let host = PercentEncoding.decode(host)
        if host == other { return true }
        let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        let others = other.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        return labels.count == others.count
            && zip(labels, others)
                .allSatisfy { label, other in
                    label == other || other.hasPrefix("xn--") && !label.utf8.allSatisfy { $0 < 0x80 }
                }
    }

    /// The reason why a request cannot have this authority and a way to solve it; `nil` if it can.
    ///
    /// Userinfo is deprecated because it appears in logs and can imitate a host (RFC 9110 section 4.2).
    var invalidity: String? {
        if userinfo != nil {
            return "The URL contains credentials. Remove them and set the Authorization field instead."
        }
        guard hasValidHost else {
            return "The authority is malformed. It is a host name or an address, without a scheme or a path."
        }
        guard host.utf8.count <= Self.maximumHostBytes else {
            return
                "The host of the authority is longer than \(Self.maximumHostBytes) bytes, so it is neither a name "
                + "nor an address."
        }
        if portText != nil, port == nil {
            return "The port of the authority is not a number from 0 to 65535. "
                + "An authority is a host, with an optional port after a colon, and without a scheme or a path."
        }
        return nil
    }

    /// Returns an authority without the colon of an empty port (RFC 3986 section 3.2.3).
    static func omittingEmptyPort(_ authority: String) -> String {
        guard authority.utf8.last == UInt8(ascii: ":"), Authority(authority).portText?.isEmpty == true else {
            return authority
        }
        return String(authority.dropLast())
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
