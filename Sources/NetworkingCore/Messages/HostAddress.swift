import CLibraryForNetworking

/// An IP address, as the system reads it from a host.
///
/// An IPv4 address is stored as its IPv4-mapped IPv6 address, so that both spellings are equal.
package struct HostAddress: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    private init(version4: UInt32) {
        self.init(high: 0, low: 0xffff_0000_0000 | UInt64(version4))
    }

    /// Reads a host without brackets; `nil` for a name.
    ///
    /// The spellings are those that the resolvers accept: `127.0.0.1`, but also `127.1`, `2130706433`, `0x7f.1` and
    /// `0177.0.0.1` for IPv4. The zone of an IPv6 address is ignored.
    package init?(_ host: some StringProtocol) {
        let host = Substring(host)
        let isVersion6 = host.utf8.contains(UInt8(ascii: ":"))
        let text = isVersion6 ? host.utf8.prefix { $0 != UInt8(ascii: "%") } : host.utf8[...]
        // The parsers of the system accept text after a space, and a NUL would end the text early.
        guard let first = text.first, text.allSatisfy(Self.isPartOfAnAddress) else { return nil }
        if isVersion6 {
            var bytes: (UInt64, UInt64) = (0, 0)
            let isValid = withUnsafeMutableBytes(of: &bytes) { bytes in
                inet_pton(AF_INET6, String(Substring(text)), bytes.baseAddress) == 1
            }
            guard isValid else { return nil }
            self.init(high: UInt64(bigEndian: bytes.0), low: UInt64(bigEndian: bytes.1))
        } else {
            var address = in_addr()
            // Each number of an IPv4 address begins with a digit, also in octal and hexadecimal.
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= first, inet_aton(String(Substring(text)), &address) != 0
            else { return nil }
            self.init(version4: UInt32(bigEndian: address.s_addr))
        }
    }

    private static func isPartOfAnAddress(_ byte: UInt8) -> Bool {
        Hexadecimal.value(of: byte) != nil || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":")
            || byte == UInt8(ascii: "x") || byte == UInt8(ascii: "X")
    }

    /// The IPv4 address; `nil` for an IPv6 address that is not IPv4-mapped.
    private var version4: UInt32? {
        high == 0 && low >> 32 == 0xffff ? UInt32(truncatingIfNeeded: low) : nil
    }

    /// The IPv4 address that a translator or a tunnel reaches through this IPv6 address; `nil` if there is none.
    private var embedded: HostAddress? {
        if high == 0, low >> 32 == 0, low >> 24 != 0 { return HostAddress(version4: UInt32(low)) }
        // NAT64 (RFC 6052) and 6to4 (RFC 3056).
        if high == 0x0064_ff9b_0000_0000, low >> 32 == 0 { return HostAddress(version4: UInt32(low)) }
        if high >> 48 == 0x2002 { return HostAddress(version4: UInt32(truncatingIfNeeded: high >> 16)) }
        return nil
    }

    /// Whether a connection to the address does not leave this machine: 127.0.0.0/8 and `::1`.
    var isLoopback: Bool {
        version4.map { $0 >> 24 == 127 } ?? (high == 0 && low == 1)
    }

    /// Whether a connection to the address reaches this machine on some systems: the loopback addresses, 0.0.0.0/8 and
    /// `::`, also if they are embedded in another address.
    var reachesThisMachine: Bool {
        if let embedded { return embedded.reachesThisMachine }
        return isLoopback || version4.map { $0 >> 24 == 0 } ?? (high == 0 && low == 0)
    }

    /// Whether the address belongs to a private or local network, also if it is embedded in another address.
    ///
    /// These are the private addresses (RFC 1918, RFC 4193 and the former site-local ones), the shared ones (RFC 6598),
    /// and the link-local ones (RFC 3927 and RFC 4291), which include the metadata service of cloud providers.
    var isPrivate: Bool {
        if let embedded { return embedded.isPrivate }
        guard let version4 else {
            return high >> 57 == 0xfc >> 1 || high >> 54 == 0xfe80 >> 6 || high >> 54 == 0xfec0 >> 6
        }
        return version4 >> 24 == 10 || version4 >> 20 == 0xac1 || version4 >> 16 == 0xc0a8 || version4 >> 16 == 0xa9fe
            || version4 >> 22 == 0x6440 >> 6
    }

    /// Whether the first bits of the address are those of another address.
    ///
    /// - Parameters:
    ///   - network: The other address.
    ///   - bits: The number of bits, as written after a slash: `8` of `127.0.0.0/8`.
    /// - Returns: `true` if they are; `false` for addresses of different versions, and for too many bits.
    package func isIn(_ network: HostAddress, bits: Int) -> Bool {
        guard (version4 == nil) == (network.version4 == nil) else { return false }
        let length = version4 == nil ? bits : bits + 96
        guard bits >= 0, length <= 128 else { return false }
        let highMask = length >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(length))
        let lowMask = length <= 64 ? 0 : length == 128 ? UInt64.max : ~(UInt64.max >> UInt64(length - 64))
        return high & highMask == network.high & highMask && low & lowMask == network.low & lowMask
    }

    /// The usual spelling of the address: `127.0.0.1`, or that of RFC 5952.
    ///
    /// - Parameter asVersion6: Whether an IPv4 address is written as its IPv4-mapped IPv6 address.
    /// - Returns: The text, without brackets.
    package func text(asVersion6: Bool) -> String {
        if !asVersion6, let version4 {
            return [24, 16, 8, 0].map { "\(version4 >> $0 & 255)" }.joined(separator: ".")
        }
        let bytes = (high.bigEndian, low.bigEndian)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = withUnsafeBytes(of: bytes) { bytes in
            inet_ntop(AF_INET6, bytes.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
