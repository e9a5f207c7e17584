import CLibraryForNetworking

/// The text of IPv6 addresses, which have many spellings: `::1` is also `0:0:0:0:0:0:0:1`.
enum IPv6Text {
    /// Returns the shortest spelling of an address; `nil` if the text is not an address.
    ///
    /// A zone (`%eth0`) is kept as it is.
    static func canonical(_ text: String) -> String? {
        let zoneStart = text.firstIndex(of: "%") ?? text.endIndex
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(text[..<zoneStart]), &address) == 1 else { return nil }
        let canonical = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count)).map { String(cString: $0) }
        }
        return canonical.map { $0 + text[zoneStart...] }
    }
}
